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

/// Time limits; no wait is unbounded.
struct MembershipOptions {
  /// For all ranks to appear.
  std::chrono::milliseconds join = std::chrono::seconds(120);
  /// Between two signs of life of a rank.
  std::chrono::milliseconds beat = std::chrono::milliseconds(500);
  /// A rank without a sign of life for this long counts as lost, even if nothing else has failed.
  std::chrono::milliseconds silence = std::chrono::seconds(30);
  /// How long to look for the rank at fault after a failure.
  std::chrono::milliseconds diagnosis = std::chrono::seconds(5);
  /// Settings that must be equal on all ranks: lines of `name: value`.
  std::string terms;
};

/// Keeps track of the ranks of this training through a key-value store (a TCPStore, served by rank
/// 0 or by the launcher). Every rank gives signs of life from a separate thread; rank 0 watches
/// all, the others watch rank 0 and its messages. A call to a store whose process is stopped never
/// returns, so a second thread that never calls it watches the first.
class Membership {
 public:
  /// Called from the watching thread if a rank is lost and this process has not ended some time
  /// later: it may hang in a collective operation. Must not return.
  using OnLost = std::function<void(const Error&)>;

  /// Waits until all ranks have appeared. Throws Error of kind environment that describes the
  /// problem: an unreachable master, a port in use, missing ranks, differing WORLD_SIZE or terms, a
  /// duplicate rank.
  Membership(const workload::Place& place, const MembershipOptions& options, OnLost on_lost);
  Membership(const Membership&) = delete;
  Membership& operator=(const Membership&) = delete;
  /// Says goodbye. Rank 0 serves the store until the others have too, for a limited time.
  ~Membership();

  [[nodiscard]] const c10::intrusive_ptr<c10d::Store>& store() const noexcept { return store_; }
  [[nodiscard]] bool one_host() const noexcept { return one_host_; }

  /// Tells the others that this rank is ending because of `message`, through its own fault.
  void report_failure(const std::string& message) noexcept;

  /// Call this after a collective operation has failed: finds out which rank is gone, and returns
  /// an Error of kind round_failed that names it. Takes up to options.diagnosis.
  [[nodiscard]] Error diagnose(const std::string& what);

 private:
  void connect_and_join(bool serve);
  void join();
  void check_joined();
  [[noreturn]] void refuse(const std::string& problem, const std::string& where,
                           const std::string& advice);
  void watch();
  void guard();
  /// Sets the store's response time limit from now on.
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
  c10::intrusive_ptr<c10d::Store> watch_store_;  // threads do not share connections
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stop_ = false;                    // under mutex_
  bool gone_ = false;                    // under mutex_
  std::chrono::milliseconds allowed_{};  // protected by mutex_: the store's time limit
  std::thread watcher_;
  std::thread guard_;
};

}  // namespace assay::train
