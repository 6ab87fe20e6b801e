// How busy a coordinator keeps many workers. Trials pass in virtual time, but the coordinator's
// work is really done and timed: the state machine, the messages' text and the synced journal on
// one core, the search on another. Both are queues. The search is measured in CPU time, the loop,
// which waits for the disk, by the clock. The network is left out, and so is a worker's own work
// between two trials.
//
//   simulate_workers WORKERS MEAN_TRIAL_S TRIALS [START_MODEL [TURN]]
//
// TURN is the most messages that share a sync of the journal; 1 shows what sharing gains.
//
// A trial takes from half to one and a half times the mean, uniformly, and reports three epochs.
// Utilization is measured from the start until the last trial is handed out.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include <time.h>

#include "automl/experiment.h"
#include "automl/experiment_journal.h"
#include "automl/seeded_random.h"
#include "core/error.h"
#include "core/scratch_folder.h"

namespace {

using namespace assay;
using namespace assay::automl;

constexpr std::size_t kTurn = 128;  // the number of events that asio requests from epoll

// Measured for this thread, so that other work on the machine does not count.
double cpu_s(const std::function<void()>& work) {
  timespec begun{};
  timespec ended{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begun);
  work();
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ended);
  return static_cast<double>(ended.tv_sec - begun.tv_sec) +
         1e-9 * static_cast<double>(ended.tv_nsec - begun.tv_nsec);
}

double real_s(const std::function<void()>& work) {
  const auto begun = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
}

class Simulation {
 public:
  Simulation(ExperimentSettings settings, double mean_s, std::size_t turn,
             const std::filesystem::path& directory)
      : settings_(std::move(settings)),
        mean_s_(mean_s),
        turn_(turn),
        experiment_(settings_),
        planner_(settings_),
        journal_(directory / "journal.jsonl") {}

  void run() {
    on_loop(0, [this](double t) { return experiment_.begin(t); });
    for (int w = 0; w < settings_.workers; ++w) {
      waiting_since_[w] = 0;
      at(0, [this, w](double t) {
        on_loop(t, [this, w](double now) {
          return experiment_.joined(now, w, {kProtocolVersion, "", w, "host", "cpu"});
        });
        say(t, w, Ready{});
      });
    }
    // After the last trial workers have nothing to do, which says nothing about the coordinator.
    while (!events_.empty() && handed_out_ < settings_.max_trials) {
      const Event event = events_.top();
      events_.pop();
      now_ = event.t;
      event.what(event.t);
    }
  }

  void report() const {
    double waited = waited_s_;
    for (const auto& [worker, since] : waiting_since_) waited += now_ - since;
    const double present = now_ * settings_.workers;
    const std::int64_t later = proposals_ - settings_.workers;
    std::printf(
        "| %d | %.0f s | %lld | %.2f %% | %.1f | %.1f | %.0f %% | %.0f %% |\n", settings_.workers,
        mean_s_, static_cast<long long>(proposals_), 100 * (1 - waited / present),
        later > 0 ? static_cast<double>(later) / later_s_ : 0.0, settings_.workers / mean_s_,
        100 * search_busy_s_ / now_, 100 * loop_busy_s_ / now_);
  }

 private:
  struct Event {
    double t;
    std::int64_t order;
    std::function<void(double)> what;
    bool operator<(const Event& other) const {
      return t != other.t ? t > other.t : order > other.order;
    }
  };
  void at(double t, std::function<void(double)> what) {
    events_.push({t, order_++, std::move(what)});
  }

  void say(double t, int worker, const WorkerMessage& message) {
    on_loop(t, [this, worker, line = trim_line(encode(message))](double now) {
      return experiment_.received(now, worker, decode_worker_message(line, "w"));
    });
  }
  static std::string trim_line(std::string line) {
    line.pop_back();
    return line;
  }

  // The loop takes turns: it handles what has arrived, at most as much as the kernel reports at
  // once, one thing after another, with a single journal sync for all.
  void on_loop(double t, std::function<Experiment::Actions(double)> work) {
    inbox_.push_back(std::move(work));
    if (std::exchange(turn_comes_, true)) return;
    at(std::max(t, loop_free_), [this](double begin) { turn(begin); });
  }

  void turn(double begin) {
    std::vector<Experiment::Actions> done;
    const double cost = real_s([&] {
      for (std::size_t n = std::min(inbox_.size(), turn_); n > 0; --n) {
        done.push_back(inbox_.front()(begin));
        inbox_.pop_front();
        for (const Json& event : done.back().journal) journal_.append(event);
      }
      journal_.commit();
      for (const Experiment::Actions& actions : done)
        for (const auto& send : actions.send) (void)encode(send.message);
    });
    loop_busy_s_ += cost;
    loop_free_ = begin + cost;
    for (const Experiment::Actions& actions : done) {
      for (const auto& tell : actions.tell)
        search(loop_free_, [this, tell] {
          if (tell.accuracy)
            planner_.tell(tell.trial, *tell.accuracy);
          else
            planner_.tell_failed(tell.trial, tell.reason);
        });
      for (const auto& send : actions.send)
        if (const auto* trial = std::get_if<Trial>(&send.message))
          train(loop_free_, send.worker, trial->trial);
    }
    for (int n = experiment_.proposals_wanted(proposing_); n > 0; --n) propose(loop_free_);
    turn_comes_ = !inbox_.empty();
    if (turn_comes_) at(loop_free_, [this](double next) { turn(next); });
  }

  double search(double t, const std::function<void()>& work) {
    const double begin = std::max(t, search_free_);
    const double cost = cpu_s(work);
    search_busy_s_ += cost;
    return search_free_ = begin + cost;
  }

  void propose(double t) {
    ++proposing_;
    ++proposals_;
    // Made when the event occurs: results that arrive before it belong before it.
    at(std::max(t, search_free_), [this](double begin) {
      Planned planned = [&] {
        std::optional<Planned> made;
        const double before = search_busy_s_;
        search(begin, [&] { made = planner_.propose(); });
        if (proposals_ > settings_.workers) later_s_ += search_busy_s_ - before;
        return std::move(*made);
      }();
      at(search_free_, [this, planned = std::move(planned)](double done) {
        // In progress until the experiment has it; otherwise too many would be requested.
        on_loop(done, [this, planned](double now) {
          --proposing_;
          return experiment_.proposed(now, planned);
        });
      });
    });
  }

  void train(double t, int worker, std::int64_t id) {
    ++handed_out_;
    waited_s_ += t - waiting_since_.at(worker);
    waiting_since_.erase(worker);
    const double length = mean_s_ * (0.5 + random_.uniform());
    const double accuracy = 0.5 + 0.4 * random_.uniform();
    for (int e = 1; e <= 3; ++e)
      at(t + length * e / 3, [this, worker, id, e, accuracy, length](double now) {
        say(now, worker, Epoch{id, e, accuracy * e / 3, 1, 1000 * e, 100 * e, length * e / 3});
        if (e < 3) return;
        waiting_since_[worker] = now;
        say(now, worker, Done{id, true, "", accuracy, 3, 3000, 300, length, 0, 0});
        say(now, worker, Ready{});
      });
  }

  ExperimentSettings settings_;
  double mean_s_;
  std::size_t turn_;
  Experiment experiment_;
  Planner planner_;
  ExperimentJournal journal_;
  Random random_{1};
  std::priority_queue<Event> events_;
  std::int64_t order_ = 0;
  double now_ = 0;
  double loop_free_ = 0;
  double search_free_ = 0;
  double loop_busy_s_ = 0;
  double search_busy_s_ = 0;
  double later_s_ = 1e-9;  // for proposals after the first round
  double waited_s_ = 0;
  std::map<int, double> waiting_since_;
  std::deque<std::function<Experiment::Actions(double)>> inbox_;
  bool turn_comes_ = false;
  int proposing_ = 0;
  std::int64_t handed_out_ = 0;
  std::int64_t proposals_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr,
                 "usage: simulate_workers WORKERS MEAN_TRIAL_S TRIALS [START_MODEL [TURN]]\n");
    return 2;
  }
  try {
    const ScratchFolder folder("assay-workers");
    ExperimentSettings settings;
    settings.workers = std::max(1, std::atoi(argv[1]));
    settings.max_trials = std::max(1, std::atoi(argv[3]));
    settings.start = argc > 4 ? argv[4] : "resnet50";
    settings.max_duration = std::chrono::hours(24 * 365);
    settings.silence = std::chrono::hours(24 * 365);
    const auto turn = argc > 5 ? static_cast<std::size_t>(std::max(1, std::atoi(argv[5]))) : kTurn;
    Simulation simulation(settings, std::atof(argv[2]), turn, folder.path());
    simulation.run();
    simulation.report();
  } catch (const Error& error) {
    std::fprintf(stderr, "simulate_workers: %s\n", error.what());
    return exit_code(error.kind());
  }
  return 0;
}
