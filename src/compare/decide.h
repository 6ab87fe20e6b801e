#pragma once

#include "compare/comparison.h"

namespace assay::compare {

/// Corrects the p-values of all sides' changes together and gives every change its verdict, as
/// docs/compare.md says; an unsure change gets a note.
void decide_all(Comparisons& comparison);

}  // namespace assay::compare
