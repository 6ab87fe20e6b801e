#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include <asio/awaitable.hpp>
#include <asio/io_context.hpp>

#include "automl/experiment.h"

namespace assay::automl {

/// Hands out an experiment's trials over TCP and keeps what comes back: the journal, and the
/// weights that children begin with. Lives on one loop; the search runs on a thread of its own.
/// A connection that has not sent the token within ten seconds is closed, and so is one that sends
/// garbage; others are not affected.
class Coordinator {
 public:
  struct Options {
    std::filesystem::path directory;         ///< of the experiment: journal.jsonl, weights/
    std::string bind_address = "127.0.0.1";  ///< the address that workers connect to
    std::function<void()> on_progress;       ///< on the loop; may be empty
  };

  /// Takes up the experiment that the directory holds, or begins one, and listens. Throws Error of
  /// kind environment when the directory cannot be written, another coordinator works on it, or the
  /// address cannot be listened on, and of kind config when its journal does not fit.
  Coordinator(asio::io_context& loop, const ExperimentSettings& settings, Options options);
  /// Waits for the proposal that is being made, if any.
  ~Coordinator();
  Coordinator(const Coordinator&) = delete;
  Coordinator& operator=(const Coordinator&) = delete;

  [[nodiscard]] int port() const;
  [[nodiscard]] const std::string& token() const;  ///< a secret of this object
  [[nodiscard]] Experiment::Status status() const;
  /// Seconds that the experiment has gone on, earlier coordinators included.
  [[nodiscard]] double elapsed_s() const;
  [[nodiscard]] bool ended() const;
  [[nodiscard]] std::optional<ExperimentEnd> end_reason() const;
  [[nodiscard]] const std::string& end_detail() const;

  /// Runs until the experiment has ended and its workers are gone, for which they have ten seconds.
  /// Throws Error of kind environment when the journal cannot be written (a full disk); what was
  /// journaled by then stays, and the experiment can be resumed.
  asio::awaitable<void> run();
  /// Ends the experiment and asks the workers to stop. `reason` is `stopped` or `failed`.
  void end(ExperimentEnd reason, const std::string& detail);

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace assay::automl
