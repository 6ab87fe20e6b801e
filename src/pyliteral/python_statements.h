#pragma once

#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pyliteral/python_tokens.h"

namespace assay::pyliteral {

// The structure of Python statements, from their tokens alone; evaluates nothing.

using Tokens = std::span<const Token>;

/// The statements of a logical line, separated by semicolons, without empty ones.
[[nodiscard]] std::vector<Tokens> split_statements(Tokens line);

/// Whether the line starts a compound statement (if, for, def, a decorator, …).
[[nodiscard]] bool opens_block(Tokens line) noexcept;
/// "an if statement", "a function", "a class", …
[[nodiscard]] std::string block_name(Tokens line);
/// Whether a line of the same indentation continues the block: else, elif, except, finally.
[[nodiscard]] bool continues_block(Tokens line, std::string_view block) noexcept;
/// if __name__ == "__main__":
[[nodiscard]] bool is_main_guard(Tokens line) noexcept;
/// Names that the header itself binds: a function or class, a loop variable, after "as".
[[nodiscard]] std::set<std::string> block_targets(Tokens header);
/// The rest of the line after the header's colon.
[[nodiscard]] Tokens after_colon(Tokens header) noexcept;

[[nodiscard]] bool is_assignment(Tokens statement) noexcept;
/// `name: type` without a value.
[[nodiscard]] bool is_annotation(Tokens statement) noexcept;
/// Names bound or changed by the statement, whatever its kind.
[[nodiscard]] std::set<std::string> statement_targets(Tokens statement);
/// lambda, not, None, True, False, await: an expression statement may start with them.
[[nodiscard]] bool is_expression_keyword(std::string_view text) noexcept;

struct Assignment {
  std::vector<Tokens> targets;  ///< a = b = value has two; none is empty
  Tokens value;
  std::string augmented;  ///< "+" for +=; else empty
  Place place;
};
/// Requires is_assignment(). Drops an annotation.
[[nodiscard]] Assignment split_assignment(Tokens statement);

/// The key of `name[key]`, if that is the whole target.
[[nodiscard]] std::optional<Tokens> subscript_of(Tokens target) noexcept;
/// The targets of `a, b` or `(a, b)` or `[a, b]`.
[[nodiscard]] std::optional<std::vector<Tokens>> unpacking(Tokens target);

struct ImportStatement {
  bool from = false;
  bool star = false;
  bool malformed = false;
  std::vector<std::string> modules;                        ///< one, when `from`
  std::vector<std::pair<std::string, std::string>> names;  ///< name and the name it is bound to
  Place place;
};
[[nodiscard]] ImportStatement parse_import(Tokens statement);

}  // namespace assay::pyliteral
