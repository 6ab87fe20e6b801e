#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "build_runs.h"
#include "compare/compare_assets.h"
#include "compare/render.h"
#include "core/subprocess.h"
#include "needs.h"
#include "sound_page.h"
#include "temporary_folder.h"

namespace assay::compare {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

Comparisons slower() {
  return compared(make_run({make_case("a|b", {100, 101, 99, 100.5, 99.5})}),
                  make_run({make_case("a|b", {95, 96, 94.5, 95.2, 94.8})}));
}

TEST(Render, ShowsTextMarkdownAndJson) {
  const Comparisons found = slower();
  EXPECT_THAT(render_text(found, {}), HasSubstr("SLOWER"));
  EXPECT_THAT(render_markdown(found), HasSubstr("a\\|b"));
  EXPECT_EQ(to_json(found)["new"][0]["cases"][0]["metrics"][0]["verdict"], "SLOWER");
}

TEST(Render, SaysADifferenceOfAllCasesOnce) {
  std::vector<judge::CaseResult> base{make_case("a", {100, 101, 99}), make_case("b", {1, 1, 1})};
  std::vector<judge::CaseResult> now = base;
  for (judge::CaseResult& result : now)
    result.configuration.push_back({"config.threads", 8, "", ""});
  const std::string text = render_text(compared(make_run(base), make_run(now)), {});
  EXPECT_THAT(text, HasSubstr("all cases: config.threads: – → 8"));
  EXPECT_EQ(text.find("config.threads"), text.rfind("config.threads"));
}

TEST(Render, HasNoEscapeSequenceWithoutColor) {
  judge::CaseResult odd = make_case("\x1b[31mred\x07", {100, 101, 99});
  odd.configuration.push_back({"config.x", "\x1b[2J", "", ""});
  const auto base = make_run({make_case("\x1b[31mred\x07", {100, 101, 99})});
  const Comparisons found = compared(base, make_run({odd}));
  EXPECT_THAT(render_text(found, {}), Not(HasSubstr("\x1b")));
  EXPECT_THAT(render_markdown(found), Not(HasSubstr("\x1b")));
  EXPECT_THAT(render_junit(found, false), Not(HasSubstr("\x1b")));
}

TEST(Render, CountsTheVerdictsInASentence) {
  const auto run = [](double b) {
    return make_run({make_case("a", {100, 100.1, 99.9, 100}), make_case("b", {b, b, b, b}),
                     make_case("c", {1})});
  };
  EXPECT_EQ(verdict_sentence(of(run(100), run(90))),
            "Of 3 cases, 1 is slower, 1 is the same and 1 is unsure.");
}

// 0: conforms, 1: does not, 77: cannot be checked here.
int conforms(const Json& json, std::string& problems) {
  static const std::string python = needs::python_with("jsonschema");
  if (python.empty()) return 77;
  const testing::TemporaryFolder folder;
  const auto path = folder.write("comparison.json", dump_pretty(json));
  const auto result = run_command({python, "-c", R"(
import json, jsonschema, sys
schema = json.load(open(sys.argv[1]))
jsonschema.Draft7Validator.check_schema(schema)
errors = list(jsonschema.Draft7Validator(schema).iter_errors(json.load(open(sys.argv[2]))))
for error in errors:
    print("/".join(map(str, error.absolute_path)), error.message)
sys.exit(1 if errors else 0)
)",
                                   ASSAY_SOURCE_DIR "/docs/compare.schema.json", path});
  problems = result.out + result.err;
  return result.status.code.value_or(1);
}

TEST(Json, IsAsItsSchemaSays) {
  const Bound bound{"headline", 0.01};
  const MetricInfo tokens{"steady_throughput", "tokens/s", Better::higher, ""};
  judge::CaseResult steps = make_case("s", {100, 101, 99, 100});
  for (judge::RoundResult& round : steps.rounds) set_steps(round, std::vector<double>(20, 0.1));
  steps.configuration.push_back({"config.batch_size", 32, "", ""});
  judge::CaseResult other = steps;
  other.configuration[0].value = 64;
  other.validity = judge::Validity::invalid;
  Options options;
  options.invalid_too = true;
  for (const Comparisons& found :
       {slower(), compared(make_run({steps, make_case("u", {1, 2}), make_case("o", {1})}),
                           make_run({other, make_case("u", {1, 2}, tokens), make_case("n", {1})}),
                           options)}) {
    const std::vector<Excess> over = exceeded(found, std::span(&bound, 1));
    EXPECT_FALSE(over.empty());
    std::string problems;
    if (conforms(to_json(found, over), problems) == 77)
      GTEST_SKIP() << needs::package("python3-jsonschema");
    EXPECT_EQ(problems, "");
  }
}

TEST(Junit, FailsForWhatGotWorseOrForWhatExceedsABound) {
  const Comparisons found = slower();
  EXPECT_THAT(render_junit(found, false),
              AllOf(HasSubstr("failures=\"1\""), HasSubstr("<failure message=\"SLOWER:")));
  const Bound wide{"headline", 0.2};
  const Bound narrow{"headline", 0.02};
  EXPECT_THAT(render_junit(found, true, exceeded(found, std::span(&wide, 1))),
              HasSubstr("failures=\"0\""));
  EXPECT_THAT(render_junit(found, true, exceeded(found, std::span(&narrow, 1))),
              HasSubstr("at most 2 % are allowed"));
}

TEST(Junit, SkipsWhatIsNotComparedUnlessABoundAsksForIt) {
  const Comparisons found = compared(make_run({make_case("a", {1, 1, 1})}), make_run({}));
  EXPECT_THAT(render_junit(found, false), HasSubstr("<skipped message=\"not compared: only in"));
  const Bound bound{"headline", 0.02};
  EXPECT_THAT(render_junit(found, true, exceeded(found, std::span(&bound, 1))),
              AllOf(HasSubstr("failures=\"2\""), Not(HasSubstr("<skipped"))));
}

judge::Series curve(const char* name, double level) {
  judge::Series series{name, "rank 0", name == std::string("loss") ? "" : "samples/s", {}};
  for (int i = 0; i < 50; ++i) series.points.push_back({i * 0.1, level + i % 3});
  return series;
}

judge::CaseResult with_curves(const std::string& name, double speed) {
  judge::CaseResult result = make_case(name, {speed, speed + 1, speed - 1, speed});
  int number = 0;
  for (judge::RoundResult& round : result.rounds) {
    round.round = ++number;
    round.series = {curve("throughput", speed), curve("loss", 4)};
  }
  return result;
}

TEST(Html, IsASoundPageWithTheCurvesOfAllSides) {
  const std::string odd = "<script>alert(1)</script>";
  const Side base{"base", {make_run({with_curves(odd, 100), with_curves("b", 50)})}};
  const std::vector<Side> others{{"one", {make_run({with_curves(odd, 90)})}},
                                 {"two", {make_run({with_curves(odd, 110)})}}};
  const Comparisons found = compare_sides(base, others, {});
  const Bound bound{"headline", 0.02};
  const std::string page = render_html(found, base, others, exceeded(found, std::span(&bound, 1)));
  testing::expect_sound_page(page);
  EXPECT_TRUE(testing::has(page, "data-label=\"base, round 1\""));
  EXPECT_TRUE(testing::has(page, "data-label=\"new 1, round 1\""));
  EXPECT_TRUE(testing::has(page, "data-label=\"new 2, round 1\""));
  EXPECT_TRUE(testing::has(page, "only in the base"));
  EXPECT_TRUE(testing::has(page, "Not within the bounds"));
  for (const page::Asset& asset : assets::kAll)
    EXPECT_TRUE(testing::has(page, testing::longest_literal(asset.text))) << asset.name;
}

TEST(Html, OfNothingIsSoundToo) {
  const Side side{"none", {make_run({})}};
  testing::expect_sound_page(
      render_html(compare_sides(side, std::span(&side, 1), {}), side, std::span(&side, 1)));
}

}  // namespace
}  // namespace assay::compare
