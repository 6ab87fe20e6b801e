// A coordinator that is killed with -9 again and again gives what an undisturbed one gives.
#include <array>
#include <chrono>
#include <optional>
#include <random>
#include <thread>

#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/write.hpp>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "automl/coordinator.h"
#include "automl/experiment_journal.h"
#include "automl/journal_check.h"
#include "automl/score.h"
#include "automl/start_models.h"
#include "automl/worker_protocol.h"
#include "send_signal.h"
#include "temporary_folder.h"

namespace assay::automl {
namespace {

using asio::ip::tcp;
using namespace std::chrono_literals;

ExperimentSettings killed_settings() {
  ExperimentSettings settings;
  settings.start = to_json(basic_resnet({8, 8, 3}, 2, 1, 4, 4));
  settings.max_trials = 40;
  settings.workers = 1;
  settings.epochs = {3};
  settings.space.erase("batch_size");  // every epoch has the same 96 samples
  settings.data["train_size"] = 120;
  settings.data["eval_size"] = 40;
  return settings;
}

// Speaks as a worker does; what it measures depends on the architecture alone.
void work(int port, const std::string& token) {
  asio::io_context loop;
  tcp::socket socket(loop);
  socket.connect({asio::ip::address_v4::loopback(), static_cast<asio::ip::port_type>(port)});
  const auto say = [&](const WorkerMessage& message) {
    asio::write(socket, asio::buffer(encode(message)));
  };
  Framing framing;
  const auto hear = [&]() -> CoordinatorMessage {
    for (;;) {
      if (const auto line = framing.line("coordinator"))
        return decode_coordinator_message(*line, "coordinator");
      std::array<char, 65536> buffer;
      const std::size_t n = socket.read_some(asio::buffer(buffer));
      framing.feed({buffer.data(), n});
    }
  };
  say(Hello{kProtocolVersion, token, 0, "node", "cpu"});
  for (;;) {
    say(Ready{});
    const CoordinatorMessage answer = hear();
    const auto* trial = std::get_if<Trial>(&answer);
    if (trial == nullptr) return;
    const Graph graph = graph_from_json(trial->graph, "trial");
    const double worth = static_cast<double>(graph.hash() % 1000) / 1000;
    const auto batch = trial->hyper.batch_size;
    const std::int64_t samples = 120 / batch * batch;
    for (int e = 1; e <= trial->epochs; ++e) {
      std::this_thread::sleep_for(2ms);
      say(Epoch{trial->trial, e, 0.3 + 0.1 * e * worth, 1.0 / e, samples * e, 40 * e, 0.001 * e});
    }
    std::string weights(20'000, 'w');
    say(Weights{trial->trial, static_cast<std::int64_t>(weights.size())});
    asio::write(socket, asio::buffer(weights));
    const int n = trial->epochs;
    say(Done{trial->trial, true, "", 0.3 + 0.1 * n * worth, n, samples * n, 40 * n, 0.004, 0, 0});
  }
}

// The life of one coordinator, with its worker beside it. Never returns.
[[noreturn]] void coordinate(const std::filesystem::path& directory) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  try {
    asio::io_context loop;
    Coordinator coordinator(loop, killed_settings(), {directory, "127.0.0.1", {}});
    std::thread worker([port = coordinator.port(), token = coordinator.token()] {
      try {
        work(port, token);
      } catch (const std::exception&) {  // the coordinator has ended
      }
    });
    asio::co_spawn(loop, coordinator.run(), asio::detached);
    loop.run();
    worker.join();
    ::_exit(0);
  } catch (const std::exception& error) {
    ::write(2, error.what(), std::string_view(error.what()).size());
    ::_exit(1);
  }
}

std::uintmax_t size_of(const std::filesystem::path& directory) {
  std::error_code none;
  const std::uintmax_t size = std::filesystem::file_size(directory / "journal.jsonl", none);
  return none ? 0 : size;
}

struct Moment {
  std::uintmax_t bytes = 0;  ///< that the journal has grown by
  std::chrono::microseconds later{};
};

// Kills it at that moment, or lets it come to its end. Gives its exit code; -1 when it was killed.
int run_until(const std::filesystem::path& directory, std::optional<Moment> moment) {
  const std::uintmax_t before = size_of(directory);
  const pid_t child = ::fork();
  if (child == 0) coordinate(directory);
  const auto deadline = std::chrono::steady_clock::now() + 120s;
  int status = 0;
  while (::waitpid(child, &status, WNOHANG) == 0) {
    const bool now = moment && size_of(directory) >= before + moment->bytes;
    if (now) std::this_thread::sleep_for(moment->later);
    if (now || std::chrono::steady_clock::now() >= deadline) send_signal(child, SIGKILL);
    std::this_thread::sleep_for(100us);
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::vector<Json> journal_in(const std::filesystem::path& directory) {
  return ExperimentJournal::read(directory / "journal.jsonl");
}

// What an experiment found, and what its trials are worth; not when.
std::vector<std::string> findings(const std::vector<Json>& events) {
  std::vector<std::string> out;
  for (const TrialRecord& trial : record_of(events).trials)
    out.push_back(std::string(to_text(trial.status)) + dump_line(trial.operations) +
                  dump_line(trial.hyper) + std::to_string(trial.parent) + " " +
                  std::to_string(trial.per_sample.aiperf_train) + " " +
                  std::to_string(trial.accuracy.value_or(-1)));
  return out;
}

// Operations and accuracy without what lost attempts did twice.
double operations_of_results(const std::vector<Json>& events) {
  const ExperimentRecord record = record_of(events);
  double sum = 0;
  for (const Json& event : events) {
    if (event["event"] != "ended" || !event.value("final", false)) continue;
    const SampleOperations& per = record.trials.at(event["trial"].get<std::size_t>()).per_sample;
    sum += event["trained"].get<double>() * static_cast<double>(per.aiperf_train) +
           event["validated"].get<double>() * static_cast<double>(per.aiperf_validate);
  }
  return sum;
}

TEST(KilledCoordinator, FiftyKillsLeaveTheJournalAndScoreOfAnUndisturbedExperiment) {
  const testing::TemporaryFolder calm;
  ASSERT_EQ(run_until(calm.path(), std::nullopt), 0);
  const std::vector<Json> expected = journal_in(calm.path());
  ASSERT_EQ(record_of(expected).ended, ExperimentEnd::trials);

  const testing::TemporaryFolder folder;
  std::mt19937 random(20261116);
  std::uniform_int_distribution<std::uintmax_t> bytes(0, size_of(calm.path()) / 35);
  std::uniform_int_distribution<int> later(0, 3000);
  int kills = 0;
  int lost = 0;
  while (kills < 50) {
    const Moment moment{bytes(random), std::chrono::microseconds(later(random))};
    const int code = run_until(folder.path(), moment);
    ASSERT_NE(code, 1);
    if (code == 0) break;  // it was done before
    ++kills;
    // What the journal says to be done stays done.
    int done = 0;
    for (const std::string& trial : findings(journal_in(folder.path())))
      done += trial.starts_with("ok") ? 1 : 0;
    ASSERT_GE(done, lost);
    lost = done;
  }
  RecordProperty("kills", kills);
  ASSERT_EQ(kills, 50) << "it ended too early to be killed so often: make it longer";
  ASSERT_EQ(run_until(folder.path(), std::nullopt), 0);

  const std::vector<Json> events = journal_in(folder.path());
  EXPECT_EQ(findings(events), findings(expected));
  const ExperimentRecord record = record_of(events);
  EXPECT_EQ(record.ended, ExperimentEnd::trials);
  EXPECT_GT(record.resumed, 0);
  EXPECT_DOUBLE_EQ(operations_of_results(events), operations_of_results(expected));
  EXPECT_DOUBLE_EQ(record.final.error, record_of(expected).final.error);
  // And the judge finds nothing missing and nothing wrong in it.
  std::size_t skipped = 0;
  (void)ExperimentJournal::read(folder.path() / "journal.jsonl", &skipped);
  const JournalCheck check = check_journal(events, skipped, killed_settings(), true);
  EXPECT_EQ(check.missing.count, 0) << check.missing.first;
  EXPECT_EQ(check.wrong.count, 0) << check.wrong.first;
}

}  // namespace
}  // namespace assay::automl
