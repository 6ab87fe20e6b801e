#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "automl/experiment_settings.h"
#include "automl/worker_protocol.h"

namespace assay::automl {

/// Whether what workers report can be, by the experiment's settings, by what was reported before
/// and by the coordinator's clock. An epoch trains on the same whole batches and validates on every
/// held-out sample each time, so that counts follow from the data set's size. The coordinator
/// refuses what cannot be, and the judge looks for it in a journal.
class ReportCheck {
 public:
  explicit ReportCheck(const ExperimentSettings& settings);

  /// One attempt of a trial so far. The caller keeps it, and it begins empty.
  struct Attempt {
    int epochs = 1;               ///< at most
    std::int64_t batch_size = 1;  ///< of its hyper-parameters
    int epoch = 0;                ///< the last one that was reported
    std::int64_t trained = 0;
    std::int64_t validated = 0;
    std::int64_t per_epoch = 0;  ///< samples that an epoch trains on; 0: not known yet
    double accuracy = 0;         ///< the best
  };

  /// All give an empty text, or why it cannot be. `since_s`: since the trial was handed out, by the
  /// coordinator's clock; nothing where that is not known.
  [[nodiscard]] std::string rank(int rank) const;
  /// What is said to be so takes its place in `attempt`; epochs may be missing in between when
  /// `gaps`.
  [[nodiscard]] std::string epoch(Attempt& attempt, const Epoch& epoch,
                                  std::optional<double> since_s, bool gaps = false);
  [[nodiscard]] std::string done(const Attempt& attempt, const Done& done,
                                 std::optional<double> since_s) const;

 private:
  [[nodiscard]] std::string sizes(const Attempt& attempt, std::int64_t per_epoch,
                                  std::int64_t held_out);

  int workers_;
  std::int64_t train_size_ = 0;  // as the settings say; 0: they do not
  std::int64_t held_out_ = 0;    // as the settings or the first report say
  std::int64_t least_ = 0;       // the training set has at least so many samples, by the reports
  std::int64_t below_ = 0;       // and fewer than this; 0: nothing was reported
};

}  // namespace assay::automl
