#include <future>
#include <thread>

#include <asio/co_spawn.hpp>
#include <asio/connect.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/post.hpp>
#include <asio/read.hpp>
#include <asio/use_future.hpp>
#include <asio/write.hpp>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "automl/coordinator.h"
#include "automl/experiment_journal.h"
#include "automl/start_models.h"
#include "core/files.h"
#include "error_of.h"
#include "temporary_folder.h"

namespace assay::automl {
namespace {

using asio::ip::tcp;
using namespace std::chrono_literals;

ExperimentSettings served_settings() {
  ExperimentSettings settings;
  settings.start = to_json(basic_resnet({8, 8, 3}, 2, 1, 4, 4));
  settings.max_trials = 3;
  settings.workers = 2;
  return settings;
}

// A coordinator on a loop of its own.
class Running {
 public:
  Running(const ExperimentSettings& settings, const std::filesystem::path& directory)
      : coordinator_(loop_, settings, {directory, "127.0.0.1", {}}),
        port_(coordinator_.port()),
        result_(asio::co_spawn(loop_, coordinator_.run(), asio::use_future)),
        thread_([this] { loop_.run(); }) {}
  ~Running() {
    asio::post(loop_, [this] { coordinator_.end(ExperimentEnd::stopped, "the test is over"); });
    thread_.join();
  }
  [[nodiscard]] int port() const { return port_; }
  [[nodiscard]] const std::string& token() const { return coordinator_.token(); }
  /// Waits for its end and rethrows what it threw.
  void finish() {
    ASSERT_EQ(result_.wait_for(60s), std::future_status::ready);
    result_.get();
  }
  void end() {
    asio::post(loop_, [this] { coordinator_.end(ExperimentEnd::stopped, "by the user"); });
  }

 private:
  asio::io_context loop_;
  Coordinator coordinator_;
  int port_;
  std::future<void> result_;
  std::thread thread_;
};

// Speaks the worker's side over a real socket, with bounded waits.
class FakeWorker {
 public:
  explicit FakeWorker(int port) : socket_(loop_) {
    socket_.connect({asio::ip::address_v4::loopback(), static_cast<asio::ip::port_type>(port)});
    const timeval limit{30, 0};
    ::setsockopt(socket_.native_handle(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  }
  FakeWorker(const Running& running, int rank) : FakeWorker(running.port()) {
    say(Hello{kProtocolVersion, running.token(), rank, "fake", "cpu"});
  }
  void say(const WorkerMessage& message) { raw(encode(message)); }
  void raw(const std::string& bytes) { asio::write(socket_, asio::buffer(bytes)); }
  /// Nothing when the other side closed.
  std::optional<CoordinatorMessage> hear() {
    for (;;) {
      if (const auto line = framing_.line("coordinator"))
        return decode_coordinator_message(*line, "coordinator");
      if (!more()) return std::nullopt;
    }
  }
  std::string hear_bytes(std::int64_t n) {
    for (;;) {
      if (auto bytes = framing_.raw(n)) return *bytes;
      if (!more()) return {};
    }
  }
  Trial hear_trial() { return std::get<Trial>(hear().value()); }
  void train(const Trial& trial, double accuracy, const std::string& weights = {}) {
    say(Epoch{trial.trial, 1, accuracy, 1, 100, 10, 1});
    if (!weights.empty()) {
      say(Weights{trial.trial, static_cast<std::int64_t>(weights.size())});
      raw(weights);
    }
    say(Done{trial.trial, true, "", accuracy, 1, 100, 10, 1, 0, 0});
  }
  void close() { socket_.close(); }

 private:
  bool more() {
    std::array<char, 4096> buffer{};
    const ssize_t n = ::read(socket_.native_handle(), buffer.data(), buffer.size());
    if (n <= 0) return false;
    framing_.feed({buffer.data(), static_cast<std::size_t>(n)});
    return true;
  }
  asio::io_context loop_;
  tcp::socket socket_;
  Framing framing_;
};

TEST(Coordinator, CarriesAnExperimentThroughToItsScore) {
  const testing::TemporaryFolder folder;
  Running running(served_settings(), folder.path());
  FakeWorker worker(running, 0);
  for (int i = 0; i < 3; ++i) {
    worker.say(Ready{});
    const Trial trial = worker.hear_trial();
    EXPECT_EQ(trial.trial, i);
    (void)graph_from_json(trial.graph, "trial");
    worker.train(trial, 0.5 + 0.1 * i);
  }
  EXPECT_TRUE(std::holds_alternative<Stop>(worker.hear().value()));
  worker.close();
  running.finish();
  const ExperimentRecord record =
      record_of(ExperimentJournal::read(folder.path() / "journal.jsonl"));
  EXPECT_EQ(record.ended, ExperimentEnd::trials);
  EXPECT_EQ(record.trials.size(), 3U);
  EXPECT_NEAR(record.final.error, 0.3, 1e-12);
  EXPECT_GT(record.final.score, 0);
}

TEST(Coordinator, KeepsWeightsForTheChildren) {
  const testing::TemporaryFolder folder;
  Running running(served_settings(), folder.path());
  FakeWorker worker(running, 0);
  worker.say(Ready{});
  std::string weights(700'001, 'x');
  weights[350'000] = '\n';
  worker.train(worker.hear_trial(), 0.5, weights);
  worker.say(Ready{});
  const Trial child = worker.hear_trial();
  ASSERT_TRUE(child.parent.has_value());
  EXPECT_EQ(child.parent->trial, 0);
  worker.say(Fetch{0});
  EXPECT_EQ(std::get<Weights>(worker.hear().value()).bytes, 700'001);
  EXPECT_EQ(worker.hear_bytes(700'001), weights);
  worker.say(Fetch{1});
  EXPECT_EQ(std::get<Weights>(worker.hear().value()).bytes, 0);
  EXPECT_EQ(read_file(folder.path() / "weights" / "0.pt"), weights);
}

TEST(Coordinator, TurnsAwayWhoDoesNotKnowTheToken) {
  const testing::TemporaryFolder folder;
  Running running(served_settings(), folder.path());
  FakeWorker stranger(running.port());
  std::string wrong = running.token();
  wrong.back() = wrong.back() == '0' ? '1' : '0';
  stranger.say(Hello{kProtocolVersion, wrong, 0, "x", "cpu"});
  EXPECT_EQ(std::get<Refuse>(stranger.hear().value()).reason, "the token is wrong");
  EXPECT_FALSE(stranger.hear().has_value());
  FakeWorker old(running.port());
  old.say(Hello{99, running.token(), 0, "x", "cpu"});
  EXPECT_NE(std::get<Refuse>(old.hear().value()).reason.find("protocol 2"), std::string::npos);
}

TEST(Coordinator, GarbageClosesThatConnectionOnly) {
  const testing::TemporaryFolder folder;
  Running running(served_settings(), folder.path());
  FakeWorker good(running, 0);
  good.say(Ready{});
  const Trial trial = good.hear_trial();
  for (const std::string& garbage :
       {std::string("GET / HTTP/1.1\r\n\r\n"), std::string("{\"type\":\"ready\"}\n"),
        std::string("[[[[\n"), std::string(200'000, 'a'), std::string("\0\xff\n", 3)}) {
    FakeWorker bad(running.port());
    try {
      bad.raw(garbage);
    } catch (const std::exception&) {  // closed while it was still being sent
    }
    EXPECT_FALSE(bad.hear().has_value());
  }
  FakeWorker known(running, 1);  // knows the token, and then talks nonsense
  known.say(Ready{});
  (void)known.hear_trial();
  known.raw("{\"type\":\"epoch\"}\n");
  EXPECT_FALSE(known.hear().has_value());
  good.train(trial, 0.5);
  good.say(Ready{});
  EXPECT_GE(good.hear_trial().trial, 1);
}

TEST(Coordinator, AnAccuracyOfNaNFailsTheTrialAndTheWorkerGoesOn) {
  const testing::TemporaryFolder folder;
  Running running(served_settings(), folder.path());
  FakeWorker worker(running, 0);
  worker.say(Ready{});
  const Trial trial = worker.hear_trial();
  worker.raw(
      R"({"type":"epoch","trial":0,"epoch":1,"accuracy":null,"loss":null,"trained":1,"validated":1,"at_s":1})"
      "\n");
  EXPECT_EQ(std::get<Drop>(worker.hear().value()).trial, trial.trial);
  worker.say(Ready{});
  EXPECT_EQ(worker.hear_trial().trial, 1);
}

TEST(Coordinator, GivesTheTrialOfAVanishedWorkerToAnother) {
  const testing::TemporaryFolder folder;
  Running running(served_settings(), folder.path());
  FakeWorker first(running, 0);
  first.say(Ready{});
  EXPECT_EQ(first.hear_trial().trial, 0);
  first.close();
  FakeWorker second(running, 1);
  second.say(Ready{});
  Trial trial = second.hear_trial();
  // Which of the two the coordinator notices first is open: the lost one comes at the latest next.
  if (trial.trial != 0) {
    second.train(trial, 0.5);
    second.say(Ready{});
    trial = second.hear_trial();
  }
  EXPECT_EQ(trial.trial, 0);
  EXPECT_EQ(trial.attempt, 2);
}

TEST(Coordinator, StopsWithTheScoreSoFarAndGoesOnLater) {
  const testing::TemporaryFolder folder;
  {
    Running running(served_settings(), folder.path());
    FakeWorker worker(running, 0);
    worker.say(Ready{});
    worker.train(worker.hear_trial(), 0.75);
    worker.say(Ready{});
    (void)worker.hear_trial();
    running.end();
    EXPECT_TRUE(std::holds_alternative<Stop>(worker.hear().value()));
    worker.close();
    running.finish();
  }
  const auto file = folder.path() / "journal.jsonl";
  const ExperimentRecord half = record_of(ExperimentJournal::read(file));
  EXPECT_EQ(half.ended, ExperimentEnd::stopped);
  EXPECT_NEAR(half.final.error, 0.25, 1e-12);
  Running again(served_settings(), folder.path());
  FakeWorker worker(again, 0);
  for (int i = 1; i < 3; ++i) {
    worker.say(Ready{});
    const Trial trial = worker.hear_trial();
    EXPECT_EQ(trial.trial, i);
    worker.train(trial, 0.5);
  }
  EXPECT_TRUE(std::holds_alternative<Stop>(worker.hear().value()));
  worker.close();
  again.finish();
  const ExperimentRecord whole = record_of(ExperimentJournal::read(file));
  EXPECT_EQ(whole.ended, ExperimentEnd::trials);
  EXPECT_EQ(whole.resumed, 1);
  EXPECT_GE(whole.elapsed_s, half.elapsed_s);
  EXPECT_NEAR(whole.final.error, 0.25, 1e-12);
}

TEST(Coordinator, RefusesToWorkOnAnExperimentThatAnotherHas) {
  const testing::TemporaryFolder folder;
  Running running(served_settings(), folder.path());
  const std::string error = testing::error_of([&] {
    asio::io_context loop;
    const Coordinator second(loop, served_settings(), {folder.path(), "127.0.0.1", {}});
    return 0;
  });
  EXPECT_NE(error.find("another coordinator"), std::string::npos) << error;
}

// A disk that is full, as the journal sees it: nothing can be written beyond this size.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    ::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() { ::setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_{};
};

TEST(Coordinator, AFullDiskUnderTheJournalEndsItWithAClearErrorAndLosesNothing) {
  const testing::TemporaryFolder folder;
  const auto file = folder.path() / "journal.jsonl";
  Running running(served_settings(), folder.path());
  FakeWorker worker(running, 0);
  worker.say(Ready{});
  worker.train(worker.hear_trial(), 0.5);
  worker.say(Ready{});
  const Trial next = worker.hear_trial();
  std::string error;
  {
    const FileSizeLimit full(std::filesystem::file_size(file) + 40);
    worker.say(Epoch{next.trial, 1, 0.6, 1, 100, 10, 1});
    error = testing::error_of([&] {
      running.finish();
      return 0;
    });
  }
  EXPECT_NE(error.find("journal.jsonl"), std::string::npos) << error;
  std::size_t skipped = 0;
  const ExperimentRecord record = record_of(ExperimentJournal::read(file, &skipped));
  EXPECT_EQ(skipped, 0U);
  EXPECT_EQ(record.trials.at(0).status, TrialStatus::ok);
}

TEST(Coordinator, SaysThatWeightsCouldNotBeKept) {
  const testing::TemporaryFolder folder;
  ExperimentSettings settings = served_settings();
  settings.weights_bytes = 1000;
  Running running(settings, folder.path());
  FakeWorker worker(running, 0);
  worker.say(Ready{});
  worker.train(worker.hear_trial(), 0.5, std::string(700, 'x'));
  worker.say(Ready{});
  worker.train(worker.hear_trial(), 0.6, std::string(600, 'y'));  // in the place of the first
  worker.say(Ready{});
  worker.train(worker.hear_trial(), 0.6, std::string(2000, 'z'));
  EXPECT_TRUE(std::holds_alternative<Stop>(worker.hear().value()));
  worker.close();
  running.finish();
  const auto lost =
      record_of(ExperimentJournal::read(folder.path() / "journal.jsonl")).weights_lost;
  ASSERT_EQ(lost.size(), 2U);
  EXPECT_EQ(lost[0].trial, 0);
  EXPECT_TRUE(lost[0].displaced);
  EXPECT_EQ(lost[1].trial, 2);
  EXPECT_EQ(lost[1].reason, "larger than all weights together may be");
  EXPECT_FALSE(lost[1].displaced);
}

TEST(Coordinator, TellsAWorkerThatIsSentAwayWhy) {
  const testing::TemporaryFolder folder;
  ExperimentSettings settings = served_settings();
  settings.data["train_size"] = 256;
  Running running(settings, folder.path());
  FakeWorker liar(running, 0);
  liar.say(Ready{});
  const Trial trial = liar.hear_trial();
  liar.say(Epoch{trial.trial, 1, 0.99, 1, 1'000'000, 10, 0});
  EXPECT_NE(std::get<Refuse>(liar.hear().value()).reason.find("it reported what cannot be"),
            std::string::npos);
  EXPECT_FALSE(liar.hear().has_value());
  FakeWorker again(running, 0);
  EXPECT_NE(std::get<Refuse>(again.hear().value()).reason.find("it was sent away"),
            std::string::npos);
}

TEST(Coordinator, NeverWritesItsTokenAnywhere) {
  const testing::TemporaryFolder folder;
  Running running(served_settings(), folder.path());
  FakeWorker worker(running, 0);
  worker.say(Ready{});
  (void)worker.hear_trial();
  EXPECT_EQ(read_file(folder.path() / "journal.jsonl").find(running.token()), std::string::npos);
}

}  // namespace
}  // namespace assay::automl
