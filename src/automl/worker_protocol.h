#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "automl/morphism.h"
#include "core/json.h"

namespace assay::automl {

/// The messages between the coordinator and the workers of an experiment over TCP: one JSON object
/// per line, in both directions. A `weights` line is followed by that many raw bytes.
/// docs/automl.md describes the conversation.
inline constexpr int kProtocolVersion = 2;
/// The longest line, newline included; a longer one is refused.
inline constexpr std::size_t kMaxLine = std::size_t{1} << 20;
/// Twice the weights of the largest model (2³⁰ parameters).
inline constexpr std::int64_t kMaxWeights = std::int64_t{8} << 30;
/// How often a worker sends `alive`.
inline constexpr int kAliveSeconds = 5;

/// Environment of a worker.
inline constexpr const char* kAddressVariable = "ASSAY_AUTOML_ADDRESS";  ///< host:port
inline constexpr const char* kTokenVariable = "ASSAY_AUTOML_TOKEN";
/// Ranks that are one worker; 1 where it is not set.
inline constexpr const char* kDevicesVariable = "ASSAY_AUTOML_DEVICES";

/// The hyper-parameters of one training.
struct Hyper {
  std::int64_t batch_size = 32;
  double learning_rate = 0.05;
  double weight_decay = 5e-4;
  double label_smoothing = 0;
  int kernel_size = 0;  ///< of convolutions larger than 1×1 (trained_graph); 0: as the graph says
  double dropout = 0;   ///< before the last dense layer
  friend bool operator==(const Hyper&, const Hyper&) = default;
};
/// Requires every key and no other. Throws Error of kind config at `where`.
[[nodiscard]] Hyper hyper_from_json(const Json& json, const std::string& where);
[[nodiscard]] Json to_json(const Hyper& hyper);

/// When a trial ends before its last epoch (AIPerf's rule): after `epochs` epochs in a row whose
/// loss on the held-out data was not more than `min_delta` below the lowest before. 0: never.
struct Patience {
  int epochs = 6;
  double min_delta = 0.001;

  static void fields(auto& self, auto&& field) {
    field("epochs", self.epochs);
    field("min_delta", self.min_delta);
  }
  friend bool operator==(const Patience&, const Patience&) = default;
};
/// AIPerf's patience in round r (from 0): min(6 + 2r, 20) epochs.
[[nodiscard]] Patience patience_of_round(int round);

/// Applies that rule to the losses of one trial.
class EarlyStop {
 public:
  explicit EarlyStop(Patience patience) : patience_(patience) {}
  /// Takes the loss of an epoch; true when the trial has to end.
  [[nodiscard]] bool tell(double loss);

 private:
  Patience patience_;
  std::optional<double> best_;
  int waited_ = 0;
};

// Worker → coordinator.

/// The first line of a connection.
struct Hello {
  int protocol = kProtocolVersion;
  std::string token;
  int rank = 0;
  std::string host;
  std::string device;  ///< "cpu", "cuda:0 NVIDIA H200"
};
/// Asks for work; answered by one Trial or Stop. Comes before the last trial's Weights and Done.
struct Ready {};
/// What the trial began with, said before its first batch when it has a parent.
struct Inherited {
  std::int64_t trial = 0;
  std::int64_t tensors = 0;  ///< that came from the parent or keep its function; 0: all are fresh
  std::int64_t of = 0;       ///< tensors of the model
  std::string sha256;  ///< of the parent's tensors, as in its file; empty when there were none
};
/// Asks for the weights of a trial; answered by Weights, of 0 bytes when there are none.
struct Fetch {
  std::int64_t trial = 0;
};
/// One epoch has been trained and validated.
struct Epoch {
  std::int64_t trial = 0;
  int epoch = 0;               ///< from 1
  double accuracy = 0;         ///< on all held-out samples
  double loss = 0;             ///< the same
  std::int64_t trained = 0;    ///< samples that this trial has trained on so far
  std::int64_t validated = 0;  ///< and validated
  double at_s = 0;             ///< since the worker began the trial
};
/// In both directions; `bytes` raw bytes follow. A worker sends those of its best epoch before
/// Done.
struct Weights {
  std::int64_t trial = 0;
  std::int64_t bytes = 0;
};
struct Done {
  std::int64_t trial = 0;
  bool ok = false;
  std::string reason;   ///< why it failed; empty when ok
  double accuracy = 0;  ///< the best epoch's
  int epochs = 0;       ///< complete ones
  std::int64_t trained = 0;
  std::int64_t validated = 0;
  double seconds = 0;  ///< of the whole trial, setup_s included
  double setup_s = 0;  ///< from its beginning to the first batch: model, parent's weights, data
  double wait_s = 0;   ///< between the end of the previous trial (the start of the worker) and this
};
/// Sent every kAliveSeconds, also in the middle of an epoch.
struct Alive {
  /// Grows as long as its trial goes on: batches of training and validation, pieces of weights.
  std::int64_t progress = 0;
};

// Coordinator → worker.

struct Parent {
  std::int64_t trial = 0;
  Json graph;                         ///< AIPerf's graph file
  std::vector<Operation> operations;  ///< from it to the child
};
/// Graphs are sent unchecked: a wrong one makes the trial fail, not the worker.
struct Trial {
  std::int64_t trial = 0;
  int attempt = 1;
  Json graph;  ///< AIPerf's graph file, before kernel_size and dropout
  std::optional<Parent> parent;
  Hyper hyper;
  int epochs = 1;
  Patience patience;
  std::uint64_t seed = 1;
  bool keep_weights = true;
  Json data;  ///< an image workload's configuration, the keys of its data (docs/training.md)
};
/// End this trial now; answered by Done, failed with the reason "dropped".
struct Drop {
  std::int64_t trial = 0;
};
/// End everything.
struct Stop {};
/// The answer to a Hello that is not accepted; the connection is then closed.
struct Refuse {
  std::string reason;
};

using WorkerMessage = std::variant<Hello, Ready, Inherited, Fetch, Epoch, Weights, Done, Alive>;
using CoordinatorMessage = std::variant<Trial, Weights, Drop, Stop, Refuse>;

/// One line with its newline. Throws Error of kind internal when it is longer than kMaxLine.
[[nodiscard]] std::string encode(const WorkerMessage& message);
[[nodiscard]] std::string encode(const CoordinatorMessage& message);

/// Reads a line without its newline. Checks every field (type, range, none unknown or missing) and
/// throws Error of kind round_failed at `where` (the sender) that names the field.
[[nodiscard]] WorkerMessage decode_worker_message(std::string_view line, const std::string& where);
[[nodiscard]] CoordinatorMessage decode_coordinator_message(std::string_view line,
                                                            const std::string& where);

/// Cuts a stream of bytes into lines and raw bytes. One thread.
class Framing {
 public:
  void feed(std::string_view bytes);
  /// The next line without its newline, or nothing when it is not complete. Throws Error of kind
  /// round_failed at `where` when it is longer than kMaxLine.
  [[nodiscard]] std::optional<std::string> line(const std::string& where);
  /// The next `bytes` bytes, or nothing when they are not all there.
  [[nodiscard]] std::optional<std::string> raw(std::int64_t bytes);

 private:
  std::string pending_;
  std::size_t begin_ = 0;    // of what has not been taken
  std::size_t scanned_ = 0;  // no newline before it
};

}  // namespace assay::automl
