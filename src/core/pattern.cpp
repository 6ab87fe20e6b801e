#include "core/pattern.h"

#include <regex>

namespace assay {

namespace {

// The library compiles a pattern recursively; the limit keeps it far from the end of the stack.
constexpr std::size_t kMaxPatternBytes = 1000;
// The backtracking matcher recurses per character.
constexpr std::size_t kMaxBacktrackedBytes = 4096;

Pattern::Groups groups_of(const std::cmatch& match) {
  Pattern::Groups groups(match.size());
  for (std::size_t i = 0; i < match.size(); ++i)
    if (match[i].matched) groups[i] = std::string_view(match[i].first, match[i].second);
  return groups;
}

}  // namespace

struct Pattern::Compiled {
  std::regex regex;
  bool backtracks = true;

  [[nodiscard]] std::string_view within_reach(std::string_view text) const {
    return backtracks ? text.substr(0, kMaxBacktrackedBytes) : text;
  }
};

Pattern::Pattern() : Pattern(std::string()) {}

Pattern::Pattern(const std::string& text) {
  if (text.size() > kMaxPatternBytes)
    throw PatternError("it is longer than " + std::to_string(kMaxPatternBytes) + " bytes");
  Compiled compiled;
  constexpr auto kOptions = std::regex::ECMAScript | std::regex::optimize;
#ifdef __GLIBCXX__
  try {
    compiled.regex.assign(text, kOptions | std::regex_constants::__polynomial);
    compiled.backtracks = false;
  } catch (const std::regex_error&) {
    compiled.backtracks = true;  // it has back-references, or is no pattern at all
  }
#endif
  if (compiled.backtracks) {
    try {
      compiled.regex.assign(text, kOptions);
    } catch (const std::regex_error& error) {
      throw PatternError(error.what());
    }
  }
  compiled_ = std::make_shared<const Compiled>(std::move(compiled));
}

bool Pattern::has_back_references() const {
  return compiled_->backtracks;
}

std::size_t Pattern::groups() const {
  return compiled_->regex.mark_count();
}

bool Pattern::found_in(std::string_view text) const {
  text = compiled_->within_reach(text);
  return std::regex_search(text.data(), text.data() + text.size(), compiled_->regex);
}

std::optional<Pattern::Groups> Pattern::search(std::string_view text) const {
  text = compiled_->within_reach(text);
  std::cmatch match;
  if (!std::regex_search(text.data(), text.data() + text.size(), match, compiled_->regex))
    return std::nullopt;
  return groups_of(match);
}

std::vector<Pattern::Groups> Pattern::search_all(std::string_view text) const {
  text = compiled_->within_reach(text);
  std::vector<Groups> found;
  const std::cregex_iterator end;
  for (std::cregex_iterator it(text.data(), text.data() + text.size(), compiled_->regex); it != end;
       ++it)
    found.push_back(groups_of(*it));
  return found;
}

}  // namespace assay
