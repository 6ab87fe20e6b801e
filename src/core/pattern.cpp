#include "core/pattern.h"

#include <array>
#include <span>

#include <re2/re2.h>

namespace assay {

struct Pattern::Compiled {
  explicit Compiled(const std::string& text) : regex(text, options()) {}

  // Matches bytes, not UTF-8: programs may print anything, and "." matches all of it.
  static RE2::Options options() {
    RE2::Options options(RE2::Latin1);
    options.set_log_errors(false);
    return options;
  }

  RE2 regex;
};

namespace {

// RE2's message, or a plainer one for features of other engines that RE2 lacks.
std::string reason_of(const RE2& regex) {
  const std::string& part = regex.error_arg();
  if (part.size() == 2 && part[0] == '\\' && part[1] >= '1' && part[1] <= '9')
    return "back-references (" + part + ") are not supported";
  if (part == "(?=" || part == "(?!") return "look-ahead " + part + " ) is not supported";
  if (part == "(?<") return "look-behind and names as in (?<name> ) are not supported";
  return regex.error();
}

// The first match at or after `from`; empty when there is none.
Pattern::Groups match_from(const RE2& regex, std::string_view text, std::size_t from) {
  // Most text does not match, so that case allocates nothing.
  const auto count = static_cast<std::size_t>(regex.NumberOfCapturingGroups()) + 1;
  std::array<re2::StringPiece, 8> few;
  std::vector<re2::StringPiece> many(count > few.size() ? count : 0);
  const std::span<re2::StringPiece> parts(many.empty() ? few.data() : many.data(), count);
  if (!regex.Match({text.data(), text.size()}, from, text.size(), RE2::UNANCHORED, parts.data(),
                   static_cast<int>(parts.size())))
    return {};
  Pattern::Groups groups(parts.size());
  for (std::size_t i = 0; i < parts.size(); ++i)
    if (parts[i].data() != nullptr) groups[i] = std::string_view(parts[i].data(), parts[i].size());
  return groups;
}

}  // namespace

Pattern::Pattern() : Pattern(std::string()) {}

Pattern::Pattern(const std::string& text) : compiled_(std::make_shared<const Compiled>(text)) {
  if (!compiled_->regex.ok()) throw PatternError(reason_of(compiled_->regex));
}

std::size_t Pattern::groups() const {
  return static_cast<std::size_t>(compiled_->regex.NumberOfCapturingGroups());
}

std::optional<std::size_t> Pattern::group(const std::string& name) const {
  const auto& named = compiled_->regex.NamedCapturingGroups();
  const auto at = named.find(name);
  return at == named.end() ? std::nullopt : std::optional(static_cast<std::size_t>(at->second));
}

bool Pattern::found_in(std::string_view text) const {
  return compiled_->regex.Match({text.data(), text.size()}, 0, text.size(), RE2::UNANCHORED,
                                nullptr, 0);
}

std::optional<Pattern::Groups> Pattern::search(std::string_view text, std::size_t from) const {
  Groups groups = match_from(compiled_->regex, text, from);
  return groups.empty() ? std::nullopt : std::optional(std::move(groups));
}

std::vector<Pattern::Groups> Pattern::search_all(std::string_view text) const {
  std::vector<Groups> found;
  for (std::size_t from = 0; from <= text.size();) {
    Groups groups = match_from(compiled_->regex, text, from);
    if (groups.empty()) break;
    const std::string_view whole = groups.front().value_or("");
    const auto end = static_cast<std::size_t>(whole.data() - text.data()) + whole.size();
    from = whole.empty() ? end + 1 : end;
    found.push_back(std::move(groups));
  }
  return found;
}

}  // namespace assay
