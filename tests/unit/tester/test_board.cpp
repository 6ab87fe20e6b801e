#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../serve/refused.h"
#include "core/files.h"
#include "error_of.h"
#include "judge/case_identity.h"
#include "sound_page.h"
#include "temporary_folder.h"
#include "tester/board.h"
#include "tester/board_pages.h"
#include "tester/comparison_page.h"
#include "tester/prices.h"
#include "tester/records.h"

namespace assay::tester {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using testing::has;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

judge::Summary summary_of(const char* name, const char* unit, double value, Better better) {
  judge::Summary out;
  out.info = {name, unit, better, "how it is computed"};
  out.n = 3;
  out.median = out.mean = value;
  out.ci95_low = value * 0.99;
  out.ci95_high = value * 1.01;
  return out;
}

// A training of 100 samples/s at 50 W.
judge::CaseResult training() {
  judge::CaseResult out;
  out.name = "resnet50:libtorch:H100:1:8:3";
  out.model = "resnet50";
  out.framework = "libtorch";
  out.hardware = "H100";
  out.procs = 8;
  out.repeats = 3;
  out.validity = judge::Validity::valid;
  out.headline = "steady_throughput";
  out.summary = {summary_of("steady_throughput", "samples/s", 100, Better::higher),
                 summary_of("energy_per_sample_j", "J/sample", 0.5, Better::lower)};
  out.configuration = {{"model", "resnet50", "", ""}, {"config.data", "cifar10", "", ""}};
  return out;
}

judge::RunResult run_of(judge::CaseResult one) {
  judge::RunResult out;
  out.run_id = "run1";
  out.suite = "acceptance";
  out.seal.public_key = "ed25519:key";
  out.seal.fingerprint = "SHA256:print";
  out.cases.push_back(std::move(one));
  return out;
}

TEST(BoardRunTest, ALineTellsTheHeadlineWithItsInterval) {
  const BoardEntry entry = board_run(run_of(training())).entries.at(0);
  EXPECT_EQ(entry.case_name, "resnet50:libtorch:H100:1:8");
  EXPECT_EQ(entry.work, "data cifar10");
  EXPECT_EQ(entry.metric.name, "steady_throughput");
  EXPECT_EQ(entry.value, 100);
  EXPECT_DOUBLE_EQ(entry.half.value(), 1);
  EXPECT_EQ(entry.devices, 8);
  EXPECT_EQ(entry.verdict, judge::Validity::valid);
}

TEST(BoardRunTest, EnergyIsForOneResult) {
  const PerResult sample = board_run(run_of(training())).entries.at(0).per;
  EXPECT_EQ(sample.what, "sample");
  EXPECT_DOUBLE_EQ(sample.seconds, 0.01);
  EXPECT_EQ(sample.energy_j, 0.5);

  judge::CaseResult tokens = training();
  tokens.headline = "steady_tokens_per_s";
  tokens.summary = {summary_of("steady_tokens_per_s", "tokens/s", 1000, Better::higher),
                    summary_of("steady_power_w", "W", 50, Better::neither)};
  EXPECT_EQ(board_run(run_of(tokens)).entries.at(0).per.what, "token");
  EXPECT_DOUBLE_EQ(board_run(run_of(tokens)).entries.at(0).per.energy_j.value(), 0.05);

  judge::CaseResult target = training();
  target.headline = "time_to_target";
  target.summary = {summary_of("time_to_target", "s", 60, Better::lower),
                    summary_of("energy_to_target_j", "J", 900, Better::lower)};
  const PerResult reached = board_run(run_of(target)).entries.at(0).per;
  EXPECT_EQ(reached.what, "target");
  EXPECT_EQ(reached.seconds, 60);
  EXPECT_EQ(reached.energy_j, 900);
}

TEST(BoardRunTest, WhatWasNotMeasuredIsNotThere) {
  judge::CaseResult bare = training();
  bare.summary.pop_back();
  EXPECT_FALSE(board_run(run_of(bare)).entries.at(0).per.energy_j);
  bare.headline = "achieved_flops";
  bare.summary = {summary_of("achieved_flops", "FLOP/s", 1e12, Better::higher)};
  EXPECT_EQ(board_run(run_of(bare)).entries.at(0).per.what, "");
  bare.headline = "gone";
  EXPECT_EQ(board_run(run_of(bare)).entries.at(0).metric.name, "");
}

TEST(BoardRunTest, ACaseIsNoBetterThanItsRun) {
  judge::RunResult run = run_of(training());
  run.findings.push_back({"seal", judge::Severity::incomplete, "the run is not sealed", "", ""});
  EXPECT_EQ(board_run(run).entries.at(0).verdict, judge::Validity::incomplete);
  run.findings.push_back({"journal", judge::Severity::invalid, "it was changed", "", ""});
  EXPECT_EQ(board_run(run).entries.at(0).verdict, judge::Validity::invalid);
  run.findings = {{"load", judge::Severity::warning, "the machine was busy", "", ""}};
  EXPECT_EQ(board_run(run).entries.at(0).verdict, judge::Validity::valid);
}

TEST(BoardRunTest, WhatWasSkippedHasNoLine) {
  judge::CaseResult skipped = training();
  skipped.skipped = judge::Skip{plan::SkipCause::dependency, "the case before failed"};
  EXPECT_THAT(board_run(run_of(skipped)).entries, IsEmpty());
}

TEST(BoardRunTest, LongNamesAreCut) {
  judge::CaseResult one = training();
  one.name = std::string(10'000, 'x');
  EXPECT_LT(board_run(run_of(one)).entries.at(0).case_name.size(), 210U);
}

TEST(ParetoTest, AFrontIsWhatNothingBeatsInBoth) {
  //                                          fast       frugal   beaten    both as one
  const std::vector<ParetoPoint> points{{10, 5}, {5, 1}, {5, 2}, {7, 3}, {7, 3}, {6, 4}};
  EXPECT_THAT(pareto_front(points, Better::higher),
              ElementsAre(true, true, false, true, true, false));
  const std::vector<ParetoPoint> times{{60, 5}, {30, 9}, {90, 5}};
  EXPECT_THAT(pareto_front(times, Better::lower), ElementsAre(true, true, false));
  EXPECT_THAT(pareto_front(std::vector<ParetoPoint>{}, Better::higher), IsEmpty());
}

TEST(PricesTest, TheFirstKindThatFitsCounts) {
  const testing::TemporaryFolder folder;
  const auto file = folder.path() / "tester.yaml";
  write_file_atomic(file,
                    "prices:\n  currency: EUR\n  hardware:\n"
                    "    - {kind: h100 nvl, device_hour: 3}\n"
                    "    - {kind: H100, device_hour: 2.5, node_hour: 0.5}\n");
  const Prices prices = read_prices(file);
  const auto found =
      prices.of(std::vector<std::string>{"8 × NVIDIA H100 SXM", "NVIDIA H100 NVL", "AMD EPYC"});
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].device, 2.5);
  EXPECT_EQ(found[0].node, 0.5);
  EXPECT_EQ(found[1].device, 3);
  EXPECT_TRUE(read_prices(folder.path() / "none.yaml").currency.empty());
}

TEST(PricesTest, WhatIsNoPriceIsRefusedWithItsPlace) {
  const testing::TemporaryFolder folder;
  const auto file = folder.path() / "tester.yaml";
  for (const char* text : {"prices: {currency: EUR, hardware: [{kind: x}]}",
                           "prices: {currency: EUR, hardware: [{kind: x, device_hour: -1}]}",
                           "prices: {currency: EUR, hardware: [{kind: x, device_hour: much}]}",
                           "prices: {hardware: []}", "price: 1"}) {
    write_file_atomic(file, text);
    EXPECT_THAT(error_of([&] { return read_prices(file).currency; }), HasSubstr("tester.yaml:1:"))
        << text;
  }
}

class BoardTest : public ::testing::Test {
 protected:
  BoardTest() { (void)records_.add_token("alice"); }

  std::string accept(const BoardRun& run, const std::string& token = "alice") {
    TestRecord wanted;
    wanted.token = token;
    wanted.name = "test " + run.run_id;
    bool is_new = false;
    TestRecord test = records_.make_test(wanted, "", is_new);
    test.status = TestStatus::accepted;
    records_.finish(test, "", &run);
    return test.id;
  }
  static BoardRun run(const std::string& id, double speed, double energy = 0,
                      const std::string& key = "ed25519:key") {
    judge::CaseResult one = training();
    one.summary = {summary_of("steady_throughput", "samples/s", speed, Better::higher)};
    if (energy > 0)
      one.summary.push_back(summary_of("energy_per_sample_j", "J/sample", energy, Better::lower));
    judge::RunResult result = run_of(one);
    result.run_id = id;
    result.seal.public_key = key;
    result.seal.fingerprint = key.empty() ? "" : "SHA256:" + key;
    return board_run(result);
  }
  std::vector<std::string> runs(const BoardQuery& query = {}, const BoardTerms& terms = {}) {
    std::vector<std::string> out;
    for (const BoardLine& line : records_.board(query, terms).lines) out.push_back(line.run_id);
    return out;
  }

  testing::TemporaryFolder folder_;
  Records records_{folder_.path() / "t.db"};
};

TEST_F(BoardTest, TheBestHasTheFirstPlace) {
  accept(run("slow", 50));
  accept(run("fast", 100));
  accept(run("middle", 70));
  const BoardPage page = records_.board({}, {});
  EXPECT_EQ(page.total, 3);
  EXPECT_THAT(runs(), ElementsAre("fast", "middle", "slow"));
  EXPECT_EQ(page.lines[0].place, 1);
  EXPECT_EQ(page.lines[2].place, 3);
}

TEST_F(BoardTest, OnlyValidRunsHaveAPlace) {
  BoardRun invalid = run("invalid", 1000);
  invalid.entries[0].verdict = judge::Validity::invalid;
  accept(invalid);
  accept(run("valid", 10));
  const BoardPage page = records_.board({}, {});
  EXPECT_EQ(page.lines[0].run_id, "valid");
  EXPECT_EQ(page.lines[0].place, 1);
  EXPECT_EQ(page.lines[1].place, 0);
}

TEST_F(BoardTest, OtherDataIsAnotherRace) {
  accept(run("honest", 10));
  BoardRun easy = run("easy", 1000);
  easy.entries[0].work = "data small";
  accept(easy);
  for (const BoardLine& line : records_.board({}, {}).lines) EXPECT_EQ(line.place, 1);
}

TEST_F(BoardTest, TheSameRunPushedTwiceIsOneLine) {
  accept(run("same", 10));
  const std::string again = accept(run("same", 10));
  const BoardPage page = records_.board({}, {});
  ASSERT_EQ(page.total, 1);
  EXPECT_EQ(page.lines[0].test, again) << "the newer one, which may know more cases";
}

TEST_F(BoardTest, NobodyTakesAnothersPlaceByTheNameOfItsRun) {
  const std::string first = accept(run("same", 10));
  accept(run("same", 1, 0, "ed25519:other"));
  accept(run("same", 99, 0, ""));
  const BoardPage page = records_.board({}, {});
  ASSERT_EQ(page.total, 1);
  EXPECT_EQ(page.lines[0].test, first);
}

TEST_F(BoardTest, ARemovedTestMakesRoomForTheOneBefore) {
  const std::string before = accept(run("same", 10));
  records_.remove_test(accept(run("same", 11)));
  const BoardPage page = records_.board({}, {});
  ASSERT_EQ(page.total, 1);
  EXPECT_EQ(page.lines[0].test, before);
}

TEST_F(BoardTest, FiltersSelectLines) {
  accept(run("known", 10));
  accept(run("stranger", 20, 0, "ed25519:other"));
  accept(run("unsigned", 30, 0, ""));
  const BoardTerms terms{{}, {{"ed25519:key", "lab"}}};
  EXPECT_THAT(runs({.signer = "lab"}, terms), ElementsAre("known"));
  EXPECT_THAT(runs({.signer = "unknown"}, terms), ElementsAre("stranger"));
  EXPECT_THAT(runs({.signer = "none"}, terms), ElementsAre("unsigned"));
  EXPECT_THAT(runs({.signer = "SHA256:ed25519:other"}, terms), ElementsAre("stranger"));
  EXPECT_THAT(runs({.text = "STRANG"}, terms), ElementsAre("stranger"));
  EXPECT_THAT(runs({.text = "'; DROP TABLE results; --"}, terms), IsEmpty());
  EXPECT_THAT(runs({.verdict = "INVALID"}, terms), IsEmpty());
  EXPECT_THAT(runs({.suite = "other"}, terms), IsEmpty());
  EXPECT_EQ(runs({.case_name = "resnet50:libtorch:H100:1:8"}, terms).size(), 3U);
  EXPECT_EQ(runs({.hardware = "unknown"}, terms).size(), 3U);
}

TEST_F(BoardTest, WhatIsNotKnownIsLastInEitherDirection) {
  accept(run("frugal", 10, 1));
  accept(run("hungry", 20, 9));
  accept(run("silent", 30));
  EXPECT_THAT(runs({.sort = BoardSort::energy}), ElementsAre("frugal", "hungry", "silent"));
  EXPECT_THAT(runs({.sort = BoardSort::energy, .descending = true}),
              ElementsAre("hungry", "frugal", "silent"));
  EXPECT_THAT(runs({.sort = BoardSort::value}), ElementsAre("frugal", "hungry", "silent"));
  EXPECT_THAT(runs({.sort = BoardSort::date, .descending = true}),
              ElementsAre("silent", "hungry", "frugal"));
}

TEST_F(BoardTest, PagesDivideTheLines) {
  for (int i = 0; i < 5; ++i) accept(run(std::to_string(i), 100 - i));
  EXPECT_THAT(runs({.page = 2, .per_page = 2}), ElementsAre("2", "3"));
  EXPECT_THAT(runs({.page = 9, .per_page = 2}), IsEmpty());
  EXPECT_EQ(records_.board({.page = 9, .per_page = 2}, {}).total, 5);
}

TEST_F(BoardTest, APriceIsForTheHoursOfOneResult) {
  accept(run("priced", 100));
  // 8 devices at 9 and a node at 18 an hour are 90 an hour; a sample takes a hundredth of a second.
  const BoardTerms terms{{{"unknown", 9, 18}}, {}};
  const BoardPage page = records_.board({.sort = BoardSort::price}, terms);
  EXPECT_DOUBLE_EQ(page.lines.at(0).price.value(), 90.0 / 3600 / 100);
  EXPECT_FALSE(records_.board({}, {}).lines.at(0).price);
}

TEST_F(BoardTest, TheParetoFrontIsOfAllRunsNotOfThePage) {
  accept(run("best", 100, 1));
  accept(run("worse", 50, 2));
  const BoardPage page = records_.board({.text = "worse"}, {});
  ASSERT_EQ(page.lines.size(), 1U);
  EXPECT_FALSE(page.lines[0].pareto);
  EXPECT_TRUE(records_.board({.text = "best"}, {}).lines.at(0).pareto);
}

TEST_F(BoardTest, OnlyAcceptedTestsAreListed) {
  TestRecord wanted;
  wanted.token = "alice";
  bool is_new = false;
  TestRecord test = records_.make_test(wanted, "", is_new);
  records_.set_board(test.id, run("x", 1));
  EXPECT_EQ(records_.board({}, {}).total, 0);
}

// Schemas 1 and 2, as their versions made them.
TEST_F(BoardTest, ADatabaseOfAnEarlierVersionIsTakenOver) {
  for (const int schema : {1, 2}) {
    const auto file = folder_.path() / fmt::format("schema{}.db", schema);
    std::string id;
    {
      Records records(file);
      (void)records.add_token("bob");
      TestRecord wanted;
      wanted.token = "bob";
      bool is_new = false;
      TestRecord test = records.make_test(wanted, "", is_new);
      test.status = TestStatus::accepted;
      test.verdict = "VALID";
      records.finish(test);
      id = test.id;
    }
    {
      Database old(file);
      old.execute("DROP TABLE entries; DROP TABLE results;");
      if (schema == 1) old.execute("DROP TABLE challenges;");
      old.execute(fmt::format("PRAGMA user_version = {}", schema));
    }
    Records records(file);
    EXPECT_EQ(records.test(id)->verdict, "VALID");
    EXPECT_THAT(records.accepted_without_board(), ElementsAre(id));
    records.set_board(id, run("old", 5));
    EXPECT_THAT(records.accepted_without_board(), IsEmpty());
    EXPECT_EQ(records.board({}, {}).total, 1);
    EXPECT_TRUE(records.challenges_of(id).empty());
  }
}

TEST(BoardQueryTest, FormsWriteSpacesAsPlus) {
  const BoardQuery query = parse_board_query("text=two+words%2B&sort=energy&order=down&page=3");
  EXPECT_EQ(query.text, "two words+");
  EXPECT_EQ(query.sort, BoardSort::energy);
  EXPECT_TRUE(query.descending);
  EXPECT_EQ(query.page, 3);
  EXPECT_EQ(parse_board_query(board_address(query).substr(13)).text, query.text);
}

TEST(BoardQueryTest, WhatIsNotPossibleIsRefused) {
  for (const std::string text :
       {"sort=luck", "order=sideways", "page=0", "page=x", "per_page=101", "verdict=maybe"})
    EXPECT_EQ(serve::refused([&] { return parse_board_query(text); }), "400 bad_parameter") << text;
  EXPECT_EQ(serve::refused([&] { return parse_board_query("text=" + std::string(500, 'x')); }),
            "400 bad_parameter");
}

const std::string kHostileName =
    "</script><script>alert(1)</script>\"'><img src=x "
    "onerror=alert(1)>\x01\x1b[31m\xff\u202e\u2066" +
    std::string(10'000, 'x');

TEST(BoardPageTest, HostileNamesStayText) {
  BoardLine line;
  line.test = line.name = line.by = line.run_id = line.finished = line.machine = line.fingerprint =
      line.signer = kHostileName;
  BoardEntry& entry = line.entry;
  entry.suite = entry.case_name = entry.work = entry.model = entry.framework = entry.hardware =
      entry.metric.name = entry.metric.unit = entry.per.what = kHostileName;
  entry.per.energy_j = 1;
  line.price = 1;
  line.place = 1;
  line.pareto = true;
  BoardQuery query;
  query.text = query.suite = query.case_name = query.work = query.signer = kHostileName;
  BoardView view{query,
                 {{line}, 100},
                 {{{kHostileName, kHostileName, 1}}, {kHostileName}, {kHostileName}},
                 {{kHostileName, kHostileName}},
                 kHostileName,
                 {line}};
  const std::string page = board_page(view).body;
  testing::expect_sound_page(page, "/");
  for (const char* text : {"<img", "<script", "\x01", "\x1b", "\xff", "\u202e", "\u2066"})
    EXPECT_FALSE(has(page, text)) << text;
  EXPECT_TRUE(board_json(view).dump(-1, ' ', false, Json::error_handler_t::replace).size() > 0);
}

TEST(BoardPageTest, ALineSaysWhoSigned) {
  BoardLine line;
  line.test = "20261115-ab3dE9";
  line.fingerprint = "SHA256:x";
  EXPECT_TRUE(has(board_page({{}, {{line}, 1}, {}}).body, "unknown key"));
  line.signer = "lab";
  EXPECT_TRUE(has(board_page({{}, {{line}, 1}, {}}).body, "lab, known here"));
  EXPECT_EQ(board_json({{}, {{line}, 1}, {}})["entries"][0]["signature"]["state"], "known");
}

TEST(BoardPageTest, AHeadingSortsAndKeepsTheFilter) {
  BoardLine line;
  BoardQuery query;
  query.hardware = "H100 & more";
  query.sort = BoardSort::energy;
  const std::string page = board_page({query, {{line}, 1}, {}}).body;
  EXPECT_TRUE(has(page,
                  "aria-sort=\"ascending\"><a href=\"/leaderboard?hardware=H100%20%26%20more"
                  "&amp;sort=energy&amp;order=down\">Energy</a>"));
  EXPECT_TRUE(has(page, "href=\"/leaderboard?hardware=H100%20%26%20more&amp;sort=price\">Price"));
}

TEST(BoardPageTest, AnEmptyBoardSaysHowToFillIt) {
  EXPECT_TRUE(has(board_page({}).body, "assay push RUN --to URL"));
}

TEST(ComparisonPageTest, ShowsChangesAndDifferences) {
  compare::Comparison comparison;
  comparison.differences = {{kHostileName, kHostileName, ""}};
  comparison.cases = {{kHostileName, "not the same work"}};
  ComparedTests tests;
  tests.base.id = "20261115-ab3dE9";
  tests.base.name = kHostileName;
  tests.candidate = tests.base;
  tests.candidate.id = "20261116-ab3dE9";
  tests.changes.sides = {comparison};
  const std::string page = comparison_page(tests).body;
  testing::expect_sound_page(page, "/");
  EXPECT_TRUE(has(page, "not compared"));
  EXPECT_TRUE(has(page, "/compare?base=20261116-ab3dE9&amp;new=20261115-ab3dE9"));
  EXPECT_FALSE(has(page, "<script"));
  EXPECT_EQ(comparison_json(tests)["tests"]["base"], tests.base.id);
}

}  // namespace
}  // namespace assay::tester
