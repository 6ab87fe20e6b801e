#include "train/automl/worker.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "core/host.h"
#include "core/parse_number.h"
#include "core/time.h"
#include "train/automl/coordinator_link.h"
#include "train/automl/trial.h"
#include "train/automl/trial_group.h"
#include "train/loop/device.h"
#include "workload/runtime.h"

namespace assay::train {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kBeforeReturn{500};
constexpr Nanoseconds kSayWait = std::chrono::minutes(1);
// Sent by the first rank of a group instead of a trial.
constexpr const char* kWait = "wait";
constexpr const char* kStop = "stop";

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0')
    throw Error(ErrorKind::usage, fmt::format("{} is not set", name), {},
                "a worker is started by the run of an AutoML experiment, which sets it");
  return value;
}

struct WorkerSettings {
  std::string device;
  std::int64_t threads;
  milliseconds connect;
  milliseconds trial;
  std::size_t cached;

  explicit WorkerSettings(workload::Options& options)
      : device(options.choice("device", "auto", {"auto", "cpu", "cuda"},
                              "auto takes CUDA device `LOCAL_RANK` when there is one")),
        threads(options.integer("threads", 0, 0, 4096,
                                "of a worker on the CPU; 0 is its share of the machine")),
        connect(read_seconds(options, "connect_timeout_s", 60,
                             "longest time until the coordinator answers the first time")),
        trial(
            read_seconds(options, "trial_timeout_s", 600,
                         "longest wait for a trial, and for the next piece of a parent's weights")),
        cached(static_cast<std::size_t>(
            options.integer("cached_weights", 4, 0, 1000,
                            "trials whose weights are kept here, trained or fetched"))) {
    options.reject_unknown();
  }

 private:
  static milliseconds read_seconds(workload::Options& options, const char* key, double fallback,
                                   const char* about) {
    return milliseconds(
        static_cast<std::int64_t>(1000 * options.number(key, fallback, 0.1, 1e6, about)));
  }
};

struct Coordinator {
  std::string address = variable(automl::kAddressVariable);
  std::string token = variable(automl::kTokenVariable);
  int devices = devices_per_trial();

 private:
  static int devices_per_trial() {
    const char* text = std::getenv(automl::kDevicesVariable);
    if (text == nullptr || *text == '\0') return 1;
    const auto number = parse_number<int>(text);
    if (!number || *number < 1)
      throw Error(ErrorKind::usage, fmt::format("'{}' is not a number of devices", text),
                  automl::kDevicesVariable);
    return *number;
  }
};

// The weights of the last few trials trained or fetched here.
class Cache {
 public:
  explicit Cache(std::size_t size) : size_(size) {}

  void put(std::int64_t trial, std::shared_ptr<const GraphWeights> weights) {
    std::erase_if(entries_, [&](const Entry& entry) { return entry.first == trial; });
    entries_.emplace_front(trial, std::move(weights));
    if (entries_.size() > size_) entries_.pop_back();
  }
  [[nodiscard]] std::shared_ptr<const GraphWeights> find(std::int64_t trial) {
    for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
      if (entry->first != trial) continue;
      entries_.splice(entries_.begin(), entries_, entry);
      return entry->second;
    }
    return nullptr;
  }

 private:
  using Entry = std::pair<std::int64_t, std::shared_ptr<const GraphWeights>>;
  std::size_t size_;
  std::list<Entry> entries_;
};

class Worker {
 public:
  Worker(const WorkerSettings& settings, const Coordinator& coordinator,
         const workload::Place& place, perflog::Writer& log)
      : settings_(settings),
        log_(log),
        device_(choose_device(settings.device, place)),
        group_(place, coordinator.devices, device_),
        runner_(device_, settings.threads, place, group_, log),
        cache_(settings.cached),
        coordinator_(coordinator),
        hello_{automl::kProtocolVersion, coordinator.token, group_.worker(), host_name(),
               group_.alone() ? device_.str()
                              : fmt::format("{} and {} more", device_.str(), group_.size() - 1)} {
    if (group_.leads()) connect();
  }

  int run();

 private:
  [[nodiscard]] static bool give_up() { return workload::stop_signal() != 0; }
  void connect() {
    ConnectionOptions options{coordinator_.address, settings_.connect};
    options.give_up = give_up;
    connection_.reset();
    connection_ = std::make_unique<Connection>(options, hello_);
  }
  void lead();
  void serve();
  void follow();
  void say_wait();
  void train(const automl::Trial& trial);
  /// Whether a trial was interrupted because this worker is ending.
  [[nodiscard]] bool cut_off(const automl::Done& done) {
    return !done.ok && (give_up() || connection_->stopped() || connection_->is_broken());
  }
  [[nodiscard]] std::optional<GraphWeights> parent(const automl::Parent& parent,
                                                   const automl::Graph& graph);

  WorkerSettings settings_;
  perflog::Writer& log_;
  torch::Device device_;
  TrialGroup group_;
  TrialRunner runner_;
  Cache cache_;
  Coordinator coordinator_;
  automl::Hello hello_;
  std::unique_ptr<Connection> connection_;
  std::int64_t idle_ns_ = 0;  // when the worker became idle
  std::int64_t said_ns_ = 0;  // when the group was last told to wait
  std::int64_t trials_ = 0;
  std::int64_t failed_ = 0;
  double busy_s_ = 0;
  double wait_s_ = 0;
};

std::optional<GraphWeights> Worker::parent(const automl::Parent& parent,
                                           const automl::Graph& graph) {
  if (const auto cached = cache_.find(parent.trial)) return *cached;
  const std::string bytes = connection_->weights(parent.trial, settings_.trial, give_up);
  if (bytes.empty()) return std::nullopt;
  const std::string where = fmt::format("weights of trial {}", parent.trial);
  try {
    auto weights = std::make_shared<const GraphWeights>(decode_weights(bytes, graph, where));
    cache_.put(parent.trial, weights);
    return *weights;
  } catch (const Error& error) {
    // Other trials are not affected.
    throw Error(ErrorKind::config, error.message(), where);
  }
}

void Worker::train(const automl::Trial& trial) {
  const double wait_s = seconds(Nanoseconds(mono_now_ns() - idle_ns_));
  const TrialRunner::Callbacks callbacks{
      [this](const automl::Parent& from, const automl::Graph& graph) {
        return parent(from, graph);
      },
      [this](const automl::Inherited& inherited) { connection_->send(inherited); },
      [this](const automl::Epoch& epoch) { connection_->send(epoch); },
      [this, id = trial.trial] {
        connection_->progressed();
        return give_up() || connection_->ended(id);
      },
      // Requests the next trial while this one is cleaned up and its weights are sent.
      [this](const automl::Done& done) {
        if (!cut_off(done)) connection_->ask();
      }};
  TrialRunner::Outcome outcome = runner_.run(trial, callbacks);
  idle_ns_ = outcome.end_ns;
  // Not a verdict: another worker may train it.
  if (cut_off(outcome.done)) return;
  outcome.done.wait_s = wait_s;
  ++trials_;
  failed_ += outcome.done.ok ? 0 : 1;
  busy_s_ += outcome.done.seconds;
  wait_s_ += wait_s;
  if (outcome.done.ok && trial.keep_weights && outcome.graph) {
    const auto weights = std::make_shared<const GraphWeights>(std::move(outcome.weights));
    cache_.put(trial.trial, weights);
    connection_->send_later([id = trial.trial, graph = *outcome.graph, weights] {
      const std::string bytes = encode_weights(graph, *weights);
      const automl::Weights header{id, static_cast<std::int64_t>(bytes.size())};
      return automl::encode(automl::WorkerMessage(header)) + bytes;
    });
  }
  connection_->send(outcome.done);
}

// The rest of the group waits for a trial only for a limited time.
void Worker::say_wait() {
  const std::int64_t now = mono_now_ns();
  if (group_.alone() || now - said_ns_ < kSayWait.count()) return;
  said_ns_ = now;
  (void)group_.share(kWait);
}

void Worker::serve() {
  connection_->ask();
  const auto leave = [this] {
    say_wait();
    return give_up();
  };
  while (!give_up()) {
    said_ns_ = mono_now_ns();
    const auto trial = connection_->next_trial(settings_.trial, leave);
    if (!trial) break;
    if (!group_.alone()) (void)group_.share(automl::encode(automl::CoordinatorMessage(*trial)));
    train(*trial);
  }
}

void Worker::lead() {
  for (;;) {
    try {
      serve();
      return;
    } catch (const ConnectionError& error) {
      if (!error.was_cut || give_up()) throw;
      std::fprintf(stderr, "assay-train: %s; this worker connects again\n", error.what());
    }
    // Waits, so as not to flood a coordinator that closes every connection.
    std::this_thread::sleep_for(kBeforeReturn);
    connect();
  }
}

void Worker::follow() {
  for (;;) {
    const std::string said = group_.share({});
    if (said == kWait) continue;
    if (said == kStop) return;
    const auto message = automl::decode_coordinator_message(said, "the group's first rank");
    const TrialRunner::Callbacks callbacks{{}, {}, {}, give_up, {}};
    const TrialRunner::Outcome outcome = runner_.run(std::get<automl::Trial>(message), callbacks);
    ++trials_;
    failed_ += outcome.done.ok ? 0 : 1;
    busy_s_ += outcome.done.seconds;
  }
}

int Worker::run() {
  log_.init_end();
  log_.train_start();
  const std::int64_t begin_ns = mono_now_ns();
  idle_ns_ = begin_ns;
  if (group_.leads()) {
    try {
      lead();
    } catch (const ConnectionError&) {
      (void)group_.share(kStop);
      throw;
    }
    (void)group_.share(kStop);
  } else {
    follow();
  }
  log_.train_end();
  if (workload::stop_signal() != 0) return workload::exit_code(log_);
  const std::string device = device_.str();
  log_.finished({{"train_time", seconds(Nanoseconds(mono_now_ns() - begin_ns))},
                 {"trials", trials_},
                 {"failed_trials", failed_},
                 {"epochs", runner_.epochs()},
                 {"num_trained_samples", runner_.samples()},
                 {"busy_s", busy_s_},
                 {"wait_s", wait_s_},
                 {"device", std::string_view(device)}});
  return workload::exit_code(log_);
}

int run_worker(const WorkerSettings& settings, const workload::Place& place, perflog::Writer& log) {
  const Coordinator coordinator;
  log.init_start();
  try {
    return Worker(settings, coordinator, place, log).run();
  } catch (const ConnectionError& error) {
    std::fprintf(stderr, "assay-train: %s\n", error.what());
    return 1;
  }
}

}  // namespace

workload::Workload automl_worker() {
  return workload::single_workload("automl-worker", run_worker);
}

}  // namespace assay::train
