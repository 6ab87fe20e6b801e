#include <algorithm>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/files.h"
#include "unit/plan/testing.h"

namespace assay::plan {
namespace {

namespace fs = std::filesystem;

const std::string kSource = ASSAY_SOURCE_DIR;

Json schema() {
  return parse_json(read_file(kSource + "/docs/suite.schema.json"), "docs/suite.schema.json");
}

// The part of the schema that describes each place of suite_keys().
const std::map<std::string, std::string>& places() {
  static const std::map<std::string, std::string> all{
      {"", ""},
      {"cluster", "/properties/cluster"},
      {"cluster.hosts", "/properties/cluster/properties/hosts/items/anyOf/1"},
      {"cluster.ssh", "/properties/cluster/properties/ssh"},
      {"cluster.slurm", "/properties/cluster/properties/slurm"},
      {"cluster.http", "/properties/cluster/properties/http"},
      {"cluster.modelarts", "/properties/cluster/properties/modelarts"},
      {"cluster.modelarts.volumes",
       "/properties/cluster/properties/modelarts/properties/volumes/items"},
      {"telemetry", "/properties/telemetry"},
      {"telemetry.prometheus", "/properties/telemetry/properties/prometheus"},
      {"submission", "/properties/submission"},
      {"container", "/$defs/container"},
      {"defaults", "/properties/defaults"},
      {"limits", "/$defs/limits"},
      {"case", "/$defs/case"},
      {"needs", "/$defs/needs"},
      {"automl", "/$defs/automl"},
      {"automl.hyper", "/$defs/automl/properties/hyper"},
      {"automl.limits", "/$defs/automl/properties/limits"},
      {"automl.patience", "/$defs/automl/properties/patience"},
      {"repeats", "/$defs/repeats"},
      {"metric", "/$defs/metric"},
      {"target", "/$defs/target"},
      {"rule", "/$defs/rule"},
      {"only_if", "/$defs/only_if"},
      {"hooks", "/$defs/hooks"},
      {"hook", "/$defs/hook"}};
  return all;
}

TEST(SuiteSchema, ListsExactlyTheKeysThatTheParserAccepts) {
  const Json json = schema();
  ASSERT_EQ(places().size(), suite_keys().size());
  for (const auto& [place, keys] : suite_keys()) {
    const Json& part = json.at(Json::json_pointer(places().at(place)));
    std::set<std::string> listed;
    for (const auto& [key, value] : part.at("properties").items()) listed.insert(key);
    EXPECT_EQ(listed, std::set<std::string>(keys.begin(), keys.end())) << "at '" << place << "'";
    EXPECT_EQ(part.at("additionalProperties"), false) << "at '" << place << "'";
  }
}

TEST(SuiteSchema, EveryReferenceResolves) {
  const Json json = schema();
  const Json flat = json.flatten();
  for (const auto& [pointer, value] : flat.items())
    if (pointer.ends_with("/$ref")) {
      EXPECT_TRUE(json.contains(Json::json_pointer(value.get<std::string>().substr(1)))) << value;
    }
}

TEST(SuiteDocs, EveryKeyIsDocumented) {
  const std::string text = read_file(kSource + "/docs/suite.md");
  for (const auto& [place, keys] : suite_keys())
    for (const std::string& key : keys)
      EXPECT_NE(text.find("`" + key + "`"), std::string::npos)
          << "'" << key << "' at '" << place << "'";
}

// Every ```yaml block of the reference that has cases is a suite that loads.
TEST(SuiteDocs, ExamplesLoad) {
  const std::string text = read_file(kSource + "/docs/suite.md");
  int examples = 0;
  for (auto at = text.find("```yaml\n"); at != std::string::npos; at = text.find("```yaml\n", at)) {
    at += 8;
    const std::string block = text.substr(at, text.find("```", at) - at);
    if (block.find("cases:") == std::string::npos) continue;
    EXPECT_NO_THROW((void)testing::suite(block)) << block;
    ++examples;
  }
  EXPECT_GE(examples, 2);
}

TEST(ShippedSuites, LoadPlanAndRoundTrip) {
  const catalog::Catalog catalog = catalog::load_catalog({kSource + "/conf"});
  int count = 0;
  for (const auto& file : fs::directory_iterator(kSource + "/conf/suites")) {
    if (file.path().extension() != ".yaml") continue;
    PlanOptions options;
    options.find_devices = [](const std::string&, bool) {
      return Devices{"nvidia", "A100", "NVIDIA A100-SXM4-80GB", 8, "", {"fp32", "bf16"}};
    };
    const Plan p = make_plan(load_suite(file.path()), catalog, options);
    EXPECT_FALSE(p.cases.empty()) << file.path();
    const Json json = to_json(p);
    EXPECT_EQ(to_json(plan_from_json(json, "x")), json);
    ++count;
  }
  EXPECT_GE(count, 1);
}

TEST(ShippedSuites, QuickRepeatsWhatIsShortAndTrainsToATarget) {
  const Plan p = make_plan(load_suite(kSource + "/conf/suites/quick.yaml"),
                           catalog::load_catalog({kSource + "/conf"}), {});
  int trained = 0;
  for (const CasePlan& c : p.cases) {
    EXPECT_EQ(c.nodes, 1);
    EXPECT_LE(c.procs, 2);
    if (c.target) {
      ++trained;
    } else if (c.model != "allreduce") {
      EXPECT_GE(c.repeats, 3) << c.name << " has no statistics";
    }
  }
  EXPECT_GE(trained, 2);
}

}  // namespace
}  // namespace assay::plan
