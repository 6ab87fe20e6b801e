#include <chrono>
#include <stop_token>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/files.h"
#include "core/subprocess.h"
#include "e2e/cloud/emulator_process.h"
#include "error_of.h"
#include "needs.h"
#include "send_signal.h"

namespace assay::cloud {
namespace {

using ::assay::testing::error_of;
using ::testing::HasSubstr;
using ::testing::Not;

class Client : public EmulatorTest {
 protected:
  http::Request counts(const std::string& method = "GET") {
    http::Request request;
    request.method = method;
    request.origin = url();
    request.path = "/v3/auth/tokens";
    return request;
  }
};

TEST_F(Client, TriesAgainWhatMayBeRepeated) {
  fault({{"kind", "status"}, {"status", 500}, {"count", 3}});
  EXPECT_EQ(client_.send(counts()).status, 404);  // the service's own answer, at last
  EXPECT_EQ(count("GET iam"), 4U);
}

TEST_F(Client, DoesNotRepeatAPostThatMayHaveHadAnEffect) {
  fault({{"kind", "status"}, {"status", 500}});
  EXPECT_EQ(client_.send(counts("POST")).status, 500);
  fault({{"kind", "drop-reply"}});
  const std::string error = error_of([&] { return client_.send(counts("POST")); });
  EXPECT_THAT(error, HasSubstr("tried once"));
  EXPECT_THAT(error, HasSubstr("whether it had an effect is not known"));
  EXPECT_THAT(error, HasSubstr(host()));
  EXPECT_EQ(count("POST iam"), 2U);
}

TEST_F(Client, RepeatsAPostThatWasTurnedAway) {
  for (const int status : {425, 429}) {
    const auto before = count("POST iam");
    fault({{"kind", "status"}, {"status", status}, {"count", 2}});
    EXPECT_EQ(client_.send(counts("POST")).status, 400) << status;
    EXPECT_EQ(count("POST iam") - before, 3U) << status;
  }
}

TEST_F(Client, WaitsAsLongAsTheServerAsks) {
  fault({{"kind", "status"}, {"status", 503}, {"retry_after", 1}});
  const std::int64_t start = mono_now_ns();
  EXPECT_EQ(client_.send(counts()).status, 404);
  EXPECT_GE(mono_now_ns() - start, 1'000'000'000);
}

TEST_F(Client, GivesUpAtOnceWhenItWouldHaveToWaitTooLong) {
  fault({{"kind", "status"}, {"status", 503}, {"retry_after", 86400}, {"count", -1}});
  EXPECT_EQ(client_.send(counts()).status, 503);
  EXPECT_EQ(count("GET iam"), 1U);
}

TEST_F(Client, GivesTheLastAnswerWhenAllTriesFailed) {
  fault({{"kind", "status"}, {"status", 502}, {"count", -1}});
  EXPECT_EQ(client_.send(counts()).status, 502);
  EXPECT_EQ(count("GET iam"), 6U);
}

TEST_F(Client, ComesThroughConnectionsThatBreak) {
  fault({{"kind", "drop-reply"}, {"count", 2}, {"method", "GET"}});
  EXPECT_EQ(client_.send(counts()).status, 404);
}

TEST_F(Client, SaysHowOftenItTriedInVain) {
  http::Request request;
  request.origin = "http://127.0.0.1:1";  // nothing listens there
  const std::string error = error_of([&] { return client_.send(request); });
  EXPECT_THAT(error, HasSubstr("127.0.0.1:1"));
  EXPECT_THAT(error, HasSubstr("tried 6 times"));
}

TEST_F(Client, NamesAHostThatDoesNotResolve) {
  http::Request request;
  request.origin = "http://no-such-host.invalid";
  const std::string error = error_of([&] { return client_.send(request); });
  EXPECT_THAT(error, HasSubstr("no-such-host.invalid"));
  EXPECT_THAT(error, HasSubstr("DNS"));
}

TEST_F(Client, EndsARequestThatStalls) {
  http::ClientOptions options = quick();
  options.stall_timeout = std::chrono::seconds(1);
  options.retry.attempts = 1;
  http::Client hasty(options);
  fault({{"kind", "delay"}, {"delay_ms", 600'000}});
  const std::string error = error_of([&] { return hasty.send(counts()); });
  EXPECT_THAT(error, HasSubstr("got no answer"));
  EXPECT_THAT(error, HasSubstr("too slow"));
}

TEST_F(Client, EndsAReplyThatDrips) {
  http::ClientOptions options = quick();
  options.stall_timeout = std::chrono::seconds(1);
  options.retry.attempts = 1;
  http::Client hasty(options);
  fault({{"kind", "drip"}, {"delay_ms", 50}});  // never silent for a second
  const std::string error = error_of([&] { return hasty.send(counts()); });
  EXPECT_THAT(error, HasSubstr("which is too slow"));
  EXPECT_THAT(error, HasSubstr(host()));
}

TEST_F(Client, LetsAStreamDripThatIsToLast) {
  http::ClientOptions options = quick();
  options.stall_timeout = std::chrono::seconds(1);
  http::Client hasty(options);
  fault({{"kind", "drip"}, {"delay_ms", 10}});  // takes longer than a second
  http::Exchange exchange;
  exchange.open_ended = true;
  EXPECT_EQ(hasty.send(counts(), exchange).status, 404);
}

TEST_F(Client, EndsADripWhenItIsToldTo) {
  fault({{"kind", "drip"}, {"delay_ms", 100}});
  std::stop_source stop;
  std::jthread later([&] {
    wait_for_requests("GET iam", 1);
    stop.request_stop();
  });
  http::Exchange exchange;
  exchange.stop = stop.get_token();
  EXPECT_THAT(error_of([&] { return client_.send(counts(), exchange); }), HasSubstr("cancelled"));
}

TEST_F(Client, EndsWhenItIsToldTo) {
  fault({{"kind", "delay"}, {"delay_ms", 600'000}});
  std::stop_source stop;
  std::jthread later([&] {
    wait_for_requests("GET iam", 1);
    stop.request_stop();
  });
  http::Exchange exchange;
  exchange.stop = stop.get_token();
  EXPECT_THAT(error_of([&] { return client_.send(counts(), exchange); }), HasSubstr("cancelled"));
}

TEST_F(Client, EndsItsPauseWhenItIsToldTo) {
  http::ClientOptions options = quick();
  options.retry.max_retry_after = std::chrono::hours(2);
  http::Client patient(options);
  fault({{"kind", "status"}, {"status", 503}, {"retry_after", 3600}, {"count", -1}});
  std::stop_source stop;
  std::jthread later([&] {
    wait_for_requests("GET iam", 1);
    stop.request_stop();
  });
  http::Exchange exchange;
  exchange.stop = stop.get_token();
  EXPECT_THAT(error_of([&] { return patient.send(counts(), exchange); }), HasSubstr("cancelled"));
}

TEST_F(Client, HidesSecretsInItsErrors) {
  client_.hide("hunter2");
  http::Request request;
  request.origin = "http://127.0.0.1:1";
  request.path = "/path/hunter2";
  EXPECT_THAT(error_of([&] { return client_.send(request); }),
              ::testing::AllOf(Not(HasSubstr("hunter2")), HasSubstr("***")));
}

/// An HTTPS server with a certificate of its own for "localhost".
class Tls : public Client {
 protected:
  void SetUp() override {
    if (!find_program("openssl")) GTEST_SKIP() << needs::package("openssl");
    const std::string key = (folder_ / "key.pem").string();
    certificate_ = (folder_ / "cert.pem").string();
    CommandOptions limit;
    limit.timeout = std::chrono::seconds(60);
    const CommandResult made =
        run_command({"openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
                     "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout",
                     key, "-out", certificate_},
                    limit);
    ASSERT_TRUE(made.status.ok()) << made.err;
    for (int i = 0; i < 20 && pid_ < 0; ++i) {
      port_ = 20000 + (::getpid() * 7 + i * 131) % 12000;
      const std::string port = std::to_string(port_);
      const pid_t pid = ::fork();
      if (pid == 0) {
        ::setpgid(0, 0);
        ::close(1);
        ::close(2);
        ::execlp("openssl", "openssl", "s_server", "-accept", port.c_str(), "-key", key.c_str(),
                 "-cert", certificate_.c_str(), "-www", "-quiet", nullptr);
        ::_exit(127);
      }
      for (int tries = 0; tries < 400; ++tries) {
        if (::waitpid(pid, nullptr, WNOHANG) == pid) break;  // the port was taken
        http::Request ask;
        ask.origin = "http://127.0.0.1:" + port;
        http::ClientOptions once = quick();
        once.retry.attempts = 1;
        const std::string error = error_of([&] { return http::Client(once).send(ask); });
        if (error.find("onnect to") == std::string::npos) {
          pid_ = pid;
          break;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(25));
      }
    }
    ASSERT_GT(pid_, 0);
  }
  void TearDown() override {
    if (pid_ <= 0) return;
    send_signal(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  http::Request ask(const std::string& name) const {
    http::Request request;
    request.origin = "https://" + name + ":" + std::to_string(port_);
    return request;
  }

  std::string certificate_;
  int port_ = 0;
  pid_t pid_ = -1;
};

TEST_F(Tls, RefusesACertificateThatNobodyTrusts) {
  EXPECT_THAT(error_of([&] { return client_.send(ask("localhost")); }),
              ::testing::AllOf(HasSubstr("certificate"), HasSubstr("tried once")));
}

TEST_F(Tls, TrustsTheAuthorityThatItIsGiven) {
  http::ClientOptions options = quick();
  options.ca_file = certificate_;
  http::Client client(options);
  EXPECT_EQ(client.send(ask("localhost")).status, 200);
}

TEST_F(Tls, RefusesACertificateOfAnotherName) {
  http::ClientOptions options = quick();
  options.ca_file = certificate_;
  http::Client client(options);
  EXPECT_THAT(error_of([&] { return client.send(ask("127.0.0.1")); }), HasSubstr("certificate"));
}

}  // namespace
}  // namespace assay::cloud
