#include "pyliteral/python_tokens.h"

#include <array>
#include <optional>

#include <fmt/format.h>

#include "pyliteral/python_strings.h"

namespace assay::pyliteral {

namespace {

constexpr std::size_t kMaxBrackets = 200;  // CPython's own limit

bool is_name_start(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}

bool is_digit(char c) noexcept {
  return c >= '0' && c <= '9';
}

char closing(char open) noexcept {
  return open == '(' ? ')' : open == '[' ? ']' : '}';
}

class Tokenizer {
 public:
  explicit Tokenizer(std::string_view source) : source_(source) {
    if (source_.starts_with("\xEF\xBB\xBF")) source_.remove_prefix(3);
  }

  TokenStream run() {
    if (source_.find('\0') != std::string_view::npos) {
      report({0, 0}, "the file contains a NUL byte: it is not Python source");
      return std::move(out_);
    }
    while (!stopped_ && pos_ < source_.size()) step();
    if (!brackets_.empty() && !stopped_)
      report(brackets_.back().place,
             fmt::format("'{}' is never closed", brackets_.back().character));
    end_line();
    bind_spans();
    return std::move(out_);
  }

 private:
  struct Bracket {
    char character;
    Place place;
  };
  struct LineRange {
    int indent;
    std::size_t begin;
    std::size_t end;
    bool broken;
  };

  [[nodiscard]] char peek(std::size_t ahead = 0) const noexcept {
    return pos_ + ahead < source_.size() ? source_[pos_ + ahead] : '\0';
  }
  [[nodiscard]] Place here() const noexcept { return {line_, column_}; }

  void advance(std::size_t bytes) noexcept {
    for (std::size_t i = 0; i < bytes && pos_ < source_.size(); ++i) {
      const char c = source_[pos_++];
      if (c == '\n' || (c == '\r' && peek() != '\n')) {
        ++line_;
        column_ = 1;
      } else if (c != '\r' && (static_cast<unsigned char>(c) & 0xC0) != 0x80) {
        ++column_;
      }
    }
  }

  void report(Place place, std::string message) {
    out_.problems.push_back({{}, place.line, place.column, Severity::error, std::move(message)});
    broken_ = true;
  }

  void step() {
    const char c = peek();
    if (c == '\n' || c == '\r') {
      advance(c == '\r' && peek(1) == '\n' ? 2 : 1);
      if (brackets_.empty()) end_line();
      return;
    }
    if (c == ' ' || c == '\t' || c == '\f') return space(c);
    if (c == '#') {
      while (pos_ < source_.size() && peek() != '\n' && peek() != '\r') advance(1);
      return;
    }
    if (c == '\\') return continuation();
    if (const auto prefix = string_prefix()) return string(*prefix);
    if (is_name_start(c)) return name();
    if (is_digit(c) || (c == '.' && is_digit(peek(1)))) return number();
    operator_or_bracket();
  }

  void space(char c) {
    if (at_line_start()) indent_ = c == '\t' ? (indent_ / 8 + 1) * 8 : c == '\f' ? 0 : indent_ + 1;
    advance(1);
  }

  [[nodiscard]] bool at_line_start() const noexcept {
    return brackets_.empty() && line_begin_ == out_.tokens.size();
  }

  void continuation() {
    const std::size_t ending = peek(1) == '\r' && peek(2) == '\n'   ? 2U
                               : peek(1) == '\n' || peek(1) == '\r' ? 1U
                                                                    : 0U;
    if (ending == 0) report(here(), "a backslash that does not end its line");
    advance(1 + ending);
  }

  /// Length of the prefix if a string literal starts here.
  [[nodiscard]] std::optional<std::size_t> string_prefix() const noexcept {
    std::size_t length = 0;
    while (length < 3 && peek(length) != '\0' &&
           std::string_view("rRbBuUfF").find(peek(length)) != std::string_view::npos)
      ++length;
    if (length > 2) return std::nullopt;
    const char quote = peek(length);
    if (quote == '\'' || quote == '"') return length;
    return std::nullopt;
  }

  void string(std::size_t prefix_length) {
    const Place start = here();
    const std::size_t begin = pos_;
    StringPrefix prefix;
    for (std::size_t i = 0; i < prefix_length; ++i) {
      const char letter = static_cast<char>(peek(i) | 0x20);
      prefix.raw |= letter == 'r';
      prefix.bytes |= letter == 'b';
      prefix.format |= letter == 'f';
    }
    advance(prefix_length);
    const char quote = peek();
    const bool triple = peek(1) == quote && peek(2) == quote;
    const std::size_t quotes = triple ? 3 : 1;
    advance(quotes);
    const std::size_t body = pos_;
    const std::string_view end_mark =
        triple ? source_.substr(body - 3, 3) : source_.substr(body - 1, 1);
    for (;;) {
      if (pos_ >= source_.size() || (!triple && (peek() == '\n' || peek() == '\r'))) {
        report(start, triple ? "a triple-quoted string is never closed"
                             : "a string is not closed on its line");
        return;
      }
      if (peek() == '\\' && pos_ + 1 < source_.size()) {
        advance(peek(1) == '\r' && peek(2) == '\n' ? 3 : 2);
        continue;
      }
      if (source_.substr(pos_, quotes) == end_mark) break;
      advance(1);
    }
    const std::string_view content = source_.substr(body, pos_ - body);
    advance(quotes);
    Token token = make(Token::Kind::string, begin, start);
    DecodedString decoded = decode_string(content, prefix);
    token.decoded = std::move(decoded.text);
    token.format = std::move(decoded.format);
    token.problem = prefix.bytes ? "bytes" : std::move(decoded.problem);
    out_.tokens.push_back(std::move(token));
  }

  void name() {
    const Place start = here();
    const std::size_t begin = pos_;
    while (is_name_start(peek()) || is_digit(peek())) advance(1);
    out_.tokens.push_back(make(Token::Kind::name, begin, start));
  }

  void number() {
    const Place start = here();
    const std::size_t begin = pos_;
    for (;;) {
      const char c = peek();
      const bool exponent = (c == 'e' || c == 'E') && (peek(1) == '+' || peek(1) == '-') &&
                            (source_[begin] != '0' || (source_[begin + 1] | 0x20) != 'x');
      if (exponent) {
        advance(2);
      } else if (is_digit(c) || c == '.' || c == '_' || (c >= 'a' && c <= 'z') ||
                 (c >= 'A' && c <= 'Z')) {
        // "1if x else y" becomes one token and is refused as a number; no real code contains it.
        advance(1);
      } else {
        break;
      }
    }
    out_.tokens.push_back(make(Token::Kind::number, begin, start));
  }

  void operator_or_bracket() {
    static constexpr std::array<std::string_view, 25> kOperators{
        "**=", "//=", ">>=", "<<=", "...", "!=", "==", "<=", ">=", ":=", "->", "+=", "-=",
        "*=",  "/=",  "%=",  "&=",  "|=",  "^=", "@=", "**", "//", ">>", "<<", "<>"};
    const Place start = here();
    const std::size_t begin = pos_;
    const char c = peek();
    if (c == '(' || c == '[' || c == '{') {
      if (brackets_.size() >= kMaxBrackets) {
        report(start, fmt::format("brackets nested deeper than {}", kMaxBrackets));
        stopped_ = true;
        return;
      }
      advance(1);
      out_.tokens.push_back(make(Token::Kind::op, begin, start));
      brackets_.push_back({c, start});
      return;
    }
    if (c == ')' || c == ']' || c == '}') return close(c);
    std::size_t length = 1;
    for (const std::string_view candidate : kOperators) {
      if (!source_.substr(pos_).starts_with(candidate)) continue;
      length = candidate.size();
      break;
    }
    if (length == 1 && std::string_view("+-*/%@&|^~<>=.,:;").find(c) == std::string_view::npos) {
      report(start, static_cast<unsigned char>(c) < 0x20 || c == 0x7F
                        ? fmt::format("control character 0x{:02x}", c)
                        : fmt::format("'{}' is not Python", c));
      advance(1);
      return;
    }
    advance(length);
    out_.tokens.push_back(make(Token::Kind::op, begin, start));
  }

  void close(char c) {
    const Place start = here();
    const std::size_t begin = pos_;
    if (brackets_.empty()) {
      report(start, fmt::format("'{}' closes nothing", c));
      advance(1);
      return;
    }
    const Bracket open = brackets_.back();
    if (closing(open.character) != c)
      report(start, fmt::format("'{}' does not close the '{}' of line {}", c, open.character,
                                open.place.line));
    brackets_.pop_back();
    advance(1);
    out_.tokens.push_back(make(Token::Kind::op, begin, start));
  }

  [[nodiscard]] Token make(Token::Kind kind, std::size_t begin, Place start) const {
    Token token;
    token.kind = kind;
    token.text = source_.substr(begin, pos_ - begin);
    token.place = start;
    token.depth = static_cast<int>(brackets_.size());
    return token;
  }

  void end_line() {
    if (out_.tokens.size() > line_begin_)
      ranges_.push_back({indent_, line_begin_, out_.tokens.size(), broken_});
    line_begin_ = out_.tokens.size();
    indent_ = 0;
    broken_ = false;
  }

  void bind_spans() {
    const std::span<const Token> all(out_.tokens);
    for (const LineRange& range : ranges_)
      out_.lines.push_back(
          {range.indent, all.subspan(range.begin, range.end - range.begin), range.broken});
  }

  std::string_view source_;
  std::size_t pos_ = 0;
  int line_ = 1;
  int column_ = 1;
  int indent_ = 0;
  bool broken_ = false;
  bool stopped_ = false;
  std::size_t line_begin_ = 0;
  std::vector<Bracket> brackets_;
  std::vector<LineRange> ranges_;
  TokenStream out_;
};

}  // namespace

TokenStream tokenize(std::string_view source) {
  return Tokenizer(source).run();
}

}  // namespace assay::pyliteral
