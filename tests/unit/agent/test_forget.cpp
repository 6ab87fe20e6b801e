// An agent is told to remove what it has kept for a round.

#include <array>
#include <thread>

#include <asio/io_context.hpp>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/messages.h"
#include "agent/protocol.h"
#include "core/files.h"
#include "core/json.h"
#include "temporary_folder.h"

namespace assay::agent {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class ForgetTest : public ::testing::Test {
 protected:
  // What the agent says to these requests, which it reads at once: so many messages, and then its
  // controller is gone. 0: it is gone with the requests.
  std::vector<Json> answers_to(const std::vector<Request>& requests, std::size_t messages) {
    std::array<int, 2> in{};
    std::array<int, 2> out{};
    EXPECT_EQ(::pipe2(in.data(), O_CLOEXEC), 0);
    EXPECT_EQ(::pipe2(out.data(), O_CLOEXEC), 0);
    UniqueFd to_agent(in[1]);
    const UniqueFd from_agent(out[0]);
    Encoder encoder;
    std::string bytes;
    for (const Request& request : requests) bytes += encoder.encode(0, to_json(request));
    EXPECT_EQ(::write(in[1], bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    if (messages == 0) to_agent.reset();
    const std::jthread agents_thread([&] {
      asio::io_context loop(1);
      Agent agent(loop, 0, in[0], out[1]);
      agent.start();
      loop.run();
    });
    std::vector<Json> heard;
    Decoder decoder([&](int, const Json& message) { heard.push_back(message); });
    std::array<char, 65536> buffer{};
    for (ssize_t n = 0; (n = ::read(out[0], buffer.data(), buffer.size())) > 0;) {
      decoder.feed({buffer.data(), static_cast<std::size_t>(n)});
      if (heard.size() >= messages) to_agent.reset();
    }
    return heard;
  }
  fs::path round(const std::string& name) const {
    const fs::path folder = folder_.path() / "runs" / name;
    for (int i = 0; i < 100; ++i) {
      fs::create_directories(folder / std::to_string(i));
      write_file_atomic(folder / std::to_string(i) / "rank0.out.log", "x", false);
    }
    return folder;
  }
  testing::TemporaryFolder folder_;
};

TEST_F(ForgetTest, IsDoneBeforeTheAgentEndsHoweverSoonThatIs) {
  const fs::path first = round("first");
  const fs::path second = round("second");
  (void)answers_to({ForgetRequest{first}, ForgetRequest{second}, Bye{}}, 0);
  EXPECT_FALSE(fs::exists(first));
  EXPECT_FALSE(fs::exists(second));
}

TEST_F(ForgetTest, WhatIsAskedAfterItIsAnsweredAfterIt) {
  const fs::path first = round("first");
  const std::vector<Json> heard =
      answers_to({ForgetRequest{first}, ForgetRequest{"/etc"}, ClockRequest{}}, 3);
  ASSERT_EQ(heard.size(), 3U) << "the greeting, a refusal, the clock";
  EXPECT_THAT(dump_line(heard[1]), HasSubstr("not a folder of a run"));
  EXPECT_THAT(dump_line(heard[2]), HasSubstr("clock"));
  EXPECT_FALSE(fs::exists(first));
}

}  // namespace
}  // namespace assay::agent
