#pragma once

#include <string>

namespace assay::report {

/// Expects every element of the page to be closed, in order, ids to be unique, and nothing to be
/// loaded or run. Skips the test without python3.
void expect_sound_page(const std::string& page);

}  // namespace assay::report
