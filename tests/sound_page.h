#pragma once

#include <string>
#include <string_view>

namespace assay::testing {

/// Fails the test unless every element of the page is closed, ids are unique, and nothing runs or
/// is loaded. Links and forms lead into the page, or to what begins with `links`. Skips the test
/// without python3.
void expect_sound_page(const std::string& page, const std::string& links = "#");

/// Whether it is there; a page is too long to print when an expectation fails.
[[nodiscard]] inline bool has(const std::string& page, std::string_view text) {
  return page.find(text) != std::string::npos;
}

/// The longest stretch of a template without a placeholder or line break: a page that it was filled
/// for holds it.
[[nodiscard]] std::string longest_literal(std::string_view form);

}  // namespace assay::testing
