#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace assay::commands {

/// What an option takes, as people read it: "text|json" of "TEXT:{text,json}", "N" of
/// "INT:INT in [1 - 1000]", "HOST,…" as it is. Empty for one that takes nothing.
[[nodiscard]] std::string value_text(const CLI::Option& option);
/// Its names: "-o,--out", and "--web[=…]" of a flag that may have a value.
[[nodiscard]] std::string names_text(const CLI::Option& option);
/// What a command takes after its options: "[suite]", "base new...".
[[nodiscard]] std::string argument_text(const CLI::Option& option);

/// The parser's help, without its own notation for types and for what excludes what: a command line
/// that does not fit is told so. Columns are right with wide characters; on a terminal lines end
/// at its edge.
class HelpFormat : public CLI::Formatter {
 public:
  std::string make_option(const CLI::Option* option, bool positional) const override;
  std::string make_option_usage(const CLI::Option* option) const override;
  std::string make_usage(const CLI::App* app, std::string name) const override;
  std::string make_group(std::string group, bool positional,
                         std::vector<const CLI::Option*> options) const override;
  std::string make_subcommands(const CLI::App* app, CLI::AppFormatMode mode) const override;
};

}  // namespace assay::commands
