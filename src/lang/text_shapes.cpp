#include "lang/text_shapes.h"

#include <algorithm>
#include <cctype>

namespace assay::lang {

namespace {

// Whether a text starts or ends with a Chinese character or full-width sign.
bool is_wide(unsigned char first_byte) {
  return (first_byte >= 0xe3 && first_byte <= 0xe9) || first_byte == 0xef;
}
bool ends_wide(std::string_view text) {
  return text.size() >= 3 && is_wide(static_cast<unsigned char>(text[text.size() - 3]));
}
bool begins_wide(std::string_view text) {
  return !text.empty() && is_wide(static_cast<unsigned char>(text[0]));
}

}  // namespace

bool has_several_clauses(std::string_view text) {
  if (text.find("; ") != std::string_view::npos) return true;
  for (std::size_t at = text.find(". "); at != std::string_view::npos; at = text.find(". ", at + 1))
    if (at + 2 < text.size() && std::isupper(static_cast<unsigned char>(text[at + 2])) != 0)
      return true;
  return false;
}

std::size_t letters(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](unsigned char c) { return std::isalpha(c) != 0; }));
}

bool is_list_of_names(std::string_view text) {
  constexpr std::string_view kSigns = "_-.:/'";
  std::size_t names = 0;
  for (std::string_view rest = text; !rest.empty(); ++names) {
    const std::size_t end = std::min(rest.find(", "), rest.size());
    const std::string_view name = rest.substr(0, end);
    if (name.empty() || !std::ranges::all_of(name, [&](unsigned char c) {
          return std::islower(c) != 0 || std::isdigit(c) != 0 ||
                 kSigns.find(static_cast<char>(c)) != std::string_view::npos;
        }))
      return false;
    rest.remove_prefix(std::min(end + 2, rest.size()));
  }
  return names >= 3;
}

std::optional<std::string> number_list(std::string_view text) {
  constexpr std::string_view kLast = " and ";
  constexpr std::string_view kNumber = "0123456789-–";
  const std::size_t last = text.find(kLast);
  if (last == std::string_view::npos) return std::nullopt;
  std::string out;
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t end = std::min({rest.find(", "), rest.find(kLast), rest.size()});
    const std::string_view number = rest.substr(0, end);
    if (number.empty() || number.find_first_not_of(kNumber) != std::string_view::npos)
      return std::nullopt;
    out += number;
    rest.remove_prefix(end);
    if (rest.empty()) break;
    out += rest.starts_with(kLast) ? " 和 " : "、";
    rest.remove_prefix(rest.starts_with(kLast) ? kLast.size() : 2);
  }
  return out;
}

bool is_plain_value(std::string_view text) {
  const auto blanks = std::ranges::count(text, ' ');
  return text.empty() || blanks == 0 || is_list_of_names(text) || number_list(text) ||
         (blanks <= 2 && std::isdigit(static_cast<unsigned char>(text[0])) != 0);
}

void append_piece(std::string& out, std::string_view next) {
  if (out.ends_with(' ') && begins_wide(next) &&
      ends_wide(std::string_view(out).substr(0, out.size() - 1)))
    out.pop_back();
  else if (next.starts_with(' ') && ends_wide(out) && begins_wide(next.substr(1)))
    next.remove_prefix(1);
  out += next;
}

bool is_prose(std::string_view text) {
  constexpr int kWords = 3;
  int words = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    std::string_view word = text.substr(0, end);
    if (word.ends_with(',') || word.ends_with('.')) word.remove_suffix(1);
    const auto is_lower = [](unsigned char c) { return std::islower(c) != 0 || c == '-'; };
    words += !word.empty() && std::ranges::all_of(word, is_lower) ? 1 : 0;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words >= kWords;
}

std::size_t end_of_quoted(std::string_view text, std::size_t at) {
  const auto is_word = [&](std::size_t i) {
    return i < text.size() && std::isalnum(static_cast<unsigned char>(text[i])) != 0;
  };
  if (text[at] != '\'' || (at > 0 && is_word(at - 1))) return at;
  for (std::size_t end = text.find('\'', at + 1); end != std::string_view::npos;
       end = text.find('\'', end + 1))
    if (!is_word(end + 1)) return end + 1;
  return at;
}

std::vector<std::string_view> split_outside_brackets(std::string_view text,
                                                     std::string_view joint) {
  std::vector<std::string_view> out;
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (const std::size_t end = end_of_quoted(text, i); end != i) {
      i = end - 1;
      continue;
    }
    if (text[i] == '(') ++depth;
    if (text[i] == ')' && depth > 0) --depth;
    if (depth > 0 || !text.substr(i).starts_with(joint)) continue;
    out.push_back(text.substr(begin, i - begin));
    begin = i + joint.size();
    i = begin - 1;
  }
  out.push_back(text.substr(begin));
  return out;
}

bool has_letter_or_digit(std::string_view text) {
  return std::ranges::any_of(text, [](unsigned char c) { return std::isalnum(c) != 0; });
}

bool is_balanced(std::string_view text) {
  int depth = 0;
  for (const char c : text) {
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    if (depth < 0) return false;
  }
  return depth == 0;
}

bool has_letter(std::string_view text) {
  return std::ranges::any_of(text, [](unsigned char c) { return std::isalpha(c) != 0; });
}

}  // namespace assay::lang
