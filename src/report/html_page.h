#pragma once

#include <string>
#include <string_view>

#include "core/json.h"
#include "judge/result.h"
#include "page/markup.h"

namespace assay::report::html {

// The frame of a report's page.

/// A whole page that needs no network, with the script of the charts.
[[nodiscard]] std::string page(std::string_view title, const page::Html& body);

struct Masthead {
  std::string brand;
  std::string title;
  std::string sentence;
  page::Html facts;    ///< fact() by fact()
  bool named = false;  ///< the title is a name that somebody gave
};

/// The certificate at the top of a page, with the seal of the verdict.
[[nodiscard]] page::Html masthead(const Masthead& parts, judge::Validity validity,
                                  std::string_view run_id);

/// The same of a page without a verdict.
[[nodiscard]] page::Html plain_masthead(const Masthead& parts);

/// Empty when the value is empty.
[[nodiscard]] page::Html fact(std::string_view name, const page::Html& value);
[[nodiscard]] page::Html fact(std::string_view name, std::string_view value);

/// The text as code; empty when the text is empty.
[[nodiscard]] page::Html code(std::string_view text);

/// "2026-11-15 10:15:00 UTC" to read, the machine form in the attribute.
[[nodiscard]] page::Html time_element(const std::string& iso);

/// Assay's version; "" when the provenance does not say.
[[nodiscard]] std::string version_of(const Json& provenance);

}  // namespace assay::report::html
