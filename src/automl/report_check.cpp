#include "automl/report_check.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/json_access.h"

namespace assay::automl {

namespace {

// Between a worker's clock and the coordinator's nothing is lost: both are read on the way.
constexpr double kReportSlack_s = 1;

std::int64_t stated_size(const Json& data, const char* key) {
  return std::max<std::int64_t>(0, integer_at(data, key, 0));
}

std::string too_long(const char* what, double seconds, double since_s) {
  return fmt::format("{} {:.3f} s of a trial that it was given {:.3f} s ago", what, seconds,
                     since_s);
}

}  // namespace

ReportCheck::ReportCheck(const ExperimentSettings& settings)
    : workers_(settings.workers),
      train_size_(stated_size(settings.data, "train_size")),
      held_out_(stated_size(settings.data, "eval_size")) {}

std::string ReportCheck::rank(int rank) const {
  if (rank >= 0 && rank < workers_) return {};
  return fmt::format("rank {} of {} workers", rank, workers_);
}

std::string ReportCheck::sizes(const Attempt& attempt, std::int64_t per_epoch,
                               std::int64_t held_out) {
  if (train_size_ > 0 && per_epoch > train_size_)
    return fmt::format("{} samples an epoch of a training set of {}", per_epoch, train_size_);
  if (held_out_ > 0 && held_out != held_out_)
    return fmt::format("{} samples validated an epoch, of {} that are held out", held_out,
                       held_out_);
  // An epoch leaves out less than a batch.
  const std::int64_t below = per_epoch + attempt.batch_size;
  if (below_ > 0 && (per_epoch >= below_ || below <= least_))
    return fmt::format("{} samples an epoch, where others' epochs have {} to {}", per_epoch, least_,
                       below_ - 1);
  least_ = std::max(least_, per_epoch);
  below_ = below_ > 0 ? std::min(below_, below) : below;
  held_out_ = held_out;
  return {};
}

std::string ReportCheck::epoch(Attempt& attempt, const Epoch& epoch, std::optional<double> since_s,
                               bool gaps) {
  const bool follows = gaps ? epoch.epoch > attempt.epoch : epoch.epoch == attempt.epoch + 1;
  if (!follows || epoch.epoch > attempt.epochs)
    return fmt::format("epoch {} after {} of at most {}", epoch.epoch, attempt.epoch,
                       attempt.epochs);
  if (epoch.trained < epoch.epoch || epoch.trained % epoch.epoch != 0 ||
      epoch.validated < epoch.epoch || epoch.validated % epoch.epoch != 0)
    return fmt::format("{} samples trained and {} validated in {} equal epochs", epoch.trained,
                       epoch.validated, epoch.epoch);
  const std::int64_t per_epoch = epoch.trained / epoch.epoch;
  if (attempt.per_epoch > 0 && per_epoch != attempt.per_epoch)
    return fmt::format("{} samples in {} epochs, after {} in each", epoch.trained, epoch.epoch,
                       attempt.per_epoch);
  if (since_s && epoch.at_s > *since_s + kReportSlack_s)
    return too_long("an epoch that ended after", epoch.at_s, *since_s);
  if (std::string why = sizes(attempt, per_epoch, epoch.validated / epoch.epoch); !why.empty())
    return why;
  attempt.epoch = epoch.epoch;
  attempt.trained = epoch.trained;
  attempt.validated = epoch.validated;
  attempt.per_epoch = per_epoch;
  attempt.accuracy = std::max(attempt.accuracy, epoch.accuracy);
  return {};
}

std::string ReportCheck::done(const Attempt& attempt, const Done& done,
                              std::optional<double> since_s) const {
  // An epoch whose loss is no number is validated, and then the trial fails without a report of it.
  const int more = done.ok ? 0 : 1;
  if (done.epochs < attempt.epoch || done.epochs > std::min(attempt.epoch + more, attempt.epochs))
    return fmt::format("{} epochs at its end, after the report of epoch {} of at most {}",
                       done.epochs, attempt.epoch, attempt.epochs);
  const std::int64_t largest = attempt.per_epoch > 0 ? attempt.per_epoch
                               : train_size_ > 0     ? train_size_
                                                     : below_;
  const std::int64_t most = attempt.trained + (done.ok ? 0 : largest);
  if (done.trained < attempt.trained || (largest > 0 && done.trained > most))
    return fmt::format("{} samples trained at its end, after {} by the last epoch of {}",
                       done.trained, attempt.trained, largest);
  const std::int64_t most_validated = attempt.validated + (done.ok ? 0 : held_out_);
  if (done.validated < attempt.validated || (held_out_ > 0 && done.validated > most_validated))
    return fmt::format("{} samples validated at its end, after {} by the last epoch",
                       done.validated, attempt.validated);
  if (since_s && done.seconds > *since_s + kReportSlack_s)
    return too_long("the end after", done.seconds, *since_s);
  if (done.setup_s > done.seconds + kReportSlack_s)
    return fmt::format("{:.3f} s until the first batch of a trial of {:.3f} s", done.setup_s,
                       done.seconds);
  return {};
}

}  // namespace assay::automl
