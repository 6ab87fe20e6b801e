// The server's own TLS.

#include <thread>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "core/files.h"
#include "core/text.h"
#include "e2e/tester/tester_process.h"
#include "eventually.h"
#include "made_certificate.h"

namespace assay::serve {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::MadeCertificate;
using ::testing::StartsWith;

class ServerTls : public TesterTest {
 protected:
  void SetUp() override {
    TesterTest::SetUp();
    first_.write(certificate_, key_);
    write_file_atomic(authority_, first_.certificate, false);
  }
  void start(std::vector<std::string> more = {}) {
    more.insert(more.end(),
                {"--tls-certificate", certificate_.string(), "--tls-key", key_.string()});
    start_tester(std::move(more));
  }
  // On a connection of its own; 0: there was no answer that could be trusted.
  int status(const std::string& path, const fs::path& authority, http::Exchange exchange = {}) {
    http::ClientOptions options;
    options.retry.attempts = 1;
    options.ca_file = authority;
    http::Client client(options);
    http::Request request;
    request.origin = tester().url();
    request.path = path;
    request.set_header("Authorization",
                       "Bearer " + std::string(trim(read_file(data_ / "admin.token"))));
    try {
      return client.send(request, exchange).status;
    } catch (const Error&) {
      return 0;
    }
  }
  int status(const std::string& path = "/api/v1/jobs") { return status(path, authority_); }

  const fs::path certificate_ = folder_ / "server.crt";
  const fs::path key_ = folder_ / "server.key";
  const fs::path authority_ = folder_ / "first.crt";
  const MadeCertificate first_ = MadeCertificate::for_a_year();
};

TEST_F(ServerTls, DoesNotBeginWithFilesThatCannotBeUsed) {
  const auto begun = [&] {
    const fs::path fresh = folder_ / "fresh";
    const CommandResult result =
        assay({"serve", "--listen", "127.0.0.1:0", "--data", fresh.string(), "--tls-certificate",
               certificate_.string(), "--tls-key", key_.string()});
    EXPECT_EQ(result.status.code, 3) << result.out;
    EXPECT_FALSE(fs::exists(fresh)) << "nothing is left of a server that did not begin";
    return result.err;
  };
  write_file_atomic(key_, MadeCertificate::for_a_year().key, false);
  EXPECT_THAT(begun(), AllOf(HasSubstr(key_.string()), HasSubstr("mismatch")));
  fs::remove(key_);
  EXPECT_THAT(begun(), HasSubstr(key_.string()));
  ASSERT_EQ(::mkfifo(key_.c_str(), 0600), 0);
  EXPECT_THAT(begun(), AllOf(HasSubstr(key_.string()), HasSubstr("regular file")));
}

TEST_F(ServerTls, WarnsOfAnExpiredCertificateAndOfAKeyThatEverybodyCanRead) {
  MadeCertificate::make(-9999, -99).write(certificate_, key_);
  fs::permissions(key_, fs::perms(0644));
  start();
  EXPECT_EQ(status("/api/v1/jobs", certificate_), 0) << "a client that looks does not trust it";
  EXPECT_THAT(tester().said(), AllOf(HasSubstr("has expired"), HasSubstr("chmod 600")));
}

TEST_F(ServerTls, ARenewedCertificateIsUsedWithoutARestart) {
  start({"--upkeep-every", "300ms"});
  EXPECT_EQ(status(), 200);
  std::atomic<bool> listening = false;
  const std::jthread listener([&](const std::stop_token& stop) {
    http::Exchange exchange;
    exchange.stop = stop;
    exchange.open_ended = true;
    exchange.receive = [&](const http::Response&, std::string_view) { listening = true; };
    (void)status("/api/v1/events", authority_, exchange);
    listening = false;
  });
  ASSERT_TRUE(testing::eventually([&] { return listening.load(); }, 30s));
  MadeCertificate::for_a_year().write(certificate_, key_);
  EXPECT_TRUE(
      testing::eventually([&] { return status("/api/v1/jobs", certificate_) == 200; }, 60s));
  EXPECT_EQ(status(), 0) << "the old one is gone";
  EXPECT_TRUE(listening) << "a stream that is open goes on";
  // What cannot be used does not take the server away.
  write_file_atomic(key_, "no key\n", false);
  EXPECT_TRUE(testing::eventually(
      [&] { return tester().said_later().find("is used as it was") != std::string::npos; }, 60s));
  EXPECT_EQ(status("/api/v1/jobs", certificate_), 200);
}

TEST_F(ServerTls, WhoForgetsTheSIsToldSo) {
  start();
  EXPECT_THAT(raw("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"),
              AllOf(StartsWith("HTTP/1.1 400 "), HasSubstr("https://"), HasSubstr("[closed]")));
  EXPECT_EQ(status(), 200);
}

TEST_F(ServerTls, SlowHandshakesLockNobodyOut) {
  start();
  // The beginning of a ClientHello of 512 bytes, a byte a second.
  const std::string hello =
      std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11) + std::string(500, 'x');
  std::vector<UniqueFd> slow;
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<std::uint16_t>(tester().port()));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const auto connect = [&] {
    UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    (void)::connect(fd.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to);
    return fd;
  };
  for (int i = 0; i < 200; ++i) slow.push_back(connect());
  for (std::size_t second = 0; second < 12; ++second) {
    for (UniqueFd& one : slow)
      if (::send(one.get(), &hello.at(second), 1, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 &&
          errno != EAGAIN && errno != ENOTCONN)
        one = connect();  // who was hung up comes again
    EXPECT_EQ(status(), 200) << "in second " << second;
    std::this_thread::sleep_for(1s);
  }
}

}  // namespace
}  // namespace assay::serve
