#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "core/error.h"
#include "engine/node_prober.h"
#include "eventually.h"

namespace assay::engine {
namespace {

using testing::eventually;

TEST(NodeProber, ANodeThatCannotBeAskedForWasNotReached) {
  std::atomic<int> asked = 0;
  std::atomic<bool> fails = false;
  const EmbeddedNode node{.name = "n1", .remote = true};
  NodeProber prober(
      {node},
      [&](const EmbeddedNode& /*node*/) -> bool {
        ++asked;
        if (fails) throw Error(ErrorKind::environment, "cannot start a process");
        return true;
      },
      std::chrono::milliseconds(1));
  ASSERT_TRUE(eventually([&] { return prober.available(node); }));
  fails = true;
  EXPECT_TRUE(eventually([&] { return !prober.available(node); }));
  fails = false;
  EXPECT_TRUE(eventually([&] { return prober.available(node); })) << asked;
}

/// Nodes that answer when they are told to. Fields are changed within set().
class Answers {
 public:
  bool ask(const std::string& node) {
    std::unique_lock lock(mutex_);
    const int number = ++asked_[node];
    changed_.notify_all();
    changed_.wait(lock, [&] {
      const auto last = answered_.find(node);
      return over_ || last == answered_.end() || number <= last->second;
    });
    return !over_ && !dead_.contains(node);
  }
  void set(const std::function<void(Answers&)>& change) {
    const std::lock_guard guard(mutex_);
    change(*this);
    changed_.notify_all();
  }
  bool was_asked(const std::string& node, int times) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(60), [&] { return asked_[node] >= times; });
  }
  std::map<std::string, int> answered_;  // how many questions are; of others all
  std::set<std::string> dead_;
  bool over_ = false;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, int> asked_;
};

TEST(NodeProber, OneThatDoesNotAnswerKeepsNoOtherWaiting) {
  Answers answers;
  answers.answered_ = {{"n1", 0}};
  const EmbeddedNode silent{.name = "n1", .remote = true};
  const EmbeddedNode other{.name = "n2", .remote = true};
  {
    NodeProber prober({silent, other},
                      [&](const EmbeddedNode& node) { return answers.ask(node.name); });
    EXPECT_TRUE(eventually([&] { return prober.available(other); }));
    EXPECT_FALSE(prober.available(silent));
    answers.set([](Answers& all) { all.over_ = true; });
  }
}

TEST(NodeProber, OneThatIsDoubtedIsGoneUntilItIsReachedAgain) {
  Answers answers;
  const EmbeddedNode node{.name = "n1", .remote = true};
  const EmbeddedNode other{.name = "n2", .remote = true};
  NodeProber prober({node, other}, [&](const EmbeddedNode& one) { return answers.ask(one.name); });
  ASSERT_TRUE(eventually([&] { return prober.available(node) && prober.available(other); }));
  answers.set([](Answers& all) { all.dead_ = {"n1"}; });
  prober.doubt("n1");
  EXPECT_FALSE(prober.available(node));
  EXPECT_TRUE(prober.available(other));
  // At once, and not after the pause.
  ASSERT_TRUE(answers.was_asked("n1", 2));
  EXPECT_FALSE(prober.available(node));
  answers.set([](Answers& all) { all.dead_.clear(); });
  prober.doubt("n1");
  EXPECT_TRUE(eventually([&] { return prober.available(node); }));
}

// It was on its way when the node was lost.
TEST(NodeProber, AnAnswerToAnEarlierQuestionDoesNotCount) {
  Answers answers;
  answers.answered_ = {{"n1", 0}};
  const EmbeddedNode node{.name = "n1", .remote = true};
  NodeProber prober({node}, [&](const EmbeddedNode& one) { return answers.ask(one.name); });
  EXPECT_TRUE(answers.was_asked("n1", 1));
  prober.doubt("n1");
  answers.set([](Answers& all) { all.answered_["n1"] = 1; });
  EXPECT_TRUE(answers.was_asked("n1", 2));
  EXPECT_FALSE(prober.available(node));
  answers.set([](Answers& all) { all.answered_.clear(); });
  EXPECT_TRUE(eventually([&] { return prober.available(node); }));
}

}  // namespace
}  // namespace assay::engine
