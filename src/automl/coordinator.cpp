#include "automl/coordinator.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <optional>
#include <utility>
#include <vector>

#include <asio/post.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/thread_pool.hpp>
#include <asio/use_awaitable.hpp>

#include "automl/experiment_events.h"
#include "automl/experiment_journal.h"
#include "automl/weights_store.h"
#include "automl/worker_server.h"
#include "core/error.h"
#include "core/files.h"
#include "core/json_error.h"
#include "core/run_layout.h"
#include "core/time.h"

namespace assay::automl {

namespace {

using namespace std::chrono_literals;

constexpr auto kLeaveLimit = 10s;
constexpr auto kTickEvery = 250ms;

std::filesystem::path journal_file(const std::filesystem::path& experiment) {
  return experiment / std::filesystem::path(layout::kExperimentJournal).filename();
}

}  // namespace

class Coordinator::Impl : public std::enable_shared_from_this<Impl> {
 public:
  Impl(asio::io_context& loop, const ExperimentSettings& settings, Options options)
      : options_(std::move(options)),
        loop_(loop),
        tick_(loop),
        journal_(journal_file(prepared(options_.directory))),
        weights_(options_.directory / "weights", settings.weights_bytes),
        experiment_(settings),
        workers_(std::make_shared<WorkerServer>(loop, weights_, hooks())),
        planner_(settings) {
    const std::filesystem::path file = journal_file(options_.directory);
    const std::vector<Json> events = ExperimentJournal::read(file);
    std::vector<Planned> planned;
    if (!events.empty()) {
      planned = planner_.replay(events, file.string());
      told_ = planner_.told();
      to_make_again_ = planner_.under_way();
      for (const Json& event : events)
        base_s_ = std::max(base_s_, journal::read<journal::Stamps>(event).at_s);
    }
    workers_->listen(options_.bind_address);
    begun_ns_ = mono_now_ns();
    apply(experiment_.begin(now_s(), planned, events));
    commit();  // the experiment is on the disk before the constructor returns
    for (const Planned& p : planned)
      if (const auto accuracy = experiment_.accuracy(p.proposal.id))
        weights_.value(p.proposal.id, *accuracy);
    weights_.on_change(
        [this](std::int64_t trial, std::int64_t bytes, const std::string& problem, bool displaced) {
          apply(experiment_.weights(now_s(), trial, bytes, problem, displaced));
        });
  }

  void start() {
    started_ = true;
    workers_->accept();
    propose();
    tick();
  }

  void end(ExperimentEnd reason, const std::string& detail) {
    apply(experiment_.end(now_s(), reason, detail));
  }

  asio::awaitable<void> run() {
    asio::error_code ec;
    std::optional<std::int64_t> since;
    while (!failure_) {
      if (experiment_.ended()) {
        if (!since) since = mono_now_ns();
        if (workers_->empty() ||
            mono_now_ns() - *since > std::chrono::nanoseconds(kLeaveLimit).count())
          break;
      }
      wake_.expires_after(kTickEvery);
      co_await wake_.async_wait(asio::redirect_error(asio::use_awaitable, ec));
    }
    shut();
    if (failure_) std::rethrow_exception(failure_);
  }

  void shut() {
    if (!failure_) {
      try {
        journal_.commit();  // no worker is left for what follows from it
      } catch (...) {
        failure_ = std::current_exception();
      }
    }
    uncommitted_.clear();
    stopped_ = true;
    tick_.cancel();
    workers_->close();
    pool_.stop();
    pool_.join();
  }

  [[nodiscard]] double now_s() const {
    return base_s_ + static_cast<double>(mono_now_ns() - begun_ns_) * 1e-9;
  }

  Options options_;
  asio::io_context& loop_;
  asio::steady_timer tick_;
  asio::steady_timer wake_{loop_};
  ExperimentJournal journal_;
  WeightsStore weights_;
  Experiment experiment_;
  std::shared_ptr<WorkerServer> workers_;

 private:
  // Closed before this object goes, so that none of them comes later.
  WorkerServer::Hooks hooks() {
    WorkerServer::Hooks hooks;
    hooks.joined = [this](int worker, const Hello& hello) {
      apply(experiment_.joined(now_s(), worker, hello));
    };
    hooks.received = [this](int worker, const WorkerMessage& message) {
      apply(experiment_.received(now_s(), worker, message));
    };
    hooks.failed = [this](int worker, std::int64_t trial, const std::string& why) {
      apply(experiment_.failed(now_s(), worker, trial, why));
    };
    hooks.left = [this](int worker, const std::string& reason) {
      apply(experiment_.left(now_s(), worker, reason));
    };
    hooks.dropped = [this] { wake_.cancel(); };
    hooks.parameters = [this](std::int64_t trial) {
      const Graph* graph = experiment_.graph(trial);
      return graph == nullptr ? std::nullopt : std::optional(graph->parameters());
    };
    return hooks;
  }

  static const std::filesystem::path& prepared(const std::filesystem::path& directory) {
    make_directories(directory);
    return directory;
  }

  // What follows from events waits until they are on the disk; those of one turn of the loop share
  // a sync, so that thousands of workers who speak at once do not wait for one each.
  // A journal that cannot be written ends the experiment, not the process.
  void apply(Experiment::Actions actions) {
    if (failure_) return;
    try {
      for (Json& event : actions.journal) {
        event["wall_ns"] = wall_now_ns();
        journal_.append(event);
      }
    } catch (...) {
      return fail();
    }
    actions.journal.clear();
    uncommitted_.push_back(std::move(actions));
    if (std::exchange(commit_asked_, true)) return;
    asio::post(loop_, [self = weak_from_this()] {
      if (const auto alive = self.lock()) alive->commit();
    });
  }

  void fail() {
    failure_ = std::current_exception();
    wake_.cancel();
  }

  void commit() {
    commit_asked_ = false;
    if (failure_) return;
    try {
      journal_.commit();
    } catch (...) {
      return fail();
    }
    // What is sent may fail and so lead to further actions.
    for (Experiment::Actions& actions : std::exchange(uncommitted_, {})) follow(actions);
    propose();
    if (experiment_.ended()) wake_.cancel();
    if (started_ && options_.on_progress) options_.on_progress();
  }

  void follow(Experiment::Actions& actions) {
    for (Experiment::Tell& tell : actions.tell) {
      if (tell.accuracy) weights_.value(tell.trial, *tell.accuracy);
      ++told_;
      asio::post(pool_, [this, tell = std::move(tell)] {
        if (tell.accuracy)
          planner_.tell(tell.trial, *tell.accuracy);
        else
          planner_.tell_failed(tell.trial, tell.reason);
      });
    }
    for (const Experiment::Send& send : actions.send) workers_->send(send.worker, send.message);
    for (const Experiment::Close& close : actions.close) {
      if (close.refuse)
        workers_->refuse(close.worker, close.reason);
      else
        workers_->drop(close.worker);
    }
  }

  // The search works beside the loop, one proposal after the other, ahead of who will ask.
  void propose() {
    if (!started_ || stopped_ || failure_) return;
    for (int n = experiment_.proposals_wanted(proposing_); n > 0; --n) {
      ++proposing_;
      // What is known to it follows from the journal also when this process is killed meanwhile.
      if (to_make_again_ > 0)
        --to_make_again_;
      else
        apply(experiment_.proposing(now_s(), told_));
      asio::post(pool_, [this, self = weak_from_this()] {
        const std::int64_t begun = mono_now_ns();
        std::optional<Planned> planned;
        std::string problem;
        try {
          planned = planner_.propose();
          planned->search_s = static_cast<double>(mono_now_ns() - begun) * 1e-9;
        } catch (const std::exception& error) {
          const auto* known = dynamic_cast<const Error*>(&error);
          problem = known != nullptr ? known->message() : plain_error(error);
        }
        asio::post(loop_, [self, planned = std::move(planned), problem]() mutable {
          const auto alive = self.lock();
          if (alive) alive->on_proposed(std::move(planned), problem);
        });
      });
    }
  }

  void on_proposed(std::optional<Planned> planned, const std::string& problem) {
    --proposing_;
    if (stopped_ || experiment_.ended()) return;
    apply(planned ? experiment_.proposed(now_s(), std::move(*planned))
                  : experiment_.exhausted(now_s(), problem));
  }

  void tick() {
    if (stopped_ || failure_) return;
    tick_.expires_after(kTickEvery);
    tick_.async_wait([this, self = weak_from_this()](const asio::error_code& ec) {
      const auto alive = self.lock();
      if (!alive || ec || stopped_) return;
      apply(experiment_.tick(now_s()));
      tick();
    });
  }

  Planner planner_;  // used by the pool alone once it has begun
  double base_s_ = 0;
  std::int64_t begun_ns_ = 0;
  std::vector<Experiment::Actions> uncommitted_;  // in the journal, but not yet synced
  bool commit_asked_ = false;
  std::exception_ptr failure_;
  int proposing_ = 0;
  std::int64_t told_ = 0;  // results that the planner was given, at the end of the pool's queue
  int to_make_again_ = 0;  // proposals that the journal says were begun
  bool started_ = false;
  bool stopped_ = false;
  asio::thread_pool pool_{1};

  friend class Coordinator;
};

Coordinator::Coordinator(asio::io_context& loop, const ExperimentSettings& settings,
                         Options options)
    : impl_(std::make_shared<Impl>(loop, settings, std::move(options))) {
  impl_->start();
}

Coordinator::~Coordinator() {
  impl_->shut();
}

int Coordinator::port() const {
  return impl_->workers_->port();
}
const std::string& Coordinator::token() const {
  return impl_->workers_->token();
}
Experiment::Status Coordinator::status() const {
  return impl_->experiment_.status();
}
double Coordinator::elapsed_s() const {
  return impl_->now_s();
}
bool Coordinator::ended() const {
  return impl_->experiment_.ended();
}
std::optional<ExperimentEnd> Coordinator::end_reason() const {
  return impl_->experiment_.end_reason();
}
const std::string& Coordinator::end_detail() const {
  return impl_->experiment_.end_detail();
}
asio::awaitable<void> Coordinator::run() {
  return impl_->run();
}
void Coordinator::end(ExperimentEnd reason, const std::string& detail) {
  impl_->end(reason, detail);
}

}  // namespace assay::automl
