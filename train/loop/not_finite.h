#pragma once

#include <string>
#include <vector>

#include "train/optim/flat_parameters.h"
#include "train/parallel/communicator.h"

namespace assay::train {

/// One rank's values in a step whose gradients, summed over the ranks, are not finite.
struct RankNumbers {
  double loss = 0;
  std::string parameter;  ///< the first with a non-finite value; empty if none
  std::string gradient;   ///< the first with a non-finite gradient sum; empty if none
};

/// The origin of non-finite values, for people: the ranks with non-finite parameters, and which;
/// else the ranks whose loss alone is not finite; else the first non-finite gradient on any rank.
[[nodiscard]] std::string origin_of(const std::vector<RankNumbers>& ranks);

/// The same for the ranks of `all`; called by all of them, before the parameters are updated.
[[nodiscard]] std::string origin_of(const FlatParameters& own, double loss, Communicator& all);

/// The name of the first parameter with a non-finite value, or gradient; empty if there is none.
[[nodiscard]] std::string first_value_not_finite(const FlatParameters& parameters);
[[nodiscard]] std::string first_gradient_not_finite(const FlatParameters& parameters);

}  // namespace assay::train
