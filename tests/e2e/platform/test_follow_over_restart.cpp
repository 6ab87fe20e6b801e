// Somebody follows a job while its server ends and begins again.

#include <chrono>
#include <sstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/files.h"
#include "core/text.h"
#include "e2e/platform/platform_test.h"

namespace assay::e2e {
namespace {

class FollowOverRestart : public PlatformTest {
 protected:
  [[nodiscard]] std::vector<std::string> server_options() const override {
    if (address_.empty()) return {};
    return {"--listen", address_};
  }
  /// What the server is started again at, where whoever follows looks for it.
  void keep_address() { address_ = url().substr(url().find("//") + 2); }
  /// Both ranks have said so, to whoever follows.
  [[nodiscard]] bool both_said(const std::string& text) const {
    return eventually(
        [&] {
          const std::string said = read_file_or_empty(folder_ / "assay.log");
          return said.find("[0] " + text + "\n") != std::string::npos &&
                 said.find("[1] " + text + "\n") != std::string::npos;
        },
        std::chrono::seconds(120));
  }
  [[nodiscard]] std::vector<std::string> lines_of(int rank) const {
    std::vector<std::string> out;
    std::istringstream said(read_file_or_empty(folder_ / "assay.log"));
    const std::string who = fmt::format("[{}] ", rank);
    for (std::string line; std::getline(said, line);)
      if (line.starts_with(who)) out.push_back(line.substr(who.size()));
    return out;
  }

 private:
  std::string address_;
};

TEST_F(FollowOverRestart, EveryLineOfEveryRankComesOnce) {
  const std::string folder = folder_.string();
  const std::string ticks =
      "for i in 1 2 3; do echo {0} $i; done; until [ -e {1}/{2} ]; do sleep "
      "0.1; done; ";
  const long id =
      submit({"--procs", "2", "--command",
              fmt::format(fmt::runtime(ticks), "one", folder, "killed") +
                  fmt::format(fmt::runtime(ticks), "two", folder, "stopped") + "echo the end"});
  keep_address();
  const pid_t follower = start({"job", std::to_string(id), "--logs", "-f"});
  ASSERT_TRUE(both_said("one 3")) << read_file_or_empty(folder_ / "assay.log");
  kill_server();
  write("killed", "");
  start_server();
  ASSERT_TRUE(both_said("two 3")) << read_file_or_empty(folder_ / "assay.log");
  stop_server();
  write("stopped", "");
  start_server();
  EXPECT_TRUE(becomes(id, "finished"));
  const auto status = wait(follower, std::chrono::seconds(60));
  ASSERT_TRUE(status);
  EXPECT_EQ(status->code, 0);
  for (const int rank : {0, 1})
    EXPECT_THAT(lines_of(rank), ::testing::ElementsAre("one 1", "one 2", "one 3", "two 1", "two 2",
                                                       "two 3", "the end"))
        << "rank " << rank << ": " << read_file_or_empty(folder_ / "assay.log");
}

}  // namespace
}  // namespace assay::e2e
