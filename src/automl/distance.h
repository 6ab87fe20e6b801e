#pragma once

#include <span>

#include "automl/descriptor.h"

namespace assay::automl {

/// The distance in [0, 1]: 1 for different kinds; else the mean over the three attributes of |x-y|
/// / max(x, y).
[[nodiscard]] double layer_distance(const LayerSymbol& a, const LayerSymbol& b);
/// The distance in [0, 1]: 1 for different types; else (|Δfrom| + |Δlength|) / (max from + max
/// length).
[[nodiscard]] double skip_distance(const Skip& a, const Skip& b);

/// AIPerf's edit distance, a metric on descriptors: the cheapest way to turn the one's layers into
/// the other's (insert and delete cost 1, exchange layer_distance) plus the cheapest pairing of
/// their skips, where a skip without partner costs 1. Computed in units of 2⁻⁴⁰, so that results
/// are exact to 1e-9 for up to 1,000 layers. Thread-safe; the working memory is kept per thread.
[[nodiscard]] double edit_distance(const Descriptor& a, const Descriptor& b);

/// Never more than edit_distance, in O(kinds): what the numbers of layers and skips alone demand.
[[nodiscard]] double distance_bound(const Descriptor& a, const Descriptor& b);

/// The two parts of edit_distance.
[[nodiscard]] double layers_distance(const Descriptor& a, const Descriptor& b);
[[nodiscard]] double skips_distance(std::span<const Skip> a, std::span<const Skip> b);

}  // namespace assay::automl
