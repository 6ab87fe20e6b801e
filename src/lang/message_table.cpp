#include "lang/message_table.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <utility>

#include "lang/text_shapes.h"

namespace assay::lang {

namespace {

constexpr std::size_t npos = std::string_view::npos;
constexpr int kMaxDepth = 7;
constexpr std::size_t kMaxParted = 2000;  // longer texts are not Assay's own
constexpr std::size_t kWeakLetters = 8;
constexpr std::string_view kAndSoOn = ", …";

struct Placeholder {
  std::string_view name;    ///< "", "1" or "detail"
  std::string_view choice;  ///< "rank|ranks" of "{value:rank|ranks}", or empty
  std::size_t size = 0;     ///< in bytes, including braces
  bool as_is = false;       ///< "{:name}" in a translation
};

// The placeholder at the start of `form`, which starts with '{'.
std::optional<Placeholder> placeholder_at(std::string_view form) {
  const std::size_t end = form.find('}');
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view inside = form.substr(1, end - 1);
  const std::string_view name = inside.substr(0, inside.find(':'));
  const auto is_name = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
  if (!std::ranges::all_of(name, is_name)) return std::nullopt;
  std::string_view choice = inside.substr(std::min(inside.size(), name.size() + 1));
  const bool as_is = choice == "name";
  if (choice.find('|') == std::string_view::npos) choice = {};
  return Placeholder{name, choice, end + 1, as_is};
}

struct Piece {
  std::string literal;                     ///< before the placeholder
  std::optional<Placeholder> placeholder;  ///< nothing at the end
};

std::vector<Piece> pieces_of(std::string_view form) {
  std::vector<Piece> out(1);
  while (!form.empty()) {
    if (form.starts_with("{{") || form.starts_with("}}")) {
      out.back().literal += form[0];
      form.remove_prefix(2);
      continue;
    }
    const auto placeholder = form[0] == '{' ? placeholder_at(form) : std::nullopt;
    if (!placeholder) {
      out.back().literal += form[0];
      form.remove_prefix(1);
      continue;
    }
    out.back().placeholder = placeholder;
    out.emplace_back();
    form.remove_prefix(placeholder->size);
  }
  return out;
}

// The separators between the parts of composed texts, and their form in another language.
struct Joint {
  std::string_view english;
  std::string_view translation;
  bool of_prose = false;  ///< also common within people's sentences
};
constexpr std::array<Joint, 8> kJoints{{{"\n", "\n"},
                                        {" · ", " · "},
                                        {" × ", " × "},
                                        {"; ", "；"},
                                        {". ", "。", true},
                                        {": ", "："},
                                        {", ", "，", true},
                                        {" and ", "和", true}}};

constexpr std::array<std::pair<char, const char*>, 5> kEnds{
    {{'.', "。"}, {':', "："}, {'?', "？"}, {',', "，"}, {';', "；"}}};

// The values in a text that was made from a pattern with these literals.
std::optional<std::vector<std::string_view>> match(const std::vector<std::string>& literals,
                                                   std::string_view text) {
  const std::string& first = literals.front();
  const std::string& last = literals.back();
  if (text.size() < first.size() + last.size() || !text.starts_with(first) || !text.ends_with(last))
    return std::nullopt;
  std::string_view rest = text.substr(first.size(), text.size() - first.size() - last.size());
  std::vector<std::string_view> values;
  for (std::size_t i = 1; i + 1 < literals.size(); ++i) {
    const std::size_t at = rest.find(literals[i]);
    if (at == std::string_view::npos) return std::nullopt;
    values.push_back(rest.substr(0, at));
    rest.remove_prefix(at + literals[i].size());
  }
  values.push_back(rest);
  return values;
}

// Which value a translation's placeholder refers to: by name or number, else the next one.
std::size_t place_of(const Placeholder& placeholder, const std::vector<std::string>& names,
                     std::size_t next) {
  if (placeholder.name.empty()) return next;
  const auto named = std::ranges::find(names, placeholder.name);
  if (named != names.end()) return static_cast<std::size_t>(named - names.begin());
  return std::strtoul(std::string(placeholder.name).c_str(), nullptr, 10);
}

}  // namespace

MessageTable::MessageTable(std::vector<Message> messages) : messages_(std::move(messages)) {
  for (std::size_t i = 0; i < messages_.size(); ++i) {
    exact_.emplace(messages_[i].english, i);
    add_patterns(messages_[i].english, i);
    if (!messages_[i].plural.empty()) {
      exact_.emplace(messages_[i].plural, i);
      add_patterns(messages_[i].plural, i);
    }
  }
  std::ranges::stable_sort(patterns_, std::ranges::greater{}, &Pattern::weight);
}

void MessageTable::add_patterns(std::string_view form, std::size_t message) {
  std::vector<Pattern> variants(1);
  variants[0].message = message;
  const std::vector<Piece> pieces = pieces_of(form);
  if (pieces.size() == 1) return;
  std::vector<std::string> pending(1);  // text after the last value, for each variant
  for (const Piece& piece : pieces) {
    for (std::size_t i = 0; i < variants.size(); ++i) {
      variants[i].literals.push_back(pending[i] + piece.literal);
      pending[i].clear();
      if (piece.placeholder) variants[i].names.emplace_back(piece.placeholder->name);
    }
    if (!piece.placeholder || piece.placeholder->choice.empty()) continue;
    // "{value:rank|ranks}" stands for "1 rank" or "3 ranks".
    const std::string_view choice = piece.placeholder->choice;
    const std::size_t bar = choice.find('|');
    const std::size_t count = variants.size();
    for (std::size_t i = 0; i < count; ++i) {
      variants.push_back(variants[i]);
      pending[i] = " " + std::string(choice.substr(0, bar));
      pending.push_back(" " + std::string(choice.substr(bar + 1)));
    }
  }
  const std::vector<Piece> translation = pieces_of(messages_[message].translation);
  for (Pattern& variant : variants) {
    std::size_t own = 0;
    std::size_t next = 0;
    variant.as_is.resize(variant.names.size());
    for (const Piece& piece : translation)
      if (piece.placeholder)
        if (const std::size_t at = place_of(*piece.placeholder, variant.names, next++);
            at < variant.as_is.size() && piece.placeholder->as_is)
          variant.as_is[at] = true;
    for (const std::string& literal : variant.literals) {
      variant.weight += literal.size();
      own += letters(literal);
    }
    variant.weak = own < kWeakLetters;
    if (std::ranges::any_of(variant.literals, has_letter)) patterns_.push_back(std::move(variant));
  }
}

std::optional<std::string_view> MessageTable::find(std::string_view message) const {
  const auto found = exact_.find(message);
  if (found == exact_.end()) return std::nullopt;
  return messages_[found->second].translation;
}

std::string MessageTable::translate(std::string_view english) const {
  return translated(english, {}).value_or(std::string(english));
}

std::optional<std::string> MessageTable::translated(std::string_view text, Level level) const {
  if (level.depth > kMaxDepth || !has_letter(text) || is_list_of_names(text)) return std::nullopt;
  if (end_of_quoted(text, 0) == text.size()) return std::nullopt;
  if (auto list = number_list(text)) return list;
  // Blanks around a text belong to its surroundings.
  const std::size_t begin = text.find_first_not_of(' ');
  const std::size_t end = text.find_last_not_of(' ') + 1;
  if (begin != 0 || end != text.size()) {
    auto inner = translated(text.substr(begin, end - begin), level);
    if (!inner) return std::nullopt;
    // A full-width sign contains its own space.
    const bool colon = inner->ends_with("：") && end + 1 == text.size();
    return std::string(begin, ' ') + *inner + std::string(colon ? 0 : text.size() - end, ' ');
  }
  // Signs before a text, such as "✓ " and "· ".
  const std::size_t sign = text.find(' ');
  if (sign != std::string_view::npos && !has_letter_or_digit(text.substr(0, sign)) &&
      text[0] != '{') {
    if (const auto found = find(text)) return std::string(*found);
    // A word in another script is not a sign: "'本地' is not one of …".
    if (const auto inner = translated(text.substr(sign), level))
      return std::string(text.substr(0, sign)) + *inner;
  }
  if (auto found = whole(text, level.depth, Values::of_one_part)) return found;
  if (auto found = in_parts(text, level)) return found;
  return whole(text, level.depth, Values::any);
}

std::optional<std::string> MessageTable::whole(std::string_view text, int depth,
                                               Values allowed) const {
  if (const auto found = find(text)) return std::string(*found);
  for (const Pattern& pattern : patterns_) {
    const auto values = match(pattern.literals, text);
    if (!values) continue;
    // "{} rounds" applies only to a number, not to anything that ends in "rounds".
    const bool of_number = !messages_[pattern.message].plural.empty();
    if (of_number && (has_letter(values->front()) || values->front().find(": ") != npos)) continue;
    // Brackets at the end contain a remark on the whole text, and a full stop ends it.
    const bool open_end = allowed == Values::of_one_part && pattern.literals.back().empty();
    if (open_end && text.ends_with('.')) continue;
    if (open_end && text.ends_with(')') && values->back().find(" (") != std::string_view::npos)
      continue;
    // "train: not compared: …" is not said of a name that holds the half of a sentence.
    const bool leading = pattern.literals.front().empty();
    if (leading && allowed == Values::of_one_part && values->front().find(": ") != npos) continue;
    const bool fits = std::ranges::all_of(*values, [&](const std::string_view& value) {
      if (allowed == Values::of_one_part && has_several_clauses(value)) return false;
      if (!is_balanced(value)) return false;
      // A message with hardly any words, such as "{} at {}", takes only plain values and messages.
      return !pattern.weak || pattern.as_is[static_cast<std::size_t>(&value - values->data())] ||
             is_plain_value(value) ||
             (depth < kMaxDepth && whole(value, depth + 1, Values::of_one_part));
    });
    if (fits) return filled(pattern, *values, depth);
  }
  return std::nullopt;
}

std::string MessageTable::filled(const Pattern& pattern,
                                 const std::vector<std::string_view>& values, int depth) const {
  std::string out;
  std::size_t next = 0;
  for (const Piece& piece : pieces_of(messages_[pattern.message].translation)) {
    append_piece(out, piece.literal);
    if (!piece.placeholder) break;
    const std::size_t at = place_of(*piece.placeholder, pattern.names, next++);
    if (at >= values.size()) continue;
    // Text written by others stays unchanged.
    const bool quoted =
        pattern.literals[at].ends_with('\'') && pattern.literals[at + 1].starts_with('\'');
    if (quoted || pattern.as_is[at])
      append_piece(out, values[at]);
    else
      append_piece(out, translated(values[at], {depth + 1, 0}).value_or(std::string(values[at])));
  }
  return out;
}

std::optional<std::string> MessageTable::in_parts(std::string_view text, Level level) const {
  if (text.size() > kMaxParted) return std::nullopt;
  if (text.ends_with(kAndSoOn))
    if (const auto begun = translated(text.substr(0, text.size() - kAndSoOn.size()), level))
      return *begun + " …";
  for (const auto& [end, translation] : kEnds)
    if (text.ends_with(end) && text.size() > 1)
      if (const auto sentence = translated(text.substr(0, text.size() - 1), level)) {
        // A line continued on the next one may end according to its language.
        const bool ended = std::ranges::any_of(
            kEnds, [&](const auto& one) { return sentence->ends_with(one.second); });
        return ended || sentence->ends_with("、") ? *sentence : *sentence + translation;
      }
  // A last part that is a message has its brackets for itself: "a: b (c)".
  const std::size_t last = text.rfind(": ");
  const std::string_view behind = last == npos ? "" : text.substr(last + 2);
  if (is_list_of_names(behind)) {
    const auto head = translated(text.substr(0, last), level);
    return head ? std::optional(*head + "：" + std::string(behind)) : std::nullopt;
  }
  if (behind.empty() || !find(behind))
    if (auto found = with_brackets(text, level)) return found;
  for (std::size_t i = level.joint; i < kJoints.size(); ++i) {
    const std::vector<std::string_view> parts = split_outside_brackets(text, kJoints[i].english);
    // A part contains none of these joints, and the earlier ones did not match.
    if (parts.size() > 1)
      if (auto found = joined(parts, {level.depth, i + 1})) return found;
  }
  return beside_number(text, level);
}

// A message may itself contain the joint: the longest run of parts that is a message counts.
std::optional<std::string> MessageTable::joined(const std::vector<std::string_view>& parts,
                                                Level level) const {
  constexpr std::size_t kMaxRun = 4;
  const Joint& joint = kJoints[level.joint - 1];
  std::string out;
  bool changed = false;
  for (std::size_t i = 0; i < parts.size();) {
    std::size_t taken = 1;
    std::optional<std::string> found;
    for (std::size_t run = std::min(kMaxRun, parts.size() - i); run > 1 && !found; --run) {
      const std::string_view last = parts[i + run - 1];
      found = whole(
          {parts[i].data(), static_cast<std::size_t>(last.data() - parts[i].data()) + last.size()},
          level.depth, Values::of_one_part);
      if (found) taken = run;
    }
    if (!found) found = translated(parts[i], level);
    // A sentence half in each language is worse than one entirely in either.
    if (!found && joint.of_prose && is_prose(parts[i])) return std::nullopt;
    changed = changed || found;
    out += (i > 0 ? std::string(joint.translation) : "") + found.value_or(std::string(parts[i]));
    i += taken;
  }
  return changed ? std::optional(out) : std::nullopt;
}

// "text (more)"
std::optional<std::string> MessageTable::with_brackets(std::string_view text, Level level) const {
  if (!text.ends_with(')')) return std::nullopt;
  std::size_t open = text.size();
  for (int depth = 0; open > 0;) {
    depth += text[--open] == ')' ? 1 : text[open] == '(' ? -1 : 0;
    if (depth == 0) break;
  }
  if (open < 2 || text[open] != '(' || text[open - 1] != ' ') return std::nullopt;
  const Level inner{level.depth + 1, 0};
  const std::string_view before = text.substr(0, open - 1);
  const std::string_view inside = text.substr(open + 1, text.size() - open - 2);
  const auto left = translated(before, inner);
  const auto right = translated(inside, inner);
  if (!left && !right) return std::nullopt;
  return left.value_or(std::string(before)) + "（" + right.value_or(std::string(inside)) + "）";
}

// "15 rules hold", "First step 2.9 %"
std::optional<std::string> MessageTable::beside_number(std::string_view text, Level level) const {
  const auto is_digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  const std::size_t first = text.find(' ');
  if (first == std::string_view::npos) return std::nullopt;
  const Level inner{level.depth + 1, 0};
  if (is_digit(text[0]) && !has_letter(text.substr(0, first)) && text[first + 1] != '%')
    if (const auto rest = whole(text.substr(first + 1), inner.depth, Values::of_one_part))
      return std::string(text.substr(0, first + 1)) + *rest;
  if (!text.ends_with(" %")) return std::nullopt;
  const std::size_t last = text.rfind(' ', text.size() - 3);
  if (last == std::string_view::npos) return std::nullopt;
  const bool has_sign = text[last + 1] == '-' || text[last + 1] == '+';
  if (!is_digit(text[last + (has_sign ? 2 : 1)])) return std::nullopt;
  const auto rest = translated(text.substr(0, last), inner);
  return rest ? std::optional(*rest + std::string(text.substr(last))) : std::nullopt;
}

std::vector<std::string> placeholders(std::string_view form) {
  std::vector<std::string> out;
  std::size_t next = 0;
  for (const Piece& piece : pieces_of(form)) {
    if (!piece.placeholder) break;
    const std::string_view name = piece.placeholder->name;
    out.push_back(name.empty() ? std::to_string(next++) : std::string(name));
  }
  std::ranges::sort(out);
  const auto repeated = std::ranges::unique(out);
  out.erase(repeated.begin(), repeated.end());
  return out;
}

}  // namespace assay::lang
