#include "train/automl/worker.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "core/host.h"
#include "core/time.h"
#include "train/automl/coordinator_link.h"
#include "train/automl/trial.h"
#include "train/loop/device.h"
#include "workload/runtime.h"

namespace assay::train {
namespace {

using std::chrono::milliseconds;

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
};

// The weights of the last few trials that were trained or fetched here.
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
        runner_(device_, settings.threads, place, log),
        cache_(settings.cached),
        connection_(
            {coordinator.address, settings.connect},
            {automl::kProtocolVersion, coordinator.token, place.rank, host_name(), device_.str()}) {
  }

  int run();

 private:
  [[nodiscard]] static bool give_up() { return workload::stop_signal() != 0; }
  void train(const automl::Trial& trial);
  /// Whether a trial was cut off because this worker ends.
  [[nodiscard]] bool cut_off(const automl::Done& done) {
    return !done.ok && (give_up() || connection_.stopped());
  }
  [[nodiscard]] std::optional<GraphWeights> parent(const automl::Parent& parent,
                                                   const automl::Graph& graph);

  WorkerSettings settings_;
  perflog::Writer& log_;
  torch::Device device_;
  TrialRunner runner_;
  Cache cache_;
  Connection connection_;
  std::int64_t idle_ns_ = 0;  // since when there is nothing to train
  std::int64_t trials_ = 0;
  std::int64_t failed_ = 0;
  double busy_s_ = 0;
  double wait_s_ = 0;
};

std::optional<GraphWeights> Worker::parent(const automl::Parent& parent,
                                           const automl::Graph& graph) {
  if (const auto cached = cache_.find(parent.trial)) return *cached;
  const std::string bytes = connection_.weights(parent.trial, settings_.trial, give_up);
  if (bytes.empty()) return std::nullopt;
  const std::string where = fmt::format("weights of trial {}", parent.trial);
  try {
    auto weights = std::make_shared<const GraphWeights>(decode_weights(bytes, graph, where));
    cache_.put(parent.trial, weights);
    return *weights;
  } catch (const Error& error) {
    // Does not concern other trials.
    throw Error(ErrorKind::config, error.message(), where);
  }
}

void Worker::train(const automl::Trial& trial) {
  const double wait_s = seconds(Nanoseconds(mono_now_ns() - idle_ns_));
  const TrialRunner::Callbacks callbacks{
      [this](const automl::Parent& from, const automl::Graph& graph) {
        return parent(from, graph);
      },
      [this](const automl::Epoch& epoch) { connection_.send(epoch); },
      [this, id = trial.trial] { return give_up() || connection_.ended(id); },
      // The next trial is on its way while this one is cleared away and its weights go out.
      [this](const automl::Done& done) {
        if (!cut_off(done)) connection_.ask();
      }};
  TrialRunner::Outcome outcome = runner_.run(trial, callbacks);
  idle_ns_ = outcome.end_ns;
  // No verdict on it: another worker may train it.
  if (cut_off(outcome.done)) return;
  outcome.done.wait_s = wait_s;
  ++trials_;
  failed_ += outcome.done.ok ? 0 : 1;
  busy_s_ += outcome.done.seconds;
  wait_s_ += wait_s;
  if (outcome.done.ok && trial.keep_weights && outcome.graph) {
    const auto weights = std::make_shared<const GraphWeights>(std::move(outcome.weights));
    cache_.put(trial.trial, weights);
    connection_.send_later([id = trial.trial, graph = *outcome.graph, weights] {
      const std::string bytes = encode_weights(graph, *weights);
      const automl::Weights header{id, static_cast<std::int64_t>(bytes.size())};
      return automl::encode(automl::WorkerMessage(header)) + bytes;
    });
  }
  connection_.send(outcome.done);
}

int Worker::run() {
  log_.init_end();
  log_.train_start();
  const std::int64_t begin_ns = mono_now_ns();
  idle_ns_ = begin_ns;
  connection_.ask();
  while (!give_up()) {
    const auto trial = connection_.next_trial(settings_.trial, give_up);
    if (!trial) break;
    train(*trial);
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
