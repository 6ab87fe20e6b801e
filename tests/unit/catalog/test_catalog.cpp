#include <filesystem>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catalog/catalog.h"
#include "error_of.h"
#include "temporary_folder.h"

namespace assay::catalog {
namespace {

namespace fs = std::filesystem;
using assay::testing::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ConfDir : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* folder : {"conf/vendors", "conf/workloads", "conf/rules"})
      fs::create_directories(dir_ / folder);
    write("vendors/cpu.yaml", "name: cpu\n");
  }
  void write(const std::string& name, const std::string& text) {
    folder_.write("conf/" + name, text);
  }
  Catalog load() {
    Catalog catalog = load_catalog({dir_ / "conf"});
    for (const Vendor& vendor : catalog.vendors) check_vendor(vendor);
    return catalog;
  }
  assay::testing::TemporaryFolder folder_;
  const fs::path dir_ = folder_.path();
};

TEST(Workloads, NullAndMatmulAreShipped) {
  const Catalog catalog = load_catalog({std::string(ASSAY_SOURCE_DIR) + "/conf"});
  const Workload* null = catalog.find_workload("null");
  ASSERT_NE(null, nullptr);
  EXPECT_THAT(null->command, ElementsAre("{bindir}/assay-micro", "null", "--config", "{config}"));
  EXPECT_EQ(dump_line(null->config.json()),
            R"({"steps":100,"step_ms":10.0,"samples":32,"loss_start":2.5,"eval_every":0,)"
            R"("jitter":0.0,"seed":1})");
  const Workload* matmul = catalog.find_workload("matmul");
  ASSERT_NE(matmul, nullptr);
  EXPECT_EQ(dump_line(matmul->config.json()),
            R"({"size":512,"steps":0,"min_seconds":5.0,"threads":1,"seed":1,"dtype":"f32"})");
}

TEST_F(ConfDir, ListsAreSortedByName) {
  for (const char* name : {"b", "a", "c"})
    write(std::string("workloads/") + name + ".yaml",
          std::string("name: ") + name + "\nframeworks: [native]\ncommand: [x]\n");
  EXPECT_THAT(load().workload_names(), ElementsAre("a", "b", "c"));
}

TEST_F(ConfDir, DataKeysOfAWorkloadAreTextsOfItsConfig) {
  const std::string head = "name: a\nframeworks: [native]\ncommand: [x]\n";
  write("workloads/a.yaml", head + "data_keys: [path]\nconfig: {path: '', size: 3}\n");
  EXPECT_THAT(load().workloads.at(0).data_keys, ElementsAre("path"));
  write("workloads/a.yaml", head + "data_keys: [size]\nconfig: {path: '', size: 3}\n");
  EXPECT_THAT(error_of([&] { return load(); }), HasSubstr("cannot be a path"));
  write("workloads/a.yaml", head + "data_keys: [pat]\nconfig: {path: '', size: 3}\n");
  EXPECT_THAT(error_of([&] { return load(); }), HasSubstr("path"));
}

TEST_F(ConfDir, NameMustAgreeWithTheFile) {
  write("vendors/acme.yaml", "name: acne\n");
  EXPECT_THAT(error_of([&] { return load(); }), HasSubstr("acme.yaml:1:7: the name is 'acne'"));
}

TEST_F(ConfDir, UnknownKeyOfAVendorIsNamed) {
  write("vendors/acme.yaml", "name: acme\nvisible_device: X\n");
  EXPECT_THAT(error_of([&] { return load(); }), HasSubstr("did you mean 'visible_devices'?"));
}

TEST_F(ConfDir, PatternMustHaveAGroupForEveryField) {
  write("vendors/acme.yaml",
        "name: acme\nsamples:\n  - {mode: once, format: regex, command: [x], pattern: '(a)', "
        "fields: [index, power_w]}\n");
  EXPECT_THAT(error_of([&] { return load(); }), HasSubstr("has 1 groups, but 2 fields"));
}

TEST_F(ConfDir, SampleFieldsAreChecked) {
  write("vendors/acme.yaml",
        "name: acme\nsamples:\n  - {mode: once, format: csv, command: [x], fields: [index, "
        "powr_w]}\n");
  EXPECT_THAT(error_of([&] { return load(); }), HasSubstr("did you mean 'power_w'?"));
}

TEST_F(ConfDir, SamplePlaceholdersAreChecked) {
  write("vendors/acme.yaml",
        "name: acme\nsamples:\n  - {mode: loop, format: assay, command: ['{bindr}/x']}\n");
  EXPECT_THAT(error_of([&] { return load(); }), HasSubstr("unknown placeholder {bindr}"));
}

TEST_F(ConfDir, OverridesAndFixedKeysMustNameConfigKeys) {
  const std::string head = "name: w\nframeworks: [native]\ncommand: [x]\nconfig: {size: 1}\n";
  write("workloads/w.yaml", head + "fixed: [sise]\n");
  EXPECT_THAT(error_of([&] { return load(); }),
              HasSubstr("unknown config key 'sise' (did you mean 'size'?)"));
  write("workloads/w.yaml", head + "overrides: [{vendor: cpu, config: {sise: 2}}]\n");
  EXPECT_THAT(error_of([&] { return load(); }), HasSubstr("unknown config key 'sise'"));
}

TEST_F(ConfDir, ConfigKeyNeedsADefault) {
  write("workloads/w.yaml", "name: w\nframeworks: [native]\ncommand: [x]\nconfig: {size: ~}\n");
  EXPECT_THAT(error_of([&] { return load(); }), HasSubstr("'size' needs a default"));
}

class Options : public ConfDir {
 protected:
  void SetUp() override {
    ConfDir::SetUp();
    fs::create_directories(dir_ / "conf/options");
    write("options/trainer.yaml",
          "image:\n  options: {size: 32, rate: 0.1}\n"
          "  workloads: {small: {}, large: {size: 224}}\n");
  }
  std::string error_with(const std::string& rest) {
    write("workloads/w.yaml", kHead + rest);
    return error_of([&] { return load(); });
  }
  const std::string kHead = "name: w\nframeworks: [native]\ncommand: [x]\n";
};

TEST_F(Options, OfAProgramAreTheDefaultsUnderAWorkloadsOwn) {
  write("workloads/w.yaml", kHead + "options: large\nconfig: {rate: 0.5}\n");
  EXPECT_EQ(dump_line(load().workloads.at(0).config.json()), R"({"size":224,"rate":0.5})");
}

TEST_F(Options, EachValueKnowsTheFileThatItIsFrom) {
  write("workloads/w.yaml", kHead + "options: large\nconfig: {rate: 0.5}\n");
  const config::Node config = load().workloads.at(0).config;
  EXPECT_EQ(config.find("size")->origin(), "conf/options/trainer.yaml:3");
  EXPECT_EQ(config.find("rate")->origin(), "conf/workloads/w.yaml:5");
}

TEST_F(Options, AreTheOnlyKeysOfAWorkloadThatNamesThem) {
  EXPECT_THAT(error_with("options: small\nconfig: {sise: 1}\n"), HasSubstr("did you mean 'size'?"));
  EXPECT_THAT(error_with("options: smal\n"), HasSubstr("did you mean 'small'?"));
}

TEST_F(Options, OfAWorkloadAreWithinTheRangesOfTheProgram) {
  write("options/trainer.yaml",
        "image:\n  options: {size: 32, kind: a}\n  ranges: {size: [1, 64], kind: [a, b]}\n"
        "  workloads: {small: {}}\n");
  EXPECT_THAT(error_with("options: small\nconfig: {size: 65}\n"),
              HasSubstr("w.yaml:5:16: 'size' must be a whole number from 1 to 64, not '65'"));
  EXPECT_THAT(error_with("options: small\nconfig: {kind: c}\n"), HasSubstr("one of a, b"));
  write("workloads/w.yaml", kHead + "options: small\nconfig: {size: 64, kind: b}\n");
  EXPECT_EQ(load().workloads.at(0).options->bounds.size(), 2U);
}

TEST_F(Options, WithARangeThatCannotBeAreRefused) {
  const auto error = [&](const std::string& ranges) {
    write("options/trainer.yaml", "image:\n  options: {size: 32, fast: true}\n  ranges: " + ranges +
                                      "\n  workloads: {small: {}}\n");
    return error_of([&] { return load(); });
  };
  EXPECT_THAT(error("{size: [64, 1]}"), HasSubstr("the least is above the most"));
  EXPECT_THAT(error("{size: [1]}"), HasSubstr("expected [least, most]"));
  EXPECT_THAT(error("{size: [64, 128]}"), HasSubstr("'size' must be a whole number from 64"));
  EXPECT_THAT(error("{sise: [1, 2]}"), HasSubstr("did you mean 'size'"));
  EXPECT_THAT(error("{fast: [0, 1]}"), HasSubstr("only numbers"));
}

TEST_F(Options, KeepTheirTypes) {
  EXPECT_THAT(error_with("options: small\nconfig: {rate: 1}\n"), HasSubstr("'rate' is of another"));
}

TEST_F(ConfDir, SameRuleInTwoFilesIsRefused) {
  for (const char* name : {"a", "b"})
    write(std::string("rules/") + name + ".yaml", "rules: [{id: r, fact: x, min: 1, reason: y}]\n");
  EXPECT_THAT(error_of([&] { return load(); }), HasSubstr("the rule 'r' exists twice"));
}

TEST_F(ConfDir, MissingFolderIsAnEnvironmentError) {
  fs::remove_all(dir_ / "conf/rules");
  try {
    (void)load();
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::environment);
  }
}

TEST_F(ConfDir, ConfIsFoundByVariableInstallationAndAbove) {
  EXPECT_EQ(find_conf_dir("/nowhere/bin/assay", (dir_ / "conf").c_str()), dir_ / "conf");
  fs::create_directories(dir_ / "build/x/bin");
  EXPECT_EQ(find_conf_dir(dir_ / "build/x/bin/assay", nullptr), dir_ / "conf");
  fs::create_directories(dir_ / "build/x/share/assay/conf/vendors");
  EXPECT_EQ(find_conf_dir(dir_ / "build/x/bin/assay", nullptr), dir_ / "build/x/share/assay/conf");
}

TEST_F(ConfDir, ConfIsFoundFromLibexecToo) {
  fs::create_directories(dir_ / "opt/libexec/assay");
  fs::create_directories(dir_ / "opt/share/assay/conf/vendors");
  EXPECT_EQ(find_conf_dir(dir_ / "opt/libexec/assay/assay", nullptr),
            dir_ / "opt/share/assay/conf");
}

TEST_F(ConfDir, AFileOfTheSiteTakesThePlaceOfOurs) {
  write("suites/quick.yaml", "name: quick\n");
  write("suites/night.yaml", "name: night\n");
  folder_.write("site/suites/quick.yaml", "name: ours\n");
  const ConfDirs both{dir_ / "conf", dir_ / "site"};
  const auto suites = conf_files(both, "suites");
  EXPECT_EQ(suites.at("quick"), dir_ / "site/suites/quick.yaml");
  EXPECT_EQ(suites.at("night"), dir_ / "conf/suites/night.yaml");
  EXPECT_EQ(conf_name(both, suites.at("night")), "conf/suites/night.yaml");
  EXPECT_EQ(conf_name(both, suites.at("quick")), (dir_ / "site/suites/quick.yaml").string());
}

TEST_F(ConfDir, ARuleOfTheSiteTakesThePlaceOfOursAndIsNamedByItsFile) {
  const auto rule = [](const std::string& id, double max) {
    return fmt::format(
        "  - {{id: {}, aspect: result, scope: case, fact: repeat_spread, max: {}, severity: note, "
        "reason: x, advice: y}}\n",
        id, max);
  };
  write("rules/default.yaml", "rules:\n" + rule("spread", 0.05) + rule("other", 0.1));
  folder_.write("site/rules/site.yaml", "rules:\n" + rule("spread", 0.5));
  const Catalog both = load_catalog({dir_ / "conf", dir_ / "site"});
  ASSERT_EQ(both.rules.size(), 2U);
  EXPECT_EQ(both.rules[0].id, "spread");
  EXPECT_EQ(both.rules[0].max, 0.5);
  EXPECT_THAT(both.rules[0].origin, HasSubstr("site/rules/site.yaml"));
  EXPECT_THAT(both.rules[1].origin, HasSubstr("conf/rules/default.yaml"));
}

TEST_F(ConfDir, NotFoundSaysWhereItLooked) {
  EXPECT_THAT(error_of([] { return find_conf_dir("/nowhere/bin/assay", nullptr); }),
              HasSubstr("/nowhere/share/assay/conf"));
  EXPECT_THAT(error_of([] { return find_conf_dir("/nowhere/bin/assay", "/nowhere/conf"); }),
              HasSubstr("ASSAY_CONF is not a configuration folder"));
}

TEST(ExpandSome, LeavesOtherPlaceholdersAndEscapesAlone) {
  EXPECT_EQ(expand_some("{bindir}/x {rank} {{bindir}} }", {{"bindir", "/a"}}),
            "/a/x {rank} {{bindir}} }");
}

}  // namespace
}  // namespace assay::catalog
