#include <array>
#include <string>
#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/files.h"
#include "door/body_end.h"
#include "door/splice_pipe.h"

namespace assay::door {
namespace {

using Step = SplicePipe::Step;

struct Pair {
  Pair() {
    std::array<int, 2> both{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, both.data()), 0);
    near.reset(both[0]);
    far.reset(both[1]);
  }
  UniqueFd near;  ///< the door's
  UniqueFd far;   ///< somebody else's
};

void wait_for(const UniqueFd& fd, short what) {
  pollfd one{fd.get(), what, 0};
  ASSERT_EQ(::poll(&one, 1, 30'000), 1);
}

TEST(SplicePipe, CarriesEveryByteOfMoreThanItHolds) {
  Pair from;
  Pair to;
  std::string sent(5'000'000, ' ');
  for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<char>(i * 7919 % 251);
  std::jthread application([&] {
    for (std::size_t at = 0; at < sent.size();) {
      const ssize_t n = ::write(from.far.get(), sent.data() + at, sent.size() - at);
      if (n > 0)
        at += static_cast<std::size_t>(n);
      else
        wait_for(from.far, POLLOUT);
    }
    from.far.reset();
  });
  std::string got;
  std::jthread browser([&] {
    std::array<char, 100'000> buffer{};
    while (true) {
      wait_for(to.far, POLLIN);
      const ssize_t n = ::read(to.far.get(), buffer.data(), buffer.size());
      if (n <= 0) break;
      got.append(buffer.data(), static_cast<std::size_t>(n));
    }
  });
  SplicePipe pipe;
  for (Step step = Step::moved; step != Step::end;) {
    step = pipe.fill(from.near.get(), 1U << 30);
    ASSERT_NE(step, Step::refused);
    if (step == Step::wait) wait_for(from.near, POLLIN);
    while (pipe.held() > 0)
      if (pipe.empty(to.near.get()) == Step::wait) wait_for(to.near, POLLOUT);
  }
  to.near.reset();
  browser.join();
  EXPECT_EQ(got, sent);
}

TEST(SplicePipe, TakesNoMoreThanItIsAskedFor) {
  Pair from;
  ASSERT_EQ(::write(from.far.get(), "body, and more", 14), 14);
  SplicePipe pipe;
  EXPECT_EQ(pipe.fill(from.near.get(), 4), Step::moved);
  EXPECT_EQ(pipe.held(), 4U);
  std::array<char, 20> rest{};
  EXPECT_EQ(::read(from.near.get(), rest.data(), rest.size()), 10);
}

TEST(SplicePipe, SaysWhenThereIsNothingAndWhenThereWillBeNothing) {
  Pair from;
  SplicePipe pipe;
  EXPECT_EQ(pipe.fill(from.near.get(), 100), Step::wait);
  from.far.reset();
  EXPECT_EQ(pipe.fill(from.near.get(), 100), Step::end);
  EXPECT_EQ(pipe.held(), 0U);
}

TEST(SplicePipe, RefusesWhatTheKernelDoesNotConnect) {
  const UniqueFd folder(::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  SplicePipe pipe;
  EXPECT_NE(pipe.fill(folder.get(), 100), Step::moved);
  EXPECT_EQ(pipe.held(), 0U);
}

TEST(BodyEnd, KnowsHowMuchNobodyHasToLookAt) {
  BodyEnd length(BodyEnd::Kind::length, 10);
  EXPECT_EQ(length.unseen(), 10U);
  EXPECT_EQ(length.feed("abc"), 3U);
  EXPECT_EQ(length.unseen(), 7U);
  length.skip(7);
  EXPECT_TRUE(length.done());

  BodyEnd chunks(BodyEnd::Kind::chunked);
  EXPECT_EQ(chunks.unseen(), 0U) << "the size of the chunk is to be read";
  EXPECT_EQ(chunks.feed("5\r\nab"), 5U);
  EXPECT_EQ(chunks.unseen(), 3U);
  chunks.skip(3);
  EXPECT_EQ(chunks.unseen(), 0U);
  EXPECT_EQ(chunks.feed("\r\n0\r\n\r\nmore"), 5U);
  EXPECT_TRUE(chunks.done());
  EXPECT_EQ(chunks.unseen(), 0U);
}

}  // namespace
}  // namespace assay::door
