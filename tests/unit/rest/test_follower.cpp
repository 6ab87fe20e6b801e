#include <atomic>
#include <mutex>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "eventually.h"
#include "rest/follower.h"

namespace assay::rest {
namespace {

struct Reader : serve::HttpStream {
  bool write(std::string_view bytes) override {
    const std::scoped_lock lock(mutex);
    if (over) return false;
    text += bytes;
    return true;
  }
  [[nodiscard]] std::size_t room() const override { return space; }
  [[nodiscard]] bool gone() const override { return over; }
  void end() override { over = true; }
  std::string seen() {
    const std::scoped_lock lock(mutex);
    return text;
  }
  std::mutex mutex;
  std::string text;
  std::atomic<std::size_t> space = serve::kStreamBuffer;
  std::atomic<bool> over = false;
};

TEST(FollowerTest, WritesWhatIsNewUntilItIsOver) {
  Follower follower(std::chrono::milliseconds(1));
  const auto reader = std::make_shared<Reader>();
  follower.add(reader, [n = 0](std::size_t) mutable -> std::optional<std::string> {
    ++n;
    if (n == 2) return "";
    if (n > 3) return std::nullopt;
    return std::to_string(n);
  });
  EXPECT_TRUE(testing::eventually([&] { return reader->over.load(); }));
  EXPECT_EQ(reader->seen(), "13");
}

TEST(FollowerTest, WaitsForASlowReader) {
  Follower follower(std::chrono::milliseconds(1));
  const auto slow = std::make_shared<Reader>();
  slow->space = 0;
  std::atomic<int> asked = 0;
  follower.add(slow, [&](std::size_t) -> std::optional<std::string> {
    ++asked;
    return "x";
  });
  const auto fast = std::make_shared<Reader>();
  follower.add(fast, [](std::size_t) { return std::optional<std::string>("x"); });
  EXPECT_TRUE(testing::eventually([&] { return fast->seen().size() > 5; }));
  EXPECT_EQ(asked, 0);
  slow->space = serve::kStreamBuffer;
  EXPECT_TRUE(testing::eventually([&] { return asked > 0; }));
}

TEST(FollowerTest, AnErrorEndsItsStreamAlone) {
  Follower follower(std::chrono::milliseconds(1));
  const auto broken = std::make_shared<Reader>();
  const auto other = std::make_shared<Reader>();
  follower.add(broken, [](std::size_t) -> std::optional<std::string> {
    throw std::runtime_error("the run is gone");
  });
  follower.add(other, [](std::size_t) { return std::optional<std::string>("x"); });
  EXPECT_TRUE(testing::eventually([&] { return broken->over && other->seen().size() > 3; }));
  EXPECT_FALSE(other->over);
}

}  // namespace
}  // namespace assay::rest
