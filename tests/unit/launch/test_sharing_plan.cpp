#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launch/agents/sharing_plan.h"

namespace assay::launch {
namespace {

using agent::FetchFault;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Key;
using ::testing::Pair;
using Order = SharingPlan::Order;
using Kind = SharingPlan::Notice::Kind;
constexpr int kC = SharingPlan::kController;

/// Lets everything that is ordered arrive, step by step; gives the orders by the controller and
/// the number of steps.
struct Played {
  int by_controller = 0;
  int by_hosts = 0;
  int steps = 0;
};

Played play(SharingPlan& plan) {
  Played out;
  for (; !plan.done() && out.steps < 1000; ++out.steps) {
    const std::vector<Order> orders = plan.next();
    for (const Order& order : orders) ++(order.from == kC ? out.by_controller : out.by_hosts);
    for (const Order& order : orders) plan.arrived(order.to, true);
  }
  return out;
}

std::set<int> nodes(int count) {
  std::set<int> out;
  for (int i = 0; i < count; ++i) out.insert(i);
  return out;
}

TEST(SharingPlan, TheFileLeavesTheControllerOnceAndHostsThatHaveItPassItOn) {
  SharingPlan plan(nodes(64));
  const Played played = play(plan);
  EXPECT_EQ(played.by_controller, 1);
  EXPECT_EQ(played.by_hosts, 63);
  // Each step every holder serves two others: 1, 3, 9, 27, 64.
  EXPECT_EQ(played.steps, 5);
  EXPECT_THAT(plan.given_up(), IsEmpty());
}

TEST(SharingPlan, WhileNobodyHasItOneHostGetsItAndTheOthersWait) {
  SharingPlan plan(nodes(3));
  EXPECT_THAT(plan.next(), ElementsAre(Order{0, kC}));
  EXPECT_THAT(plan.next(), IsEmpty());
  plan.arrived(0, true);
  EXPECT_THAT(plan.next(), ElementsAre(Order{1, 0}, Order{2, 0}));
}

TEST(SharingPlan, AHolderServesTwoAtATimeAndTheLeastBusyIsTaken) {
  SharingPlan plan(nodes(6));
  (void)plan.next();
  plan.arrived(0, true);
  EXPECT_THAT(plan.next(), ElementsAre(Order{1, 0}, Order{2, 0}));
  EXPECT_THAT(plan.next(), IsEmpty()) << "the others wait for somebody to be free";
  plan.arrived(1, true);
  EXPECT_THAT(plan.next(), ElementsAre(Order{3, 1}, Order{4, 0}, Order{5, 1}));
}

TEST(SharingPlan, AnotherHostIsTheFirstWhenTheFirstFailsOrIsLost) {
  SharingPlan plan(nodes(3));
  (void)plan.next();
  plan.lost(0, "its connection ended");
  EXPECT_THAT(plan.next(), ElementsAre(Order{1, kC}));
  plan.failed(1, FetchFault::own, "disk full");
  EXPECT_THAT(plan.next(), ElementsAre(Order{1, kC})) << "what broke is taken up once";
  plan.failed(1, FetchFault::own, "disk full");
  EXPECT_THAT(plan.next(), ElementsAre(Order{2, kC}));
  plan.arrived(2, true);
  EXPECT_TRUE(plan.done());
  EXPECT_THAT(plan.given_up(), ElementsAre(Pair(0, "its connection ended"), Pair(1, "disk full")));
}

TEST(SharingPlan, WhoServedDamagedBytesServesNobodyAnyMoreAndIsNamed) {
  SharingPlan plan(nodes(4));
  (void)plan.next();
  plan.arrived(0, true);
  EXPECT_THAT(plan.next(), ElementsAre(Order{1, 0}, Order{2, 0}));
  plan.arrived(2, true);
  EXPECT_THAT(plan.next(), ElementsAre(Order{3, 2}));
  plan.failed(1, FetchFault::damaged, "another hash");
  const auto notices = plan.take_notices();
  ASSERT_EQ(notices.size(), 1u);
  EXPECT_EQ(notices[0].kind, Kind::damaged);
  EXPECT_EQ(notices[0].source, 0);
  EXPECT_EQ(notices[0].told_by, 1);
  EXPECT_THAT(plan.next(), ElementsAre(Order{1, 2})) << "though 0 is idle";
  EXPECT_THAT(plan.take_notices(), IsEmpty());
}

TEST(SharingPlan, TheOnlyHolderIsDamagedTheControllerSendsAgain) {
  SharingPlan plan(nodes(3));
  (void)plan.next();
  plan.arrived(0, true);
  (void)plan.next();
  plan.failed(1, FetchFault::damaged, "another hash");
  EXPECT_THAT(plan.next(), IsEmpty()) << "2 may still get it";
  plan.failed(2, FetchFault::damaged, "another hash");
  EXPECT_THAT(plan.next(), ElementsAre(Order{1, kC})) << "one, who passes it on";
  plan.arrived(1, true);
  EXPECT_THAT(plan.next(), ElementsAre(Order{2, 1}));
}

TEST(SharingPlan, AHostThatNobodyReachesIsNoSourceAndGetsTheFileAllTheSame) {
  SharingPlan plan(nodes(5));
  (void)plan.next();
  plan.arrived(0, true);
  EXPECT_THAT(plan.next(), ElementsAre(Order{1, 0}, Order{2, 0}));
  plan.arrived(1, true);
  plan.arrived(2, true);
  EXPECT_THAT(plan.next(), ElementsAre(Order{3, 0}, Order{4, 1}));
  plan.failed(4, FetchFault::unreachable, "timed out");
  EXPECT_THAT(plan.take_notices(), IsEmpty()) << "one pair says little";
  EXPECT_THAT(plan.next(), ElementsAre(Order{4, 2}));
  plan.arrived(3, true);
  plan.arrived(4, true);
  EXPECT_TRUE(plan.done());
}

TEST(SharingPlan, AHostThatTwoSourcesFailedGetsItFromTheController) {
  SharingPlan plan(nodes(4));
  (void)plan.next();
  plan.arrived(0, true);
  (void)plan.next();
  plan.arrived(1, true);
  plan.arrived(2, true);
  EXPECT_THAT(plan.next(), ElementsAre(Order{3, 0}));
  plan.failed(3, FetchFault::unreachable, "timed out");
  EXPECT_THAT(plan.next(), ElementsAre(Order{3, 1}));
  plan.failed(3, FetchFault::unreachable, "timed out");
  EXPECT_THAT(plan.next(), ElementsAre(Order{3, kC}));
  EXPECT_THAT(plan.take_notices(), IsEmpty()) << "0 and 1 serve others";
  plan.arrived(3, true);
  EXPECT_TRUE(plan.done());
}

TEST(SharingPlan, HostsThatDoNotReachEachOtherAllGetItFromTheControllerAFewAtATime) {
  SharingPlan plan(nodes(8));
  int uploads = 0;
  int attempts = 0;
  for (int step = 0; step < 50 && !plan.done(); ++step) {
    int at_once = 0;
    for (const Order& order : plan.next()) {
      if (order.from == kC) {
        ++uploads;
        ++at_once;
        plan.arrived(order.to, true);
      } else {
        ++attempts;
        plan.failed(order.to, FetchFault::unreachable, "timed out");
      }
    }
    EXPECT_LE(at_once, SharingPlan::kByController);
  }
  EXPECT_TRUE(plan.done());
  EXPECT_EQ(uploads, 8);
  EXPECT_LE(attempts, SharingPlan::kUnreachable + 1) << "then it is known";
  EXPECT_THAT(plan.given_up(), IsEmpty());
  const auto notices = plan.take_notices();
  ASSERT_FALSE(notices.empty());
  EXPECT_EQ(notices.back().kind, Kind::apart);
}

TEST(SharingPlan, OneHostThatNobodyReachesDoesNotKeepTheOthersApart) {
  SharingPlan plan(nodes(6));
  int uploads = 0;
  for (int step = 0; step < 50 && !plan.done(); ++step)
    for (const Order& order : plan.next()) {
      uploads += order.from == kC ? 1 : 0;
      if (order.from == 0)
        plan.failed(order.to, FetchFault::unreachable, "timed out");
      else
        plan.arrived(order.to, true);
    }
  EXPECT_TRUE(plan.done());
  EXPECT_EQ(uploads, 2);
  const auto notices = plan.take_notices();
  ASSERT_EQ(notices.size(), 1u);
  EXPECT_EQ(notices[0].kind, Kind::unreachable);
  EXPECT_EQ(notices[0].source, 0);
}

TEST(SharingPlan, TroubleOfItsOwnIsNoFaultOfTheSource) {
  SharingPlan plan(nodes(3));
  (void)plan.next();
  plan.arrived(0, true);
  (void)plan.next();
  plan.failed(1, FetchFault::own, "No space left on device");
  EXPECT_THAT(plan.take_notices(), IsEmpty());
  EXPECT_THAT(plan.next(), ElementsAre(Order{1, kC})) << "whose start says what is wrong there";
}

TEST(SharingPlan, ALateWordOfANodeThatIsOutChangesNothing) {
  SharingPlan plan(nodes(2));
  (void)plan.next();
  plan.lost(0, "gone");
  plan.arrived(0, true);
  plan.failed(0, FetchFault::broken, "late");
  plan.lost(0, "again");
  EXPECT_THAT(plan.next(), ElementsAre(Order{1, kC}));
  plan.arrived(1, true);
  plan.arrived(1, true);
  EXPECT_TRUE(plan.done());
  EXPECT_THAT(plan.given_up(), ElementsAre(Pair(0, "gone")));
}

// Whatever happens, everybody is served or given up after a bounded number of orders.
TEST(SharingPlan, EndsUnderAnyFaults) {
  for (unsigned seed = 1; seed <= 300; ++seed) {
    unsigned state = seed;
    const auto random = [&](unsigned below) {
      state = state * 1664525 + 1013904223;
      return (state >> 16) % below;
    };
    const int count = 1 + static_cast<int>(random(20));
    SharingPlan plan(nodes(count));
    std::vector<Order> running;
    int orders = 0;
    while (!plan.done()) {
      for (const Order& order : plan.next()) {
        running.push_back(order);
        ++orders;
      }
      ASSERT_FALSE(running.empty()) << "it waits for nothing, seed " << seed;
      ASSERT_LT(orders, count * 10);
      const auto at = running.begin() + random(static_cast<unsigned>(running.size()));
      const Order order = *at;
      running.erase(at);
      switch (random(8)) {
        case 0:
          plan.failed(order.to, FetchFault::damaged, "d");
          break;
        case 1:
          plan.failed(order.to, FetchFault::unreachable, "u");
          break;
        case 2:
          plan.failed(order.to, FetchFault::broken, "b");
          break;
        case 3:
          plan.failed(order.to, FetchFault::own, "o");
          break;
        case 4:
          plan.lost(order.to, "l");
          break;
        default:
          plan.arrived(order.to, random(4) != 0);
      }
    }
  }
}

}  // namespace
}  // namespace assay::launch
