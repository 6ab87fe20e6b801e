// The benefit of a parent's weights for a child: epochs and seconds until it reaches its parent's
// accuracy, with and without them, on generated images. usage: bench_inheritance [SEEDS [EPOCHS
// [TRAINING-SAMPLES]]]
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "automl/morphism.h"
#include "automl/start_models.h"
#include "automl/worker_protocol.h"
#include "core/error.h"
#include "perflog/writer.h"
#include "train/automl/trial.h"
#include "train/automl/trial_group.h"

namespace {

using namespace assay;
using automl::Graph;
using automl::Operation;

constexpr int kHeldOut = 500;

struct Run {
  int epochs = 0;  // until the target, or all
  double seconds = 0;
  bool reached = false;
  double best = 0;
  double first = 0;  // accuracy after one epoch
};

class Bench {
 public:
  Bench(int epochs, int samples)
      : epochs_(epochs),
        samples_(samples),
        null_(std::fopen("/dev/null", "w")),
        log_(null_, 0),
        group_({}, 1, torch::Device(torch::kCPU)),
        runner_(torch::Device(torch::kCPU), 0, {}, group_, log_) {}
  ~Bench() { std::fclose(null_); }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  automl::Trial trial(const Graph& graph, int seed) const {
    automl::Trial trial;
    trial.graph = automl::to_json(graph);
    trial.hyper = {16, 0.05, 5e-4, 0, 0, 0};
    trial.epochs = epochs_;
    trial.patience.epochs = 0;
    trial.seed = static_cast<std::uint64_t>(seed);
    trial.data = {{"data", "glyphs"},
                  {"train_size", samples_},
                  {"eval_size", kHeldOut},
                  {"augment", false},
                  {"label_noise", 0}};
    return trial;
  }

  train::TrialRunner::Outcome parent(const Graph& graph, int seed) {
    return runner_.run(trial(graph, seed), {});
  }

  // Ends once the target is reached.
  Run child(const automl::Trial& trial, const train::GraphWeights* weights, double target) {
    Run run;
    train::TrialRunner::Callbacks callbacks;
    if (weights != nullptr)
      callbacks.parent = [&](const automl::Parent&, const Graph&) {
        return std::optional(*weights);
      };
    callbacks.epoch = [&](const automl::Epoch& epoch) {
      run.epochs = epoch.epoch;
      run.seconds = epoch.at_s;
      run.best = std::max(run.best, epoch.accuracy);
      if (epoch.epoch == 1) run.first = epoch.accuracy;
      run.reached = epoch.accuracy >= target;
    };
    callbacks.ended = [&] { return run.reached; };
    const auto outcome = runner_.run(trial, callbacks);
    if (!outcome.done.ok && !run.reached) throw Error(ErrorKind::round_failed, outcome.done.reason);
    return run;
  }

 private:
  int epochs_;
  int samples_;
  std::FILE* null_;
  perflog::Writer log_;
  train::TrialGroup group_;
  train::TrialRunner runner_;
};

std::string shown(const Run& run) {
  char text[64];
  std::snprintf(text, sizeof text, "%s%d (%.1f s)", run.reached ? "" : "> ", run.epochs,
                run.seconds);
  return text;
}

int measure(int seeds, int epochs, int samples) {
  const Graph start = automl::basic_resnet({32, 32, 3, false}, 3, 1, 8, 10);
  const std::array<std::pair<Operation::Kind, const char*>, 4> kinds{
      {{Operation::Kind::deeper, "deeper"},
       {Operation::Kind::wider, "wider"},
       {Operation::Kind::add_skip, "skip by add"},
       {Operation::Kind::concat_skip, "skip by concat"}}};
  Bench bench(epochs, samples);
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  std::printf("%d training samples, %d epochs; accuracy on %d held-out samples\n\n", samples,
              epochs, kHeldOut);
  std::printf(
      "| seed | morphism | parent | after 1 epoch, inherited | fresh | epochs to the parent's, "
      "inherited | fresh |\n|---|---|---|---|---|---|---|\n");
  for (int seed = 1; seed <= seeds; ++seed) {
    const auto parent = bench.parent(start, seed);
    if (!parent.done.ok) throw Error(ErrorKind::round_failed, parent.done.reason);
    for (const auto& [kind, name] : kinds) {
      const std::vector<Operation> all = automl::places(start, kind);
      automl::Random random(static_cast<std::uint64_t>(seed), static_cast<std::uint64_t>(kind));
      const Operation operation = all[random.below(all.size())];
      automl::Trial trial = bench.trial(automl::apply(start, operation), 1000 + seed);
      trial.parent = automl::Parent{0, automl::to_json(start), {operation}};
      const Run inherited = bench.child(trial, &parent.weights, parent.done.accuracy);
      const Run fresh = bench.child(trial, nullptr, parent.done.accuracy);
      std::printf("| %d | %s | %.3f | %.3f | %.3f | %s | %s |\n", seed, name, parent.done.accuracy,
                  inherited.first, fresh.first, shown(inherited).c_str(), shown(fresh).c_str());
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const auto argument = [&](int index, int fallback) {
    return argc > index ? std::atoi(argv[index]) : fallback;
  };
  try {
    return measure(argument(1, 3), argument(2, 6), argument(3, 2048));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_inheritance: %s\n", error.what());
    return 1;
  }
}
