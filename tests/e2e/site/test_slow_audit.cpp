// A disk that hangs under the audit log.

#include <fstream>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/stat.h>

#include "core/files.h"
#include "core/text.h"
#include "e2e/tester/tester_process.h"
#include "eventually.h"

namespace assay::serve {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using ::testing::HasSubstr;

class SlowAudit : public TesterTest {
 protected:
  [[nodiscard]] std::string admin() const {
    return std::string(trim(read_file(data_ / "admin.token")));
  }
  // Who renames the log gets a new one with the next line: a pipe that nobody reads yet, so that
  // whoever writes it waits, as on a disk that hangs.
  void hang() const {
    fs::rename(data_ / "audit.jsonl", data_ / "audit.before");
    ASSERT_EQ(::mkfifo((data_ / "audit.jsonl").c_str(), 0600), 0);
  }
};

TEST_F(SlowAudit, KeepsAnswersWaitingButNoStream) {
  start_tester();
  std::mutex lock;
  std::string events;
  const std::jthread listener([&](const std::stop_token& stop) {
    http::Exchange exchange;
    exchange.stop = stop;
    exchange.open_ended = true;
    exchange.receive = [&](const http::Response&, std::string_view piece) {
      const std::scoped_lock guard(lock);
      events += piece;
    };
    http::ClientOptions options;
    options.retry.attempts = 1;
    http::Client client(options);
    http::Request request;
    request.origin = tester().url();
    request.path = "/api/v1/events";
    request.set_header("Authorization", "Bearer " + admin());
    try {
      (void)client.send(request, exchange);
    } catch (const Error&) {  // it is stopped
    }
  });
  const auto heard = [&](const std::string& text) {
    const std::scoped_lock guard(lock);
    return events.find(text) != std::string::npos;
  };
  ASSERT_TRUE(testing::eventually([&] { return heard("retry:"); }, 30s));
  hang();

  // Refused in the server's own thread, and done in another one: both are written down first.
  std::atomic<bool> refused = false;
  std::atomic<bool> submitted = false;
  std::vector<std::jthread> clients;
  clients.emplace_back([&] {
    EXPECT_THAT(raw("GET / HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n", 60s),
                HasSubstr("421 "));
    refused = true;
  });
  clients.emplace_back([&] {
    const Reply made = ask("POST", "/api/v1/jobs", R"({"name": "slow", "command": "true"})",
                           {{"Content-Type", "application/json"}}, admin());
    EXPECT_EQ(made.status, 201) << made.response.body;
    submitted = true;
  });
  EXPECT_TRUE(testing::eventually([&] { return heard("\"event\":\"submitted\""); }, 30s))
      << "the server's thread hangs with the disk";
  EXPECT_FALSE(refused);
  EXPECT_FALSE(submitted) << "answered before it was written down";

  // The disk is back. Not to be the only one who has it open, lest the writer's end is the end.
  const UniqueFd disk(::open((data_ / "audit.jsonl").c_str(), O_RDWR | O_CLOEXEC));
  EXPECT_TRUE(testing::eventually([&] { return refused && submitted; }, 30s));
  std::string lines(64 << 10, '\0');
  const ssize_t n = ::read(disk.get(), lines.data(), lines.size());
  lines.resize(static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
  EXPECT_THAT(lines, HasSubstr("\"status\":421"));
  EXPECT_THAT(lines, HasSubstr("\"status\":201"));
}

}  // namespace
}  // namespace assay::serve
