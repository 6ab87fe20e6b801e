#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace assay::lang {

/// A text of Assay's and its translation.
struct Message {
  std::string english;
  std::string plural;  ///< its plural, for messages such as "{} round"; or empty
  std::string translation;
  int line = 0;  ///< of its msgid
};

/// The messages in a file of gettext's format (.po): msgid, msgid_plural, msgstr and msgstr[0],
/// with comments. Skips the entry with the empty msgid, gettext's header, and entries without a
/// translation. Throws Error of kind config with the line ("zh_CN/help.po:12") for anything else.
[[nodiscard]] std::vector<Message> read_po(std::string_view text, const std::string& file);

}  // namespace assay::lang
