#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lang/po.h"

namespace assay::lang {

/// Assay's messages in another language.
///
/// Assay stores its messages in English: in result.json, in the journal, in errors. They are data
/// like any other, the same in every language, and are translated where they are shown. A text with
/// values in it is recognized by its message: "{} of {} rounds failed" is what "3 of 5 rounds
/// failed" was made from, and its values are put into the translation, themselves translated where
/// they can be. The same holds for the parts of a composed text: "host a: 2 ranks; host b: 1 rank".
/// A person's own sentence that happens to contain such a part stays unchanged, and so does
/// anything in quotes.
///
/// Placeholders are fmt's, "{}" and "{:.1f}", and those of rules, "{detail}" and
/// "{value:rank|ranks}". A translation may reorder the values: "{1}" is the second one, "{detail}"
/// the one with that name; "{:name}" and "{1:name}" are names, which are not translated.
class MessageTable {
 public:
  explicit MessageTable(std::vector<Message> messages);

  /// `english` in the other language; unchanged if the table does not contain it.
  [[nodiscard]] std::string translate(std::string_view english) const;

  /// The translation of a message in the form used in the sources, with its placeholders.
  [[nodiscard]] std::optional<std::string_view> find(std::string_view message) const;

  [[nodiscard]] const std::vector<Message>& messages() const noexcept { return messages_; }

 private:
  struct Pattern {
    std::vector<std::string> literals;  ///< one more than values
    std::vector<std::string> names;     ///< of the values: "" or "detail"
    std::vector<bool> as_is;            ///< of the values: names according to the translation
    std::size_t weight = 0;             ///< bytes of the literals
    std::size_t message = 0;
    bool weak = false;  ///< has hardly any words of its own
  };

  /// How deeply a text is nested within values, and the first joint at which it may still be split.
  struct Level {
    int depth = 0;
    std::size_t joint = 0;
  };

  void add_patterns(std::string_view form, std::size_t message);
  /// Whether values may contain several clauses.
  enum class Values { of_one_part, any };

  [[nodiscard]] std::optional<std::string> whole(std::string_view text, int depth,
                                                 Values allowed) const;
  [[nodiscard]] std::optional<std::string> in_parts(std::string_view text, Level level) const;
  /// `parts` are separated by the joint before level.joint.
  [[nodiscard]] std::optional<std::string> joined(const std::vector<std::string_view>& parts,
                                                  Level level) const;
  [[nodiscard]] std::optional<std::string> with_brackets(std::string_view text, Level level) const;
  [[nodiscard]] std::optional<std::string> beside_number(std::string_view text, Level level) const;
  [[nodiscard]] std::optional<std::string> translated(std::string_view text, Level level) const;
  [[nodiscard]] std::string filled(const Pattern& pattern,
                                   const std::vector<std::string_view>& values, int depth) const;

  std::vector<Message> messages_;
  std::map<std::string, std::size_t, std::less<>> exact_;
  std::vector<Pattern> patterns_;  ///< sorted by the amount of their own text, largest first
};

/// The placeholders of a message or translation by the names of their values: "0", "1", "detail".
/// For comparing both.
[[nodiscard]] std::vector<std::string> placeholders(std::string_view form);

}  // namespace assay::lang
