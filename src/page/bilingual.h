#pragma once

#include <string>
#include <string_view>

#include "lang/language.h"

namespace assay::page {

/// A page from document() for readers of both languages: shows its texts in `first`, contains them
/// in the other language, and has a button to switch. Titles and labels of elements are texts too;
/// the content of <code>, <pre>, <script> and <style> is not, nor that of elements with
/// translate="no", such as names. Needs no network; without scripts the page stays in `first`.
[[nodiscard]] std::string bilingual(std::string_view html, lang::Language first);

/// The page in a single language, without a script, for a server that knows its reader.
[[nodiscard]] std::string in_language(std::string_view html, lang::Language language);

/// bilingual() in the reader's language.
[[nodiscard]] std::string bilingual(std::string_view html);

}  // namespace assay::page
