#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "engine/controller.h"
#include "engine/device_allocation.h"
#include "engine/embedded_engine.h"
#include "engine/run_ending.h"
#include "engine/stop_steps.h"

namespace assay::engine {

/// Starts and watches the controllers of executions. Two threads: one starts, because that may take
/// a while (a job's code is copied), one watches all that runs. What ended is swept by a thread of
/// its own. Thread-safe.
class ExecutionWatch {
 public:
  /// Called before it is reported that a node was lost or that an execution could not be run, with
  /// each of its nodes, and for how long what ran there may go on. Must not call back.
  using Doubt = std::function<void(const std::string& node, Nanoseconds may_run_on)>;

  ExecutionWatch(EmbeddedOptions options, Engine::Reporter reporter, Doubt doubt = {});
  ExecutionWatch(const ExecutionWatch&) = delete;
  ExecutionWatch& operator=(const ExecutionWatch&) = delete;
  ~ExecutionWatch();

  // As of Engine.
  void start(const Order& order);
  void stop(const Execution& execution, Nanoseconds grace);
  void recall(const std::vector<Order>& orders);
  [[nodiscard]] DeviceAllocation::Devices devices_of(const Execution& execution);
  /// The run of an execution that runs; empty: it does not, or has none yet.
  [[nodiscard]] std::filesystem::path run_of(const Execution& execution);

 private:
  enum class Phase {
    waiting,   ///< for the thread that starts
    starting,  ///< the process is there; it has not begun
    running,
    recalled,  ///< what became of it is not known yet
    ending,    ///< its controller is gone, the rest is swept
  };
  struct Live {
    Order order;
    ExecutionFolder folder;
    Phase phase = Phase::waiting;
    ControllerProcess process{};
    std::int64_t begin_by_ns = 0;
    StopSteps stop{};
    bool ended_unseen = false;  ///< while no server watched it
  };
  struct Sweeper {
    std::jthread thread;
    std::shared_ptr<std::atomic<bool>> done;
  };
  using Reports = std::deque<std::pair<Execution, jobs::Event>>;

  void wake() const noexcept;
  void forget(const Execution& execution);

  /// Each is gone from `reports` when it is reported.
  void report_all(Reports& reports);

  void start_orders(const std::stop_token& stop);
  /// `devices`: nothing where they are not free. `possible`: its nodes have so many at all.
  void start_order(const Order& order, const std::optional<DeviceAllocation::Devices>& devices,
                   bool possible);
  [[nodiscard]] ControllerProcess launch(const Order& order,
                                         const DeviceAllocation::Devices& devices);

  void watch(const std::stop_token& stop);
  /// One look at everything, and a wait for the next.
  void watch_once(Reports& reports);
  /// There may have been no descriptor for its process.
  static void find_process(Live& live);
  /// Milliseconds until something has to be looked at without an event; -1: nothing has.
  [[nodiscard]] static int wait_of(const Live& live);
  /// False: some of them could not be looked at, and have to be again in a moment.
  [[nodiscard]] bool step_all(Reports& reports);
  // Each gives whether it is over.
  bool step(const Execution& execution, Live& live, Reports& reports);
  bool step_recalled(const Execution& execution, Live& live, Reports& reports);
  bool step_starting(const Execution& execution, Live& live, Reports& reports);
  void step_running(const Execution& execution, Live& live);

  void sweep(const Execution& execution, Live& live);
  struct Circumstances {
    bool stopped = false;  ///< the platform wanted its end
    bool unseen = false;   ///< as Live::ended_unseen
  };
  void finish(const Execution& execution, const ExecutionFolder& folder,
              const jobs::Placement& placement, const Circumstances& how, Nanoseconds patience,
              const std::stop_token& stop);
  void doubt_nodes(const jobs::Placement& placement, const RunEnding& ending) const;
  [[nodiscard]] Reports reports_of_end(const Execution& execution, const ExecutionFolder& folder,
                                       const jobs::Placement& placement, RunEnding ending,
                                       const Circumstances& how) const;

  const EmbeddedOptions options_;
  const Engine::Reporter reporter_;
  const Doubt doubt_;
  std::mutex mutex_;
  std::map<Execution, Live> live_;
  DeviceAllocation allocation_;
  std::deque<Execution> to_start_;
  std::condition_variable_any to_start_changed_;
  UniqueFd wake_;
  std::list<Sweeper> sweepers_;
  // Last: they end before what they use.
  std::jthread starter_;
  std::jthread watcher_;
};

/// The nodes of a placement, in its order. Throws Error of kind environment for one that is gone.
[[nodiscard]] std::vector<EmbeddedNode> nodes_of(const jobs::Placement& placement,
                                                 const std::vector<EmbeddedNode>& nodes);

}  // namespace assay::engine
