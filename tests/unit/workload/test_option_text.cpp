#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/yaml.h"
#include "core/error.h"
#include "workload/option_text.h"

namespace assay::workload {
namespace {

using ::testing::HasSubstr;

// Two sizes of one task, and a task of its own.
std::vector<Workload> workloads() {
  const auto read = [](Options& options) {
    options.section("Data");
    static_cast<void>(options.text("path", "", "a folder"));
    options.section("Training");
    static_cast<void>(options.integer("batch", 32, 1, 100, "samples of a step"));
    static_cast<void>(options.number("rate", 1, 0, 2, "of learning"));
    options.reject_unknown();
  };
  const auto other = [](Options& options) {
    options.section("Training");
    static_cast<void>(options.flag("fast", false, "quickly"));
    options.reject_unknown();
  };
  return {{"small", "image", "", read, {}},
          {"large", "image", "{batch: 8}", read, {}},
          {"null", "null", "", other, {}}};
}

TEST(OptionText, AWorkloadsOptionsAreListedWithTheirRanges) {
  EXPECT_EQ(to_text(workloads()[1]),
            "Data:\n"
            "  path: ''   a folder\n"
            "Training:\n"
            "  batch: 8   samples of a step (1 … 100)\n"
            "  rate: 1.0  of learning (0 … 2)\n");
}

TEST(OptionText, TheYamlListsNumbersThatMayBeAuto) {
  const auto read = [](Options& options) {
    static_cast<void>(options.integer_or_auto("batch", 32, 1, 100, "samples of a step"));
  };
  const config::Node root = config::parse_yaml(
      to_yaml("program", {{"small", "image", "", read, {}}}), {"options", "options", false});
  EXPECT_EQ(root.find("image")->find("auto")->json(), Json::array({"batch"}));
}

TEST(OptionText, TheYamlHasWhatEachMayBe) {
  const auto read = [](Options& options) {
    static_cast<void>(options.text("path", "", "a folder"));
    static_cast<void>(options.integer("batch", 32, 1, 1 << 24, "samples of a step"));
    static_cast<void>(options.number("rate", 1, 0.01, 1e6, "of learning"));
    static_cast<void>(options.choice("kind", "a", {"a", "b"}, "of it"));
  };
  const config::Node root = config::parse_yaml(
      to_yaml("program", {{"small", "image", "", read, {}}}), {"options", "options", false});
  EXPECT_EQ(dump_line(root.find("image")->find("ranges")->json()),
            R"({"batch":[1,16777216],"rate":[0.01,1000000],"kind":["a","b"]})");
}

TEST(OptionText, TheYamlHasATasksDefaultsOnceAndWhatDiffersForAWorkload) {
  const std::string text = to_yaml("program", workloads());
  const config::Node root = config::parse_yaml(text, {"options", "options", false});
  const config::Node& image = *root.find("image");
  EXPECT_EQ(image.find("options")->json(), Json({{"path", ""}, {"batch", 32}, {"rate", 1.0}}));
  EXPECT_TRUE(image.find("options")->find("rate")->json().is_number_float());
  EXPECT_EQ(image.find("workloads")->json(),
            Json({{"small", Json::object()}, {"large", {{"batch", 8}}}}));
  EXPECT_EQ(root.find("null")->find("workloads")->json(), Json({{"null", Json::object()}}));
  EXPECT_THAT(text, HasSubstr("batch: 32 # samples of a step (1 … 100)\n"));
}

TEST(OptionText, TheTablesGroupBySectionAndSayWhereADefaultDiffers) {
  EXPECT_EQ(to_markdown(workloads()),
            "Data:\n\n"
            "| key | default | meaning |\n|---|---|---|\n"
            "| `path` | – | a folder |\n"
            "\nTraining:\n\n"
            "| key | default | meaning |\n|---|---|---|\n"
            "| `batch` | `32`; large: `8` | samples of a step (1 … 100) |\n"
            "| `rate` | `1.0` | of learning (0 … 2) |\n"
            "| `fast` | `false` | quickly |\n");
}

TEST(OptionText, TheTablesNameThoseForWhichNotEveryNumberFits) {
  const auto small = [](Options& options) {
    static_cast<void>(options.integer("size", 8, 4, 1 << 24, "of it"));
  };
  const auto large = [](Options& options) {
    static_cast<void>(options.integer("size", 0, 0, 1 << 24, "of it; 0 is its own"));
  };
  EXPECT_THAT(to_markdown({{"small", "a", "", small, {}}, {"large", "b", "", large, {}}}),
              HasSubstr("| `size` | `8`; large: `0` | of it; 0 is its own (small: ≥ 4) |\n"));
}

TEST(OptionText, AnUnknownWorkloadIsAnErrorThatNamesTheNearest) {
  try {
    static_cast<void>(find_workload(workloads(), "larg"));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    EXPECT_THAT(error.what(), HasSubstr("did you mean 'large'?"));
  }
}

}  // namespace
}  // namespace assay::workload
