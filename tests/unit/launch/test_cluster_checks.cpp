// What is made of the nodes' answers in `assay check`.

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launch/agents/clock_offset.h"
#include "launch/agents/cluster_checks.h"
#include "launch/agents/preflight_text.h"

namespace assay::launch {
namespace {

using probe::Check;
using probe::Level;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using namespace std::chrono_literals;

/// A link with delays of its own in each direction, to a node whose clock is off by `offset_ns`.
ClockExchange exchange(std::int64_t offset_ns, std::int64_t there_ns, std::int64_t back_ns) {
  const Instant sent{5'000'000'000, 1'790'000'000'000'000'000};
  return {sent, sent.wall_ns + there_ns + offset_ns, sent.mono_ns + there_ns + back_ns};
}

TEST(ClockOffsets, LieWithinTheirUncertaintyWhateverTheDelays) {
  std::mt19937_64 random(7);
  std::uniform_int_distribution<std::int64_t> delay(10'000, 400'000'000);
  std::uniform_int_distribution<std::int64_t> off(-7'200'000'000'000, 7'200'000'000'000);
  for (int i = 0; i < 1000; ++i) {
    const std::int64_t truth = off(random);
    std::vector<ClockExchange> list;
    std::int64_t shortest = std::numeric_limits<std::int64_t>::max();
    for (int k = 0; k < 5; ++k) {
      const std::int64_t there = delay(random);
      const std::int64_t back = delay(random);
      shortest = std::min(shortest, there + back);
      list.push_back(exchange(truth, there, back));
    }
    const ClockOffset offset = estimate_offset(list).value();
    EXPECT_EQ(offset.uncertainty.count(), shortest / 2);
    EXPECT_LE(std::abs(offset.offset.count() - truth), offset.uncertainty.count() + 1);
  }
}

TEST(ClockOffsets, AreUnknownWithoutAnAnswer) {
  EXPECT_FALSE(estimate_offset({}));
}

TEST(ClockOffsets, AreJudgedBeyondTheirUncertainty) {
  EXPECT_EQ(check_offset({100ms, 1ms, 5}).level, Level::pass);
  EXPECT_EQ(check_offset({102ms, 1ms, 5}).level, Level::warn);
  EXPECT_EQ(check_offset({-102ms, 1ms, 5}).level, Level::warn);
  EXPECT_EQ(check_offset({400ms, 350ms, 5}).level, Level::pass);
  EXPECT_EQ(check_offset({1000ms, 1ms, 5}).level, Level::warn);
  const Check hour = check_offset({-1h, 2ms, 5});
  EXPECT_EQ(hour.level, Level::fail);
  EXPECT_EQ(hour.seen, "1 h 00 min behind the controller's clock, ± 2 ms");
  EXPECT_THAT(hour.advice, HasSubstr("chrony"));
}

TEST(Majority, IsTheMostFrequentAndThenTheFirst) {
  EXPECT_EQ(majority({{0, "a"}, {1, "b"}, {2, "b"}}), "b");
  EXPECT_EQ(majority({{0, "b"}, {1, "a"}}), "b");
  EXPECT_EQ(majority({}), "");
}

Json machine(const std::string& kernel, double memory, int cores = 8) {
  return {{"os", "Debian 12"},
          {"kernel", kernel},
          {"cpu", {{"model", "Xeon"}, {"cores", cores}, {"threads", 2 * cores}}},
          {"memory", {{"total_bytes", memory}}},
          {"devices", Json::array({{{"index", "0"}, {"name", "H200"}}})}};
}

TEST(Machines, ThatDifferFromMostAreNamedWithWhatDiffers) {
  const auto checks = compare_systems(
      {{0, machine("6.1", 64e9)}, {1, machine("6.2", 64e9, 4)}, {2, machine("6.1", 64.5e9)}});
  EXPECT_EQ(checks.at(0).level, Level::pass) << checks.at(0).seen;
  EXPECT_EQ(checks.at(2).level, Level::pass) << checks.at(2).seen;
  EXPECT_EQ(checks.at(1).level, Level::warn);
  EXPECT_EQ(checks.at(1).seen,
            "CPU cores 4 (others: 8); CPU threads 8 (others: 16); kernel 6.2 (others: 6.1)");
}

TEST(Machines, WithOtherMemoryOrDevicesAreNamed) {
  Json fewer = machine("6.1", 32e9);
  fewer["devices"] = Json::array();
  const auto checks =
      compare_systems({{0, machine("6.1", 64e9)}, {1, machine("6.1", 64e9)}, {2, fewer}});
  EXPECT_THAT(checks.at(2).seen, HasSubstr("devices none (others: 1 × H200)"));
  EXPECT_THAT(checks.at(2).seen, HasSubstr("memory 29.80 GiB (others: 59.60 GiB)"));
}

probe::Listing listing(const std::string& hash, std::uint64_t entries = 3) {
  probe::Listing out;
  out.path = "/data";
  out.hash = hash;
  out.entries = entries;
  out.bytes = 100;
  return out;
}

const std::vector<std::string> kHosts{"n1", "n2", "n3"};

TEST(Data, ThatDifferFromMostFailAndAreNamed) {
  const auto checks =
      compare_listings({{0, {listing("x")}}, {1, {listing("y", 2)}}, {2, {listing("x")}}}, kHosts);
  EXPECT_EQ(checks.at(0).level, Level::pass);
  EXPECT_EQ(checks.at(1).level, Level::fail);
  EXPECT_EQ(checks.at(1).seen, "/data: 2 entries, 100 B, but 3 entries, 100 B on n1");
  EXPECT_EQ(checks.at(2).level, Level::pass);
}

TEST(Data, ThatAreMissingFailWhereTheyAre) {
  probe::Listing missing = listing("");
  missing.problem = "it does not exist";
  const auto checks = compare_listings({{0, {listing("x")}}, {1, {missing}}}, kHosts);
  EXPECT_EQ(checks.at(0).level, Level::pass);
  EXPECT_EQ(checks.at(1).seen, "/data: it does not exist");
}

TEST(Data, WhoseListingTookTooLongAreNotCompared) {
  probe::Listing slow = listing("z");
  slow.complete = slow.comparable = false;
  const auto checks = compare_listings({{0, {listing("x")}}, {1, {slow}}}, kHosts);
  EXPECT_EQ(checks.at(0).level, Level::pass);
  EXPECT_EQ(checks.at(1).level, Level::warn);
}

TEST(Connections, AreTriedBetweenAllPairsOfFewNodes) {
  const auto plan = connection_plan({0, 2, 5});
  EXPECT_THAT(plan.at(0), ElementsAre(2, 5));
  EXPECT_THAT(plan.at(2), ElementsAre(0, 5));
  EXPECT_THAT(plan.at(5), ElementsAre(0, 2));
  EXPECT_TRUE(connection_plan({0}).empty());
}

TEST(Connections, AreARingAndAStarForManyNodes) {
  std::vector<int> nodes;
  for (int i = 0; i < 40; ++i) nodes.push_back(i);
  const auto plan = connection_plan(nodes);
  EXPECT_EQ(plan.at(0).size(), 39U);
  EXPECT_THAT(plan.at(7), ElementsAre(0, 8));
  EXPECT_THAT(plan.at(39), ElementsAre(0));
}

TEST(Connections, ThatFailNameBothEnds) {
  const auto checks =
      check_connections({{0, {{1, ""}, {2, ""}}}, {1, {{0, ""}, {2, "timed out"}}}}, kHosts);
  EXPECT_EQ(checks.at(0).level, Level::pass);
  EXPECT_EQ(checks.at(0).seen, "reaches 2 others over TCP");
  EXPECT_EQ(checks.at(1).level, Level::fail);
  EXPECT_EQ(checks.at(1).seen, "n2 → n3: timed out");
}

std::vector<NodeChecks> two_hosts() {
  return {{0,
           "n1",
           {{"reach", Level::pass, "ok", ""},
            {"load", Level::warn, "load 9", "wait"},
            {"disk", Level::pass, "big", ""}}},
          {1,
           "node2",
           {
               {"reach", Level::fail, "refused", "look"},
           }},
          {2,
           "n3",
           {{"reach", Level::pass, "ok", ""},
            {"load", Level::warn, "load 9", "wait"},
            {"disk", Level::pass, "big", ""}}}};
}

TEST(CheckTable, HasARowAHostAndAColumnACheck) {
  EXPECT_EQ(render_checks(two_hosts(), {false, 100}),
            "host   all   reach  load\n"
            "n1     WARN  PASS   WARN\n"
            "node2  FAIL  FAIL   –\n"
            "n3     WARN  PASS   WARN\n"
            "PASS wherever asked: disk\n"
            "\n"
            "FAIL  reach  node2: refused\n"
            "             → look\n"
            "WARN  load   n1, n3: load 9\n"
            "             → wait\n");
}

TEST(CheckTable, NamesInOneLineWhatPassedWhereverItWasAsked) {
  std::vector<NodeChecks> nodes = two_hosts();
  nodes.erase(nodes.begin() + 1);
  EXPECT_THAT(render_checks(nodes, {false, 100}), HasSubstr("PASS wherever asked: reach, disk\n"));
}

TEST(CheckTable, GoesOnBelowWhenItIsTooWide) {
  const std::string text = render_checks(two_hosts(), {false, 20});
  EXPECT_THAT(text, HasSubstr("host   all   reach\nn1     WARN  PASS\n"));
  EXPECT_THAT(text, HasSubstr("\n\nhost   load\nn1     WARN\n"));
}

TEST(CheckTable, HasColoursOnlyWhereTheyAreWanted) {
  EXPECT_THAT(render_checks(two_hosts(), {false, 100}), Not(HasSubstr("\x1b")));
  EXPECT_THAT(render_checks(two_hosts(), {true, 100}), HasSubstr("\x1b[31mFAIL\x1b[0m"));
}

TEST(CheckTable, OfOneHostIsItsChecksInFull) {
  EXPECT_EQ(render_checks({two_hosts().front()}, {false, 100}),
            "n1\n"
            "PASS  reach  ok\n"
            "WARN  load   load 9\n"
            "             → wait\n"
            "PASS  disk   big\n");
}

TEST(CheckJson, HasTheWorstLevelAndTheClockOfEveryHost) {
  std::vector<NodeChecks> nodes = two_hosts();
  nodes[0].clock = ClockOffset{-1500ms, 1ms, 5};
  const Json json = to_json(nodes);
  EXPECT_EQ(json[0]["level"], "WARN");
  EXPECT_DOUBLE_EQ(json[0]["clock"]["offset_s"].get<double>(), -1.5);
  EXPECT_EQ(json[1]["level"], "FAIL");
  EXPECT_FALSE(json[1].contains("clock"));
  EXPECT_EQ(json[2]["checks"].size(), 3U);
}

}  // namespace
}  // namespace assay::launch
