#include "core/json_skim.h"

#include "core/error.h"

namespace assay {

namespace {

constexpr std::size_t kMaxDepth = 256;

class Skimmer {
 public:
  Skimmer(std::string_view text, const std::string& where) : text_(text), where_(where) {}

  void skip_blanks() {
    while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
  }

  [[nodiscard]] bool take(char wanted) {
    skip_blanks();
    if (at_ >= text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }

  void expect(char wanted, const char* name) {
    if (!take(wanted)) fail(name);
  }

  /// Returns the string without its quotes.
  std::string_view string() {
    expect('"', "a name in quotes");
    const std::size_t first = at_;
    skip_string();
    return text_.substr(first, at_ - first - 1);
  }

  std::string_view value() {
    skip_blanks();
    const std::size_t first = at_;
    if (at_ >= text_.size()) fail("a value");
    if (text_[at_] == '"') {
      ++at_;
      skip_string();
    } else if (text_[at_] == '{' || text_[at_] == '[') {
      skip_nested();
    } else {
      while (at_ < text_.size() && !is_blank(text_[at_]) && text_[at_] != ',' &&
             text_[at_] != '}' && text_[at_] != ']')
        ++at_;
      if (at_ == first) fail("a value");
    }
    return text_.substr(first, at_ - first);
  }

  void expect_end() {
    skip_blanks();
    if (at_ != text_.size()) fail("the end of the text");
  }

 private:
  static bool is_blank(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

  // Moves from just after the opening quote to just after the closing one.
  void skip_string() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      at_ += c == '\\' ? 2 : 1;
      if (c == '"') return;
    }
    at_ = text_.size();
    fail("the end of a text");
  }

  void skip_nested() {
    std::size_t depth = 0;
    while (at_ < text_.size()) {
      const char c = text_[at_++];
      if (c == '"') {
        skip_string();
      } else if (c == '{' || c == '[') {
        // Code that walks the value must not run out of stack.
        if (++depth > kMaxDepth) fail("fewer levels");
      } else if (c == '}' || c == ']') {
        if (--depth == 0) return;
      }
    }
    fail("the end of a list or object");
  }

  [[noreturn]] void fail(const char* expected) const {
    throw Error(
        ErrorKind::config,
        std::string("not valid JSON: expected ") + expected + " at byte " + std::to_string(at_),
        where_);
  }

  std::string_view text_;
  const std::string& where_;
  std::size_t at_ = 0;
};

}  // namespace

void each_json_member(
    std::string_view object, const std::string& where,
    const std::function<void(std::string_view key, std::string_view value)>& member) {
  Skimmer skim(object, where);
  skim.expect('{', "an object");
  if (!skim.take('}')) {
    do {
      const std::string_view key = skim.string();
      skim.expect(':', "':'");
      member(key, skim.value());
    } while (skim.take(','));
    skim.expect('}', "',' or '}'");
  }
  skim.expect_end();
}

void each_json_element(std::string_view list, const std::string& where,
                       const std::function<void(std::string_view value)>& element) {
  Skimmer skim(list, where);
  skim.expect('[', "a list");
  if (!skim.take(']')) {
    do element(skim.value());
    while (skim.take(','));
    skim.expect(']', "',' or ']'");
  }
  skim.expect_end();
}

}  // namespace assay
