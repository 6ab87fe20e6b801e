#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace assay::lang {

/// A text of Assay and what it is in another language.
struct Message {
  std::string english;
  std::string plural;  ///< its form for several, of "{} round" and the like; or empty
  std::string translation;
  int line = 0;  ///< of its msgid
};

/// The messages of a file in gettext's format (.po): msgid, msgid_plural, msgstr and msgstr[0],
/// with comments. The entry of the empty msgid, gettext's header, is passed over, and so is what
/// has no translation. Throws Error of kind config with the line ("zh_CN/help.po:12") for anything
/// else.
[[nodiscard]] std::vector<Message> read_po(std::string_view text, const std::string& file);

}  // namespace assay::lang
