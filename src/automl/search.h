#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "automl/gaussian_process.h"
#include "automl/graph.h"
#include "automl/morphism.h"

namespace assay::automl {

enum class Acquisition : std::uint8_t {
  upper_bound,           ///< mean + beta · deviation
  expected_improvement,  ///< over the best measured value
};

struct SearchOptions {
  std::uint64_t seed = 1;
  Acquisition acquisition = Acquisition::expected_improvement;
  double beta = 2.576;
  int candidates = 100;  ///< looked at per proposal, at most
  int children = 8;      ///< tried per expansion
  int parents = 32;      ///< measured models that a proposal starts from, the best ones
  /// The share of proposals that start from one measured model drawn at random instead. Morphisms
  /// only grow a model: a wrong step is corrected in another branch, while the best models
  /// lie in one branch.
  double explore = 0.8;
  int max_chain = 1;  ///< morphisms between a parent and a proposal, at most
  /// The annealing's temperature at first, in standard deviations of what was measured, and what it
  /// is multiplied by at every expansion.
  double temperature = 1.0;
  double cooling = 0.8;
  MorphismChances chances;
  Limits limits;
};

/// An architecture to train.
struct Proposal {
  std::int64_t id = 0;
  std::int64_t parent = -1;           ///< the trial that it is morphed from; -1 for a start model
  std::vector<Operation> operations;  ///< from the parent's graph to this one
  Graph graph;
  /// What the process expected; nothing before the first measurement.
  std::optional<Prediction> expected;
};

/// The search for architectures: propose, train elsewhere, tell the result. Any number of proposals
/// may be under way, and their results may come in any order. None is proposed twice, and the
/// process knows those under way, so that further ones spread out. Larger values are better.
///
/// What is proposed depends on the seed and on the sequence of calls alone; it does not depend on
/// whether the search was saved and restored in between. One thread at a time.
class Search {
 public:
  enum class State : std::uint8_t { pending, measured, failed };
  struct Trial {
    std::int64_t parent = -1;
    std::vector<Operation> operations;
    Graph graph;
    std::size_t point = 0;  ///< in the process
    State state = State::pending;
    double value = 0;    ///< when measured
    std::string reason;  ///< when failed
  };

  /// `start` are proposed first, one after the other. Throws Error of kind config when there is
  /// none, when one exceeds the limits, or when an option makes no sense.
  Search(SearchOptions options, std::vector<Graph> start);

  /// The next architecture. Throws Error of kind config when none can be found that is new and
  /// within the limits.
  [[nodiscard]] Proposal propose();

  /// Takes up a proposal that an earlier object made, as a journal holds it: with the same sequence
  /// of adopt and tell as there was of propose and tell, this object is in the state of that one.
  /// Throws Error of kind config for a parent that is not an earlier trial, or operations that it
  /// does not allow.
  Proposal adopt(std::int64_t parent, std::vector<Operation> operations);

  /// A trial's result. Throws Error of kind round_failed for a value that is not finite
  /// (tell_failed is for that) and of kind internal for a trial that does not exist or is not
  /// pending.
  void tell(std::int64_t id, double value);
  /// A trial without a result counts as the worst that was measured: its neighborhood is avoided.
  void tell_failed(std::int64_t id, std::string reason);

  [[nodiscard]] const std::vector<Trial>& trials() const noexcept { return trials_; }  ///< by id
  [[nodiscard]] std::optional<std::int64_t> best() const;  ///< the measured trial of largest value
  [[nodiscard]] const GaussianProcess& process() const noexcept { return process_; }

  /// Candidates that proposals of this object have looked at so far.
  [[nodiscard]] std::int64_t candidates_seen() const noexcept { return candidates_seen_; }

  /// Start models, trials as operations on their parents, and what the process has fitted.
  [[nodiscard]] Json save() const;
  /// Throws Error of kind config at `where`.
  [[nodiscard]] static Search restore(SearchOptions options, const Json& json,
                                      const std::string& where);

 private:
  struct Candidate;
  Proposal record(std::int64_t parent, std::vector<Operation> operations, Graph graph,
                  std::optional<Prediction> expected);
  std::optional<Proposal> anneal(Random& random);
  Proposal wander(Random& random);
  [[nodiscard]] std::vector<std::int64_t> parents(Random& random) const;
  [[nodiscard]] double spread() const;
  [[nodiscard]] double score(const Prediction& prediction, double best) const;
  Trial& pending(std::int64_t id);

  SearchOptions options_;
  std::vector<Graph> start_;
  std::vector<Trial> trials_;
  GaussianProcess process_;
  std::int64_t candidates_seen_ = 0;
};

}  // namespace assay::automl
