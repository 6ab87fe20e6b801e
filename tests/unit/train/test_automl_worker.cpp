// A real automl-worker process, driven by a small coordinator that lives in the test.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <future>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>

#include "automl/operations.h"
#include "automl/protocol.h"
#include "automl/start_models.h"
#include "automl/trained_graph.h"
#include "core/files.h"
#include "core/json.h"
#include "core/subprocess.h"
#include "core/text.h"
#include "temporary_folder.h"

namespace assay::train {
namespace {

using automl::CoordinatorMessage;
using automl::Done;
using automl::Epoch;
using automl::Graph;
using automl::Trial;
using automl::WorkerMessage;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kToken = "not-to-be-seen";
constexpr std::chrono::seconds kPatience{100};

class WorkerTest : public ::testing::Test {
 protected:
  WorkerTest() : listener_(bound()) {
    if (::listen(listener_.get(), 1) != 0) throw std::runtime_error("cannot listen");
  }

  // A socket with a port of its own, which address_ then names.
  UniqueFd bound() {
    UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 ||
        ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0)
      throw std::runtime_error("no port");
    address_ = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
    return fd;
  }

  // memory_kb: the address space that the process may have; 0: any.
  void start(const std::string& config = "threads: 1\ndevice: cpu\n", int memory_kb = 0) {
    const auto path = folder_.path() / "worker.yaml";
    std::ofstream(path) << config;
    worker_ = std::async(std::launch::async, [this, path, memory_kb] {
      CommandOptions options;
      options.timeout = kPatience;
      options.max_output = 8 << 20;
      options.env = {{automl::kAddressVariable, address_},
                     {automl::kTokenVariable, kToken},
                     {"RANK", "3"},
                     {"WORLD_SIZE", "4"},
                     {"LOCAL_RANK", "1"}};
      const std::string limit =
          memory_kb > 0 ? "ulimit -v " + std::to_string(memory_kb) + " && " : "";
      return run_command(
          {"sh", "-c",
           limit + "echo $$ >" + shell_quote(pid_file().string()) + " && exec " + ASSAY_BIN_DIR +
               "/assay-train automl-worker --config " + shell_quote(path.string())},
          options);
    });
  }

  [[nodiscard]] std::filesystem::path pid_file() const { return folder_.path() / "pid"; }

  void accept() {
    wait_for(listener_.get());
    peer_ = UniqueFd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    ASSERT_TRUE(peer_);
  }
  // Up to the moment where a trial is expected.
  void welcome() {
    accept();
    EXPECT_EQ(expect<automl::Hello>().token, kToken);
    expect<automl::Ready>();
  }

  static void wait_for(int fd) {
    pollfd readable{fd, POLLIN, 0};
    if (::poll(&readable, 1, static_cast<int>(kPatience.count() * 1000)) != 1)
      throw std::runtime_error("the worker says nothing");
  }
  void fill() {
    wait_for(peer_.get());
    std::string buffer(65536, 0);
    const ssize_t n = ::recv(peer_.get(), buffer.data(), buffer.size(), 0);
    if (n <= 0) throw std::runtime_error("the worker has closed the connection");
    framing_.feed(std::string_view(buffer).substr(0, static_cast<std::size_t>(n)));
  }
  // The next message that is not `alive`.
  WorkerMessage receive() {
    for (;;) {
      std::optional<std::string> line = framing_.line("worker");
      if (!line) {
        fill();
        continue;
      }
      WorkerMessage message = automl::decode_worker_message(*line, "worker");
      if (!std::holds_alternative<automl::Alive>(message)) return message;
      ++alive_;
    }
  }
  template <typename T>
  T expect() {
    WorkerMessage message = receive();
    if (!std::holds_alternative<T>(message))
      throw std::runtime_error("another message: " + automl::encode(message));
    return std::get<T>(message);
  }
  std::string bytes(std::int64_t count) {
    for (;;) {
      if (auto raw = framing_.raw(count)) return *raw;
      fill();
    }
  }
  void send(const CoordinatorMessage& message) { send_raw(automl::encode(message)); }
  void send_raw(const std::string& text) {
    for (std::size_t sent = 0; sent < text.size();) {
      const ssize_t n = ::send(peer_.get(), text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
      if (n <= 0) throw std::runtime_error("the worker does not read");
      sent += static_cast<std::size_t>(n);
    }
  }

  // A trial that has been trained to its end.
  struct Finished {
    std::vector<Epoch> epochs;
    std::string weights;
    Done done;
  };
  Finished finish() {
    Finished finished;
    WorkerMessage message = receive();
    for (; std::holds_alternative<Epoch>(message); message = receive())
      finished.epochs.push_back(std::get<Epoch>(message));
    EXPECT_TRUE(std::holds_alternative<automl::Ready>(message)) << automl::encode(message);
    message = receive();
    if (const auto* weights = std::get_if<automl::Weights>(&message)) {
      finished.weights = bytes(weights->bytes);
      message = receive();
    }
    finished.done = std::get<Done>(message);
    return finished;
  }
  Finished run(const Trial& trial) {
    send(trial);
    return finish();
  }

  CommandResult end() {
    CommandResult result = worker_.get();
    EXPECT_FALSE(result.timed_out);
    EXPECT_THAT(result.out + result.err, Not(HasSubstr(kToken)));
    return result;
  }
  CommandResult stop() {
    send(automl::Stop{});
    return end();
  }

  static Graph small() { return automl::basic_resnet({32, 32, 3, false}, 2, 1, 4, 10); }
  static Trial trial(std::int64_t id, const Graph& graph = small()) {
    Trial trial;
    trial.trial = id;
    trial.graph = automl::to_json(graph);
    trial.hyper = {32, 0.05, 5e-4, 0, 0, 0};
    trial.epochs = 2;
    trial.data = {
        {"data", "glyphs"}, {"train_size", 128}, {"eval_size", 40}, {"loader_threads", 1}};
    return trial;
  }
  // One that ends only when it is told to.
  static Trial endless(std::int64_t id) {
    Trial endless = trial(id);
    endless.epochs = 1'000'000;
    endless.patience.epochs = 0;
    return endless;
  }
  static Json last_event(const std::string& out, const std::string& name) {
    Json found;
    for (const std::string_view line : split(out, '\n')) {
      if (!line.starts_with("[PerfLog] ")) continue;
      Json json = parse_json(line.substr(10), "log");
      if (json["event"] == name) found = std::move(json);
    }
    return found;
  }
  static Json header_of(const std::string& weights) {
    const std::size_t first = weights.find('\n');
    return parse_json(weights.substr(first + 1, weights.find('\n', first + 1) - first - 1), "file");
  }

  assay::testing::TemporaryFolder folder_;
  std::string address_;
  UniqueFd listener_;
  UniqueFd peer_;
  automl::Framing framing_;
  int alive_ = 0;
  std::future<CommandResult> worker_;
};

TEST_F(WorkerTest, SaysWhoItIsAndTrainsATrial) {
  start();
  accept();
  const auto hello = expect<automl::Hello>();
  EXPECT_EQ(hello.protocol, automl::kProtocolVersion);
  EXPECT_EQ(hello.rank, 3);
  EXPECT_EQ(hello.device, "cpu");
  EXPECT_FALSE(hello.host.empty());
  expect<automl::Ready>();
  const Finished finished = run(trial(7));
  ASSERT_EQ(finished.epochs.size(), 2U);
  double best = 0;
  for (int e = 1; e <= 2; ++e) {
    const Epoch& epoch = finished.epochs[static_cast<std::size_t>(e - 1)];
    EXPECT_EQ(epoch.trial, 7);
    EXPECT_EQ(epoch.epoch, e);
    EXPECT_EQ(epoch.trained, 128 * e);
    EXPECT_EQ(epoch.validated, 40 * e);
    // A count of 40 samples.
    EXPECT_NEAR(epoch.accuracy * 40, std::round(epoch.accuracy * 40), 1e-9);
    best = std::max(best, epoch.accuracy);
  }
  EXPECT_TRUE(finished.done.ok) << finished.done.reason;
  EXPECT_EQ(finished.done.trial, 7);
  EXPECT_EQ(finished.done.epochs, 2);
  EXPECT_EQ(finished.done.accuracy, best);
  EXPECT_EQ(finished.done.trained, 256);
  EXPECT_EQ(finished.done.validated, 80);
  EXPECT_GT(finished.done.setup_s, 0);
  EXPECT_GE(finished.done.seconds, finished.epochs.back().at_s);
  EXPECT_THAT(finished.weights, ::testing::StartsWith("assay-weights 1\n"));
  const CommandResult result = stop();
  EXPECT_EQ(result.status.code, 0) << result.err;
  const Json done = last_event(result.out, "FINISHED")["value"];
  EXPECT_EQ(done["trials"], 1);
  EXPECT_EQ(done["num_trained_samples"], 256);
  const Json step = last_event(result.out, "STEP_END");
  EXPECT_EQ(step["step"], 2);
  EXPECT_EQ(step["value"]["samples"], 128);
  const automl::Operations operations = automl::exact_operations(small());
  EXPECT_EQ(step["value"]["flops"],
            128.0 * static_cast<double>(operations.forward + operations.backward));
}

TEST_F(WorkerTest, TheWaitBetweenTwoTrialsIsMeasured) {
  start();
  welcome();
  run(trial(1));
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  EXPECT_GE(run(trial(2)).done.wait_s, 0.4);
  // The answer to `ready` goes out before the weights have been read.
  send(trial(3));
  while (!std::holds_alternative<automl::Ready>(receive())) {
  }
  send(trial(4));
  (void)bytes(expect<automl::Weights>().bytes);
  EXPECT_EQ(expect<Done>().trial, 3);
  const Done done = finish().done;
  EXPECT_EQ(done.trial, 4);
  RecordProperty("wait_us", static_cast<int>(1e6 * done.wait_s));
  EXPECT_EQ(stop().status.code, 0);
}

TEST_F(WorkerTest, AChildInheritsWithoutAskingForWhatWasTrainedHere) {
  start();
  welcome();
  ASSERT_TRUE(run(trial(1)).done.ok);
  const auto operation = automl::places(small(), automl::Operation::Kind::wider).front();
  Trial child = trial(2, automl::apply(small(), operation));
  child.parent = automl::Parent{1, automl::to_json(small()), {operation}};
  const Finished finished = run(child);  // a fetch would not be an epoch
  EXPECT_TRUE(finished.done.ok) << finished.done.reason;
  EXPECT_EQ(stop().status.code, 0);
}

TEST_F(WorkerTest, AParentsWeightsAreFetchedWhenTheyAreNotHere) {
  start("threads: 1\ndevice: cpu\ncached_weights: 0\n");
  welcome();
  const std::string weights = run(trial(1)).weights;
  const auto operation = automl::places(small(), automl::Operation::Kind::deeper).front();
  Trial child = trial(2, automl::apply(small(), operation));
  child.parent = automl::Parent{1, automl::to_json(small()), {operation}};
  send(child);
  EXPECT_EQ(expect<automl::Fetch>().trial, 1);
  send(automl::Weights{1, static_cast<std::int64_t>(weights.size())});
  send_raw(weights);
  const Finished inherited = finish();
  EXPECT_TRUE(inherited.done.ok) << inherited.done.reason;

  send(child);
  expect<automl::Fetch>();
  send(automl::Weights{1, 0});
  const Finished fresh = finish();
  EXPECT_TRUE(fresh.done.ok) << fresh.done.reason;
  EXPECT_NE(inherited.epochs.front().loss, fresh.epochs.front().loss);

  send(child);
  expect<automl::Fetch>();
  send(automl::Weights{1, static_cast<std::int64_t>(weights.size()) - 1});
  send_raw(weights.substr(0, weights.size() - 1));
  const Finished damaged = finish();
  EXPECT_FALSE(damaged.done.ok);
  EXPECT_THAT(damaged.done.reason, HasSubstr("weights of trial 1: the weights are damaged"));
  EXPECT_EQ(stop().status.code, 0);
}

TEST_F(WorkerTest, ATrialThatCannotBeTrainedFailsAndTheWorkerGoesOn) {
  start();
  welcome();
  const auto reason = [&](const Trial& wrong) {
    const Finished finished = run(wrong);
    EXPECT_FALSE(finished.done.ok);
    EXPECT_TRUE(finished.weights.empty());
    return finished.done.reason;
  };
  Trial wrong = trial(1);
  wrong.graph["layer_list"] = Json::array();
  EXPECT_THAT(reason(wrong), HasSubstr("the graph"));
  EXPECT_THAT(reason(trial(2, automl::basic_resnet({32, 32, 3, false}, 1, 1, 4, 7))),
              HasSubstr("7 values, 'glyphs' has 10 classes"));
  EXPECT_THAT(reason(trial(3, automl::basic_resnet({16, 16, 3, false}, 1, 1, 4, 10))),
              HasSubstr("reads 16×16×3"));
  wrong = trial(4);
  wrong.hyper.learning_rate = 1e6;
  wrong.epochs = 20;
  EXPECT_THAT(reason(wrong), HasSubstr("the loss"));
  wrong = trial(5);
  wrong.hyper.batch_size = 1000;
  EXPECT_THAT(reason(wrong), HasSubstr("batch"));
  wrong = trial(6);
  wrong.parent = automl::Parent{1,
                                automl::to_json(small()),
                                {automl::places(small(), automl::Operation::Kind::wider).front()}};
  send(wrong);
  EXPECT_EQ(expect<automl::Fetch>().trial, 1);
  send(automl::Weights{1, 3});
  send_raw("???");
  EXPECT_THAT(finish().done.reason, HasSubstr("damaged"));
  EXPECT_TRUE(run(trial(8)).done.ok);
  const CommandResult result = stop();
  EXPECT_EQ(result.status.code, 0) << result.err;
  EXPECT_EQ(last_event(result.out, "FINISHED")["value"]["failed_trials"], 6);
}

TEST_F(WorkerTest, ATrialThatNeedsTooMuchMemoryFailsAndTheWorkerGoesOn) {
  start("threads: 1\ndevice: cpu\n", 6'000'000);
  welcome();
  using enum automl::LayerKind;
  constexpr int kUnits = 1'000'000;  // 12 GB of weights
  const Graph large({32, 32, 3, false},
                    {automl::plain_layer(flatten, 0, 1), automl::dense_layer(1, 2, 3072, kUnits),
                     automl::dense_layer(2, 3, kUnits, 10)});
  const Finished finished = run(trial(1, large));
  EXPECT_FALSE(finished.done.ok);
  EXPECT_THAT(finished.done.reason, HasSubstr("out of memory with batch_size 32"));
  EXPECT_TRUE(run(trial(2)).done.ok);
  EXPECT_EQ(stop().status.code, 0);
}

TEST_F(WorkerTest, ADroppedTrialEndsAndSignsOfLifeComeMeanwhile) {
  start();
  welcome();
  send(endless(1));
  while (alive_ == 0) expect<Epoch>();
  send(automl::Drop{1});
  const Finished finished = finish();
  EXPECT_FALSE(finished.done.ok);
  EXPECT_EQ(finished.done.reason, "dropped");
  EXPECT_TRUE(run(trial(2)).done.ok);
  EXPECT_TRUE(run(trial(1)).done.ok) << "another attempt of what was dropped";
  EXPECT_EQ(stop().status.code, 0);
}

TEST_F(WorkerTest, StopEndsATrialUnderWay) {
  start();
  welcome();
  send(endless(1));
  expect<Epoch>();
  EXPECT_EQ(stop().status.code, 0);
}

TEST_F(WorkerTest, ASignalEndsItWithoutAVerdictOnItsTrial) {
  start();
  welcome();
  send(endless(1));
  expect<Epoch>();
  ASSERT_EQ(::kill(std::stoi(read_file(pid_file())), SIGTERM), 0);
  try {
    for (;;) EXPECT_TRUE(std::holds_alternative<Epoch>(receive()));
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "the worker has closed the connection");
  }
  EXPECT_EQ(end().status.code, 128 + SIGTERM);
}

TEST_F(WorkerTest, PatienceEndsATrialEarly) {
  start();
  welcome();
  Trial stubborn = trial(1);
  stubborn.epochs = 50;
  stubborn.patience = {2, 1000};  // no epoch is better by so much
  const Finished finished = run(stubborn);
  EXPECT_TRUE(finished.done.ok);
  EXPECT_EQ(finished.done.epochs, 3);
  EXPECT_EQ(stop().status.code, 0);
}

TEST_F(WorkerTest, EveryHyperParameterChangesWhatIsTrained) {
  start();
  welcome();
  const auto first_loss = [&](const Trial& changed) {
    const Finished finished = run(changed);
    EXPECT_TRUE(finished.done.ok) << finished.done.reason;
    return finished.epochs.back().loss;
  };
  Trial base = trial(1);
  base.hyper.weight_decay = 0;
  const double loss = first_loss(base);
  EXPECT_EQ(first_loss(base), loss) << "the same trial gives the same";
  Trial changed = base;
  changed.hyper.learning_rate = 0.06;
  EXPECT_NE(first_loss(changed), loss) << "learning_rate";
  changed = base;
  changed.hyper.weight_decay = 0.01;
  EXPECT_NE(first_loss(changed), loss) << "weight_decay";
  changed = base;
  changed.hyper.label_smoothing = 0.1;
  EXPECT_NE(first_loss(changed), loss) << "label_smoothing";
  changed = base;
  changed.hyper.dropout = 0.5;
  EXPECT_NE(first_loss(changed), loss) << "dropout";
  changed = base;
  changed.seed = 2;
  EXPECT_NE(first_loss(changed), loss) << "seed";

  changed = base;
  changed.hyper.batch_size = 48;
  EXPECT_EQ(run(changed).done.trained, 2 * 96) << "whole batches";

  changed = base;
  changed.hyper.kernel_size = 5;
  const Json tensors = header_of(run(changed).weights)["tensors"];
  EXPECT_EQ(tensors[0][2], Json::array({4, 3, 5, 5}));
  const CommandResult result = stop();
  EXPECT_EQ(result.status.code, 0);
  const automl::Operations operations =
      automl::exact_operations(automl::with_kernel_size(small(), 5));
  EXPECT_EQ(last_event(result.out, "STEP_END")["value"]["flops"],
            128.0 * static_cast<double>(operations.forward + operations.backward));
}

TEST_F(WorkerTest, ARefusedWorkerSaysWhy) {
  start();
  accept();
  expect<automl::Hello>();
  send(automl::Refuse{"the token is wrong"});
  peer_.reset();
  const CommandResult result = end();
  EXPECT_EQ(result.status.code, 1);
  EXPECT_THAT(result.err,
              HasSubstr("coordinator " + address_ + ": refuses this worker: the token is wrong"));
}

TEST_F(WorkerTest, ACoordinatorThatVanishesEndsTheWorker) {
  start();
  welcome();
  send(endless(1));
  expect<Epoch>();
  peer_.reset();
  const CommandResult result = end();
  EXPECT_EQ(result.status.code, 1);
  EXPECT_THAT(result.err, HasSubstr("coordinator " + address_));
}

TEST_F(WorkerTest, GarbageEndsTheWorkerWithItsText) {
  start();
  welcome();
  send_raw("what is this?\n");
  const CommandResult result = end();
  EXPECT_EQ(result.status.code, 1);
  EXPECT_THAT(result.err, HasSubstr("a line is not a message: what is this?"));
}

TEST_F(WorkerTest, ATrialThatWasNotAskedForIsAnError) {
  start();
  welcome();
  send(endless(1));
  expect<Epoch>();
  send(trial(2));
  const CommandResult result = end();
  EXPECT_EQ(result.status.code, 1);
  EXPECT_THAT(result.err, HasSubstr("trial 2 was not asked for"));
}

TEST_F(WorkerTest, WaitsForATrialOnlySoLong) {
  start("threads: 1\ndevice: cpu\ntrial_timeout_s: 0.3\n");
  welcome();
  const CommandResult result = end();
  EXPECT_EQ(result.status.code, 1);
  EXPECT_THAT(result.err, HasSubstr("has given no trial for 0.3 s"));
}

TEST_F(WorkerTest, SaysThatNobodyListens) {
  const UniqueFd deaf = bound();  // holds the port, so that nobody else can listen there
  start("threads: 1\ndevice: cpu\nconnect_timeout_s: 0.3\n");
  const CommandResult result = end();
  EXPECT_EQ(result.status.code, 1);
  EXPECT_THAT(result.err, HasSubstr("cannot be reached within 0.3 s: Connection refused"));
}

TEST_F(WorkerTest, DataThatAreMissingHereEndTheWorker) {
  start();
  welcome();
  Trial missing = trial(1);
  missing.data = {{"data", "cifar10"}, {"path", "/nowhere/at/all"}};
  send(missing);
  const CommandResult result = end();
  EXPECT_EQ(result.status.code, 3);
  EXPECT_THAT(result.err, HasSubstr("/nowhere/at/all"));
}

TEST_F(WorkerTest, AWrongDataConfigurationEndsTheWorker) {
  start();
  welcome();
  Trial wrong = trial(1);
  wrong.data["batch_size"] = 3;
  send(wrong);
  const CommandResult result = end();
  EXPECT_EQ(result.status.code, 2);
  EXPECT_THAT(result.err, HasSubstr("'batch_size' is not for the data of an experiment"));
}

TEST(Worker, NeedsTheEnvironmentOfARun) {
  CommandOptions options;
  options.timeout = kPatience;
  options.env = {{automl::kAddressVariable, ""}};
  const CommandResult result =
      run_command({std::string(ASSAY_BIN_DIR) + "/assay-train", "automl-worker"}, options);
  EXPECT_EQ(result.status.code, 2);
  EXPECT_THAT(result.err, HasSubstr("ASSAY_AUTOML_ADDRESS is not set"));
}

}  // namespace
}  // namespace assay::train
