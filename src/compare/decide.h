#pragma once

#include "compare/comparison.h"

namespace assay::compare {

/// Corrects the p-values of all sides' changes together and sets every change's verdict as
/// described in docs/compare.md; unsure ones get a note.
void decide_all(Comparisons& comparison);

}  // namespace assay::compare
