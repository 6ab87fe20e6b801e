#pragma once

#include <string>
#include <string_view>

namespace assay::report {

/// Expects every element of the page to be closed, in order, ids to be unique, and nothing to be
/// loaded or run. Skips the test without python3.
void expect_sound_page(const std::string& page);

/// Whether it is there; a page is too long to print when an expectation fails.
[[nodiscard]] inline bool has(const std::string& page, std::string_view text) {
  return page.find(text) != std::string::npos;
}

}  // namespace assay::report
