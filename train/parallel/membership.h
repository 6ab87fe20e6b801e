#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include <torch/csrc/distributed/c10d/Store.hpp>

#include "core/error.h"
#include "train/base/torch.h"
#include "workload/place.h"

namespace assay::train {

/// How long things may take; nothing waits without end.
struct MembershipOptions {
  /// Time limit for all ranks to appear.
  std::chrono::milliseconds join = std::chrono::seconds(120);
  /// Time between two signs of life of a rank.
  std::chrono::milliseconds beat = std::chrono::milliseconds(500);
  /// A rank without a sign of life for this long counts as lost, even if nothing else has failed.
  std::chrono::milliseconds silence = std::chrono::seconds(30);
  /// After something has failed: how long to look for the rank at fault.
  std::chrono::milliseconds diagnosis = std::chrono::seconds(5);
  /// What has to be the same on all ranks: lines of `name: value`.
  std::string terms;
};

/// The ranks of this training, as they know of each other through a key-value store (a TCPStore,
/// served by rank 0 or by the launcher). Every rank gives signs of life from a thread of its own;
/// rank 0 watches all, the others watch rank 0 and what it says. A call of a store whose process is
/// stopped never returns, so a second thread, which does not call it, watches the first.
class Membership {
 public:
  /// Called from the watching thread when a rank is lost and this process has not ended by itself
  /// a while later: it may hang in a collective operation. Must not return.
  using OnLost = std::function<void(const Error&)>;

  /// Waits until all ranks are there. Throws Error of kind environment that says what is wrong: an
  /// unreachable master, a port in use, which ranks are missing, whose WORLD_SIZE or terms differ,
  /// a rank that exists twice.
  Membership(const workload::Place& place, const MembershipOptions& options, OnLost on_lost);
  Membership(const Membership&) = delete;
  Membership& operator=(const Membership&) = delete;
  /// Says goodbye. Rank 0 serves the store until the others have done so, for a bounded time.
  ~Membership();

  [[nodiscard]] const c10::intrusive_ptr<c10d::Store>& store() const noexcept { return store_; }
  [[nodiscard]] bool one_host() const noexcept { return one_host_; }

  /// Tells the others that this rank ends because of `message`, its own fault.
  void report_failure(const std::string& message) noexcept;

  /// Call this when a collective operation has failed: finds out which rank is gone, and gives an
  /// Error of kind round_failed that names it. Takes up to options.diagnosis.
  [[nodiscard]] Error diagnose(const std::string& what);

 private:
  void connect_and_join(bool serve);
  void join();
  void check_joined();
  [[noreturn]] void refuse(const std::string& problem, const std::string& where,
                           const std::string& advice);
  void watch();
  void guard();
  /// Sets the time limit, from now on, for the store to answer.
  void allow(std::chrono::milliseconds time);
  void end_guard();
  void say_goodbye() noexcept;
  [[nodiscard]] std::string look_for_lost(c10d::Store& store);
  [[nodiscard]] std::string name_of(int rank);
  [[nodiscard]] std::string key(const char* what, int rank) const;

  workload::Place place_;
  MembershipOptions options_;
  OnLost on_lost_;
  bool one_host_ = false;
  bool failed_ = false;
  c10::intrusive_ptr<c10d::Store> store_;
  c10::intrusive_ptr<c10d::Store> watch_store_;  // connections are not shared between threads
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stop_ = false;                    // under mutex_
  bool gone_ = false;                    // under mutex_
  std::chrono::milliseconds allowed_{};  // under mutex_: for the store to answer
  std::thread watcher_;
  std::thread guard_;
};

}  // namespace assay::train
