// A plan as somebody sees it who reads Chinese: page::plan_in() knows every form of
// plan::render_text().

#include <gmock/gmock.h>

#include "chinese_text.h"
#include "core/text.h"
#include "page/shown_plan.h"
#include "page/text_width.h"
#include "unit/plan/testing.h"

namespace assay::plan {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

// As much of what a plan may say as one suite can have.
constexpr const char* kRich =
    "name: rich\n"
    "cluster:\n"
    "  launcher: ssh\n"
    "  hosts:\n"
    "    - {name: n1, slots: 4, env: {N: '1'}}\n"
    "    - n2\n"
    "telemetry: {interval: 500ms, prometheus: {listen: '0.0.0.0:9400'}}\n"
    "hooks:\n"
    "  before: {name: warm, command: [warm, up], on: nodes, time: 5s, required: false}\n"
    "  after: {name: clean, command: [clean], on: controller}\n"
    "defaults: {rules: {min-duration: {min: 5}}}\n"
    "cases:\n"
    "  - {name: one, nodes: 2, command: [train, '{config}'], workdir: /w, data: /d, env: {A: 'b "
    "c'},\n"
    "     repeats: {until: 2 %, min: 3, max: 9}, warmup_rounds: 1, warmup_steps: 3, drop_caches: "
    "true,\n"
    "     bind: cores, config: {batch: 8}, declared: {world: 4},\n"
    "     target: {metric: speed, value: 3, better: higher},\n"
    "     metrics: {speed: {match: 'a \\(b: ([0-9]+)', unit: img/s, better: higher, reduce: mean,\n"
    "                       across: sum, kind: speed},\n"
    "               wait: {match: 'w=([0-9]+)', unit: s, better: lower}}}\n"
    "  - {name: two, command: [b], after: one,\n"
    "     container: {image: 'i:1', runtime: podman, pull: never},\n"
    "     only_if: {case: one, metric: speed, min: 2}, limits: {stall: 0s}}\n";

std::string chinese_plan(const std::string& yaml) {
  return page::plan_in(lang::Language::chinese, render_text(testing::plan(yaml)));
}

TEST(PlanInChinese, HasNoEnglishWord) {
  const std::string text = chinese_plan(kRich);
  EXPECT_THAT(assay::testing::english_in(text, {"rich", "acme", "warm", "up", "clean", "one", "two",
                                                "train", "me", "speed", "wait", "batch", "world",
                                                "config", "never", "command", "cpu", "steps"}),
              IsEmpty())
      << text;
}

TEST(PlanInChinese, KeepsNamesAndCommands) {
  const std::string text = chinese_plan(kRich);
  for (const char* line :
       {"\n用例 one\n", "\n  命令        train '{config}'\n", "\n  环境变量    A='b c'\n",
        "\n  主机        n1（4 个槽位，N=1）\n",
        "\n  钩子        warm（之前，在各节点上，最长 5s，允许失败）：warm up  # s.yaml:9\n",
        "\n  指标        speed [img/s]，取自 /a \\(b: ([0-9]+)/；每个 rank 取速度，平均值，"
        "各 rank 合起来取总和，越高越好\n",
        "\n    batch = 8  # s.yaml:15\n", "\n  依赖        one\n",
        "\n  仅当        'one' 的 speed ≥ 2  # s.yaml:"})
    EXPECT_THAT(text, HasSubstr(line));
}

TEST(PlanInChinese, HasItsValuesUnderEachOther) {
  const std::string text = chinese_plan(kRich);
  for (const std::string_view line : split(text, '\n')) {
    if (!line.starts_with("  ") || line.starts_with("   ") || line.starts_with("  配置")) continue;
    const std::size_t gap = line.find("  ", 2);
    ASSERT_NE(gap, std::string_view::npos) << line;
    EXPECT_EQ(page::columns_of(line.substr(0, line.find_first_not_of(' ', gap))), 14U) << line;
  }
}

TEST(PlanInChinese, ASweepAndAnExperimentAreExplained) {
  EXPECT_THAT(chinese_plan("cases:\n  - {model: train, config: {batch: [1, 2]}, name: s}\n"),
              HasSubstr("config.batch 1, 2；2 个点中的 2 个"));
}

// A script of several lines may have a line that looks like one of the plan.
TEST(PlanInChinese, LinesOfSomebodysScriptStay) {
  const std::string text =
      chinese_plan("cases: [{name: a, command: [sh, -c, \"x\\ncase y in\\n  esac\"]}]");
  EXPECT_THAT(text, HasSubstr("\ncase y in\n  esac"));
}

}  // namespace
}  // namespace assay::plan
