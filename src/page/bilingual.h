#pragma once

#include <string>
#include <string_view>

#include "lang/language.h"

namespace assay::page {

/// A page of document() for readers of both languages: its texts in `first`, those of the other
/// language with it, and a button that changes over. The titles and labels of elements are texts,
/// too; what stands in <code>, <pre>, <script> and <style> is not, nor what is in an element with
/// translate="no", as names are. Needs no network, and without scripts the page stays in `first`.
[[nodiscard]] std::string bilingual(std::string_view html, lang::Language first);

/// The page in one language alone, without a script: for a server that knows who reads it.
[[nodiscard]] std::string in_language(std::string_view html, lang::Language language);

/// bilingual() in the reader's language.
[[nodiscard]] std::string bilingual(std::string_view html);

}  // namespace assay::page
