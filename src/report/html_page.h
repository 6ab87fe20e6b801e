#pragma once

#include <string>
#include <string_view>

#include "core/json.h"
#include "judge/result.h"
#include "page/markup.h"

namespace assay::report::html {

// The frame of a report page.

/// A complete page that needs no network, including the charts' script.
[[nodiscard]] std::string page(std::string_view title, const page::Html& body);

struct Masthead {
  std::string brand;
  std::string title;
  std::string sentence;
  page::Html facts;    ///< a sequence of fact()
  bool named = false;  ///< the title is a name given by a person
};

/// The certificate at the top of a page, with the verdict's seal.
[[nodiscard]] page::Html masthead(const Masthead& parts, judge::Validity validity,
                                  std::string_view run_id);

/// The same for a page without a verdict.
[[nodiscard]] page::Html plain_masthead(const Masthead& parts);

/// Empty if the value is.
[[nodiscard]] page::Html fact(std::string_view name, const page::Html& value);
[[nodiscard]] page::Html fact(std::string_view name, std::string_view value);

/// The text as code; empty if the text is.
[[nodiscard]] page::Html code(std::string_view text);

/// Shows "2026-11-15 10:15:00 UTC", with the machine-readable form in the attribute.
[[nodiscard]] page::Html time_element(const std::string& iso);

/// Assay's version; "" if the provenance lacks it.
[[nodiscard]] std::string version_of(const Json& provenance);

}  // namespace assay::report::html
