#pragma once

#include <string>
#include <vector>

#include "train/optim/flat_parameters.h"
#include "train/parallel/communicator.h"

namespace assay::train {

/// What one rank has in a step whose gradients, summed over the ranks, are not finite.
struct RankNumbers {
  double loss = 0;
  std::string parameter;  ///< the first with a value that is not finite; empty: none
  std::string gradient;   ///< the same of the sums of the gradients
};

/// Where that began, for people: which ranks have parameters that are not finite, and which; else
/// the ranks that differ from the others by a loss that is not; else the first gradient that is
/// not, on any rank.
[[nodiscard]] std::string origin_of(const std::vector<RankNumbers>& ranks);

/// The same, of the ranks of `all`; called by all of them, before the parameters are updated.
[[nodiscard]] std::string origin_of(const FlatParameters& own, double loss, Communicator& all);

/// The name of the first parameter that has a value, or a gradient, that is not finite; empty:
/// there is none.
[[nodiscard]] std::string first_value_not_finite(const FlatParameters& parameters);
[[nodiscard]] std::string first_gradient_not_finite(const FlatParameters& parameters);

}  // namespace assay::train
