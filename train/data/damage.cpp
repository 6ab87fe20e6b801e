#include "train/data/damage.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/error.h"
#include "core/text.h"

namespace assay::train::data {

DamageLog::DamageLog(std::int64_t samples, double share)
    : samples_(samples),
      limit_(std::max<std::int64_t>(static_cast<std::int64_t>(static_cast<double>(samples) * share),
                                    1)) {}

void DamageLog::report(std::int64_t index, const std::string& name, const std::string& reason) {
  constexpr std::size_t shown = 5;
  const std::lock_guard lock(mutex_);
  if (seen_.insert(index).second) {
    ++count_;
    if (first_.size() < shown) first_.push_back(fmt::format("{} ({})", name, reason));
  }
  if (count_ <= limit_) return;
  throw Error(ErrorKind::environment,
              fmt::format("{} of the {} samples are damaged JPEGs, more than the {} that are "
                          "replaced by their neighbors: {}{}",
                          count_.load(), samples_, limit_, printable(join(first_, ", ")),
                          seen_.size() > shown ? ", …" : ""),
              "data set",
              "repair or remove the files, or raise the share of damaged samples that is allowed");
}

}  // namespace assay::train::data
