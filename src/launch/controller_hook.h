#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include <asio/awaitable.hpp>
#include <asio/steady_timer.hpp>

#include "core/async_process.h"
#include "launch/observer.h"
#include "plan/plan.h"

namespace assay::launch {

/// A hook's command on this machine. Whatever it does, it ends: at its time limit it gets SIGTERM,
/// two seconds later SIGKILL, and what it left behind, in whatever session, is killed with it. Its
/// output and errors go to a file, of which the first MiB is kept.
class ControllerHook {
 public:
  /// `env` is added to this process's environment, and `id`, by which its processes are found
  /// wherever they went. The file's folder exists.
  ControllerHook(const plan::Hook& hook, std::string id, std::map<std::string, std::string> env,
                 std::filesystem::path output);
  ControllerHook(const ControllerHook&) = delete;
  ControllerHook& operator=(const ControllerHook&) = delete;
  ~ControllerHook();

  /// Completed, failed, timed_out or interrupted, with the reason. Throws Error when the output
  /// cannot be written.
  asio::awaitable<RoundOutcome> run();
  /// The user asked to end, for the first time or again.
  void interrupt(int times);

 private:
  void take(std::string_view bytes);
  void end_soon();
  [[nodiscard]] RoundOutcome outcome_of(const std::optional<CommandResult>& result) const;

  const plan::Hook& hook_;
  std::string id_;
  std::map<std::string, std::string> env_;
  std::filesystem::path path_;
  std::shared_ptr<AsyncProcess> process_;
  std::unique_ptr<asio::steady_timer> limit_;
  std::string kept_;
  std::uint64_t dropped_ = 0;
  bool timed_out_ = false;
  bool interrupted_ = false;
  bool killed_ = false;
};

}  // namespace assay::launch
