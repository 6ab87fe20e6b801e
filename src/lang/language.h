#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/enum_names.h"
#include "lang/message_table.h"

namespace assay::lang {

/// A language supported by Assay. Stored data is language-free: only what a reader sees is
/// translated (docs/dev/messages.md).
enum class Language { english, chinese };

constexpr auto enum_names(Language /*language*/) {
  using enum Language;
  return std::to_array<EnumName<Language>>({{english, "en"}, {chinese, "zh"}});
}

using Variable = std::function<std::optional<std::string>(const char* name)>;

/// `option` (of --lang), else ASSAY_LANG, else the locale: the first of LC_ALL, LC_MESSAGES and
/// LANG that is set. If that is not C, and does not use an encoding other than UTF-8 that could not
/// show Chinese, the first of Assay's languages in LANGUAGE takes precedence. Throws Error of kind
/// usage for an option or ASSAY_LANG that is not a language.
[[nodiscard]] Language choose_language(const std::string& option, const Variable& variable);

/// The best language for a sender of this Accept-Language.
[[nodiscard]] Language preferred_language(std::string_view accept_language);

/// The language of this process's reader; English until set. Must be set before threads start.
[[nodiscard]] Language reader_language() noexcept;
void set_reader_language(Language language) noexcept;

/// The shipped Chinese messages.
[[nodiscard]] const MessageTable& chinese_messages();

/// A name given by somebody else, as part of a text for the functions below: it stays unchanged,
/// even if it is a message. Only for texts that are shown at once, because only these functions
/// remove the marks.
[[nodiscard]] std::string name(std::string_view text);

/// `english` in a language, and in the reader's. Keeps blanks at both ends.
[[nodiscard]] std::string in_language(Language language, std::string_view english);
[[nodiscard]] std::string tr(std::string_view english);

/// The same for a text of unknown origin, such as a suite's description: translated only if all of
/// it is a message.
[[nodiscard]] std::string tr_whole(std::string_view text);

/// The same for every line of a text and every column of a line: "  name   what it means".
[[nodiscard]] std::string tr_lines(std::string_view english);

}  // namespace assay::lang
