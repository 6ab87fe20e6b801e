#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/enum_names.h"
#include "lang/message_table.h"

namespace assay::lang {

/// A language that Assay speaks. What it stores is language-free: only what is shown to a reader
/// is translated (docs/dev/messages.md).
enum class Language { english, chinese };

constexpr auto enum_names(Language /*language*/) {
  using enum Language;
  return std::to_array<EnumName<Language>>({{english, "en"}, {chinese, "zh"}});
}

using Variable = std::function<std::optional<std::string>(const char* name)>;

/// `option` (of --lang), else ASSAY_LANG, else the locale: the first of LC_ALL, LC_MESSAGES and
/// LANG that is set. Where that one is neither C nor of another encoding than UTF-8, in which
/// Chinese could not be read, the first language of LANGUAGE that Assay has goes before it.
/// Throws Error of kind usage for an option or ASSAY_LANG that is no language.
[[nodiscard]] Language choose_language(const std::string& option, const Variable& variable);

/// What somebody who sends this Accept-Language reads best.
[[nodiscard]] Language preferred_language(std::string_view accept_language);

/// Of whoever reads what this process shows; English until it is set. Set it before threads start.
[[nodiscard]] Language reader_language() noexcept;
void set_reader_language(Language language) noexcept;

/// The messages in Chinese, as they are shipped.
[[nodiscard]] const MessageTable& chinese_messages();

/// A name that somebody else gave, as part of a text for the functions below: it stays as it is,
/// also where it is a message. For texts that are shown at once; only these functions take the
/// marks out again.
[[nodiscard]] std::string name(std::string_view text);

/// `english` in a language, and in the reader's. Blanks at both ends stay.
[[nodiscard]] std::string in_language(Language language, std::string_view english);
[[nodiscard]] std::string tr(std::string_view english);

/// The same for a text that anybody may have written, as the description of a suite: it is a
/// message as a whole, or it stays as it is.
[[nodiscard]] std::string tr_whole(std::string_view text);

/// The same for every line of a text and every column of a line: "  name   what it means".
[[nodiscard]] std::string tr_lines(std::string_view english);

}  // namespace assay::lang
