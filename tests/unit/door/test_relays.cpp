#include <array>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "door/relays.h"

namespace assay::door {
namespace {

constexpr Relays::Pace kQuick{.look_every = std::chrono::milliseconds(1),
                              .ask_every = std::chrono::milliseconds(1)};

struct Sockets {
  Sockets() {
    std::array<int, 2> both{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, both.data()), 0);
    near.reset(both[0]);
    far.reset(both[1]);
  }
  UniqueFd near;  ///< the door's
  UniqueFd far;   ///< somebody else's
};

/// A line, seen from both of its ends.
struct Ends {
  Ends(Relays& relays, Relays::Terms terms) {
    relays.join(std::move(outside.near), {.stream = std::move(inside.near)}, std::move(terms),
                "hello ");
  }
  /// What comes out of the line for its peer until it says that; "" where it is cut before.
  std::string hear(const std::string& last) {
    std::string heard;
    while (!heard.ends_with(last)) {
      pollfd one{outside.far.get(), POLLIN, 0};
      std::array<char, 256> buffer{};
      if (::poll(&one, 1, 60'000) != 1) return "nothing came";
      const ssize_t n = ::read(outside.far.get(), buffer.data(), buffer.size());
      if (n <= 0) return "";
      heard.append(buffer.data(), static_cast<std::size_t>(n));
    }
    return heard;
  }
  void say(const std::string& text) {
    ASSERT_EQ(::write(inside.far.get(), text.data(), text.size()),
              static_cast<ssize_t>(text.size()));
  }
  Sockets outside;
  Sockets inside;
};

/// An answer that somebody waits for.
class Slow {
 public:
  bool wait() {
    std::unique_lock lock(mutex_);
    asked_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return answered_; });
    return false;
  }
  void wait_until_asked() {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, std::chrono::seconds(60), [this] { return asked_; }));
  }
  void answer() {
    const std::lock_guard guard(mutex_);
    answered_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool asked_ = false;
  bool answered_ = false;
};

TEST(Relays, CarryEverybodysBytesWhileOneIsAskedFor) {
  Slow slow;
  Relays relays(kQuick);
  Ends held(relays, {"ann", [&] { return slow.wait(); }});
  slow.wait_until_asked();
  Ends other(relays, {"bob", [] { return true; }});
  other.say("one");
  EXPECT_EQ(other.hear("one"), "hello one");
  held.say("two");
  EXPECT_EQ(held.hear("two"), "hello two") << "until it is known that she may not";
  slow.answer();
  EXPECT_EQ(held.hear("the end"), "");
  other.say("three");
  EXPECT_EQ(other.hear("three"), "three");
}

TEST(Relays, AreCutWhereItCannotBeAsked) {
  Relays relays(kQuick);
  Ends line(relays, {"ann", []() -> bool { throw std::runtime_error("no memory"); }});
  EXPECT_EQ(line.hear("the end"), "");
}

TEST(Relays, EndWhileOneIsAskedFor) {
  Slow slow;
  std::optional<Relays> relays(std::in_place, kQuick);
  Ends line(*relays, {"ann", [&] { return slow.wait(); }});
  slow.wait_until_asked();
  slow.answer();
  relays.reset();
  EXPECT_EQ(line.hear("the end"), "");
}

/// What a browser gets where an application answers with that.
std::string passed_on(const std::string& answer, bool knows_chunks = true) {
  Relays relays(kQuick);
  Sockets outside;
  Sockets inside;
  relays.exchange(std::move(outside.near), {.stream = std::move(inside.near)}, {},
                  {.method = "GET",
                   .bytes = "GET / HTTP/1.1\r\n\r\n",
                   .knows_chunks = knows_chunks,
                   .refuse = [](int status, const std::string& words) {
                     return std::to_string(status) + " " + words;
                   }});
  EXPECT_EQ(::write(inside.far.get(), answer.data(), answer.size()),
            static_cast<ssize_t>(answer.size()));
  ::shutdown(inside.far.get(), SHUT_WR);
  std::string heard;
  while (true) {
    pollfd one{outside.far.get(), POLLIN, 0};
    std::array<char, 4096> buffer{};
    if (::poll(&one, 1, 60'000) != 1) return "nothing came";
    const ssize_t n = ::read(outside.far.get(), buffer.data(), buffer.size());
    if (n <= 0) return heard;
    heard.append(buffer.data(), static_cast<std::size_t>(n));
  }
}

TEST(Relays, DoNotPassOnAHeadThatIsTooLong) {
  const auto answer = [](std::size_t length) {
    return "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX: " + std::string(length, 'x') + "\r\n\r\nhi";
  };
  EXPECT_TRUE(passed_on(answer(60'000)).ends_with("\r\n\r\nhi"));
  EXPECT_EQ(passed_on(answer(70'000)), "502 the head of its answer is too long");
}

TEST(Relays, DoNotPassOnChunksToWhoDoesNotKnowThem) {
  EXPECT_EQ(
      passed_on("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n", false),
      "502 it answers in chunks, which HTTP/1.0 does not know");
  EXPECT_TRUE(passed_on("HTTP/1.0 200 OK\r\n\r\nhi", false).ends_with("\r\n\r\nhi"));
}

TEST(Relays, DoNotPassOnTrailers) {
  const std::string heard = passed_on(
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n"
      "Set-Cookie: assay_door=evil\r\n\r\n");
  EXPECT_TRUE(heard.ends_with("2\r\nhi\r\n0\r\n\r\n")) << heard;
}

}  // namespace
}  // namespace assay::door
