#include "pyliteral/python_statements.h"

#include <algorithm>
#include <array>

#include "core/text.h"
#include "pyliteral/python_expression.h"

namespace assay::pyliteral {

namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 12> kBlocks{{
    {"if", "an if statement"},
    {"elif", "an if statement"},
    {"else", "an else branch"},
    {"for", "a for loop"},
    {"while", "a while loop"},
    {"try", "a try statement"},
    {"except", "a try statement"},
    {"finally", "a try statement"},
    {"with", "a with statement"},
    {"def", "a function"},
    {"class", "a class"},
    {"async", "an async statement"},
}};

bool is_top(const Token& token, std::string_view text) noexcept {
  return token.depth == 0 && token.kind == Token::Kind::op && token.text == text;
}

bool is_augmented(const Token& token) noexcept {
  static constexpr std::array<std::string_view, 13> kOperators{
      "+=", "-=", "*=", "/=", "//=", "%=", "**=", ">>=", "<<=", "&=", "|=", "^=", "@="};
  return token.depth == 0 && token.kind == Token::Kind::op &&
         std::ranges::find(kOperators, token.text) != kOperators.end();
}

std::vector<Tokens> split_at(Tokens tokens, std::string_view separator, int depth) {
  std::vector<Tokens> out;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= tokens.size(); ++i) {
    const bool end = i == tokens.size() || (tokens[i].depth == depth && tokens[i].is(separator) &&
                                            tokens[i].kind == Token::Kind::op);
    if (!end) continue;
    if (i > begin) out.push_back(tokens.subspan(begin, i - begin));
    begin = i + 1;
  }
  return out;
}

/// `target: annotation` → target.
Tokens without_annotation(Tokens target) noexcept {
  for (std::size_t i = 1; i < target.size(); ++i)
    if (is_top(target[i], ":")) return target.first(i);
  return target;
}

void add_names(Tokens target, std::set<std::string>& out) {
  if (target.empty()) return;
  const Token& first = target.front();
  if (first.kind == Token::Kind::name) {
    const bool compound = target.size() > 1 && (target[1].is("[") || target[1].is("."));
    if ((target.size() == 1 || compound) && !is_keyword(first.text))
      out.insert(std::string(first.text));
  }
  if (target.size() == 1) return;
  // Unpacking: every name followed by a comma or an end, at any depth.
  const bool list = std::ranges::any_of(target, [](const Token& t) { return t.is(","); });
  if (!list) return;
  for (const Token& token : target)
    if (token.kind == Token::Kind::name && !is_keyword(token.text))
      out.insert(std::string(token.text));
}

std::string dotted(Tokens tokens) {
  std::string out;
  for (const Token& token : tokens) out += token.text;
  return out;
}

}  // namespace

std::vector<Tokens> split_statements(Tokens line) {
  return split_at(line, ";", 0);
}

bool opens_block(Tokens line) noexcept {
  const Token& first = line.front();
  if (first.is("@")) return true;
  if (first.kind != Token::Kind::name) return false;
  if (std::ranges::find(kBlocks, first.text, &decltype(kBlocks)::value_type::first) !=
      kBlocks.end())
    return true;
  // `match x:` is a block, `match = 3` and `match: int = 3` are not.
  return first.text == "match" && line.size() > 2 && is_top(line.back(), ":") &&
         !is_top(line[1], ":") && !is_assignment(line);
}

std::string block_name(Tokens line) {
  if (line.front().is("@")) return "a decorator";
  if (line.front().is("async") && line.size() > 1 && line[1].is("def")) return "a function";
  for (const auto& [keyword, name] : kBlocks)
    if (line.front().is(keyword)) return std::string(name);
  return "a match statement";
}

bool continues_block(Tokens line, std::string_view block) noexcept {
  const Token& first = line.front();
  if (block == "a function" || block == "a class") return false;
  return first.is("else") || first.is("elif") || first.is("except") || first.is("finally");
}

bool is_main_guard(Tokens line) noexcept {
  return line.size() >= 5 && line[0].is("if") && line[1].is("__name__") && line[2].is("==") &&
         line[3].kind == Token::Kind::string && line[3].decoded == "__main__" && line[4].is(":");
}

std::set<std::string> block_targets(Tokens header) {
  std::set<std::string> out;
  bool loop = false;
  for (std::size_t i = 0; i < header.size(); ++i) {
    const Token& token = header[i];
    if (token.is("for") && token.depth == 0) loop = true;
    if (token.is("in")) loop = false;
    if (is_top(token, ":")) break;
    if (token.kind != Token::Kind::name || is_keyword(token.text)) continue;
    const bool defined =
        i > 0 && (header[i - 1].is("def") || header[i - 1].is("class") || header[i - 1].is("as"));
    if (loop || defined) out.insert(std::string(token.text));
  }
  return out;
}

Tokens after_colon(Tokens header) noexcept {
  for (std::size_t i = 0; i < header.size(); ++i)
    if (is_top(header[i], ":")) return header.subspan(i + 1);
  return {};
}

bool is_assignment(Tokens statement) noexcept {
  return std::ranges::any_of(
      statement, [](const Token& token) { return is_top(token, "=") || is_augmented(token); });
}

bool is_annotation(Tokens statement) noexcept {
  return statement.size() >= 2 && statement.front().kind == Token::Kind::name &&
         !is_keyword(statement.front().text) &&
         without_annotation(statement).size() < statement.size();
}

std::set<std::string> statement_targets(Tokens statement) {
  std::set<std::string> out;
  if (statement.empty()) return out;
  if (statement.front().is("import") || statement.front().is("from")) {
    for (const auto& [name, as] : parse_import(statement).names) out.insert(as);
    return out;
  }
  if (statement.front().is("del")) {
    add_names(statement.subspan(1), out);
    return out;
  }
  if (!is_assignment(statement)) return out;
  for (const Tokens target : split_assignment(statement).targets) add_names(target, out);
  return out;
}

bool is_expression_keyword(std::string_view text) noexcept {
  static constexpr std::array<std::string_view, 7> kWords{"lambda", "not",   "None", "True",
                                                          "False",  "await", "yield"};
  return std::ranges::find(kWords, text) != kWords.end();
}

Assignment split_assignment(Tokens statement) {
  Assignment out;
  out.place = statement.front().place;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < statement.size(); ++i) {
    const bool augmented = is_augmented(statement[i]);
    if (!augmented && !is_top(statement[i], "=")) continue;
    Tokens target = statement.subspan(begin, i - begin);
    if (begin == 0) target = without_annotation(target);
    if (target.empty()) {  // "= 3", "a = = 3": not Python
      out.augmented.clear();
      out.value = {};
      return out;
    }
    out.targets.push_back(target);
    begin = i + 1;
    if (!augmented) continue;
    const std::string_view op = statement[i].text;
    out.augmented = op.substr(0, op.size() - 1);
    break;
  }
  out.value = statement.subspan(begin);
  return out;
}

std::optional<Tokens> subscript_of(Tokens target) noexcept {
  if (target.size() < 4 || target[0].kind != Token::Kind::name || !target[1].is("[") ||
      target[1].depth != 0 || !target.back().is("]"))
    return std::nullopt;
  for (std::size_t i = 2; i + 1 < target.size(); ++i)
    if (target[i].depth == 0) return std::nullopt;  // a[0][1], a[0].b
  return target.subspan(2, target.size() - 3);
}

std::optional<std::vector<Tokens>> unpacking(Tokens target) {
  int depth = target.front().depth;
  const bool enclosed = (target.front().is("(") && target.back().is(")")) ||
                        (target.front().is("[") && target.back().is("]"));
  if (enclosed) {
    target = target.subspan(1, target.size() - 2);
    ++depth;
  }
  if (target.empty()) return std::nullopt;
  const bool list = std::ranges::any_of(
      target, [&](const Token& token) { return token.depth == depth && token.is(","); });
  if (!list && !enclosed) return std::nullopt;
  auto parts = split_at(target, ",", depth);
  for (const Tokens part : parts)
    if (part.size() != 1 || part.front().kind != Token::Kind::name) return std::nullopt;
  return parts;
}

ImportStatement parse_import(Tokens statement) {
  ImportStatement out;
  out.place = statement.front().place;
  out.from = statement.front().is("from");
  Tokens rest = statement.subspan(1);
  if (out.from) {
    const auto import = std::ranges::find_if(rest, [](const Token& t) { return t.is("import"); });
    const auto length = static_cast<std::size_t>(import - rest.begin());
    if (import == rest.end() || length == 0) {
      out.malformed = true;
      return out;
    }
    std::string module = dotted(rest.first(length));
    // "from .x import" means the same folder, as does plain "x" for FlagPerf's loader.
    if (module.size() > 1 && module[0] == '.' && module[1] != '.') module.erase(0, 1);
    out.modules.push_back(module);
    rest = rest.subspan(length + 1);
    if (!rest.empty() && rest.front().is("(") && rest.back().is(")"))
      rest = rest.subspan(1, rest.size() - 2);
    if (rest.size() == 1 && rest.front().is("*")) {
      out.star = true;
      return out;
    }
  }
  if (rest.empty()) {
    out.malformed = true;
    return out;
  }
  for (const Tokens part : split_at(rest, ",", rest.front().depth)) {
    const auto as = std::ranges::find_if(part, [](const Token& t) { return t.is("as"); });
    const auto length = static_cast<std::size_t>(as - part.begin());
    const std::string name = dotted(part.first(length));
    const bool renamed = as != part.end() && length + 2 == part.size();
    if (name.empty() || (as != part.end() && !renamed)) {
      out.malformed = true;
      return out;
    }
    if (!out.from) out.modules.push_back(name);
    const std::string bound =
        renamed ? std::string(part.back().text) : std::string(split(name, '.').front());
    out.names.emplace_back(name, bound);
  }
  return out;
}

}  // namespace assay::pyliteral
