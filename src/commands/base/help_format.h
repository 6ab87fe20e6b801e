#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace assay::commands {

/// An option's value in readable form: "text|json" for "TEXT:{text,json}", "N" for "INT:INT in [1 -
/// 1000]", "HOST,…" unchanged. Empty for an option without one.
[[nodiscard]] std::string value_text(const CLI::Option& option);
/// An option's names: "-o,--out", and "--web[=…]" for a flag with an optional value.
[[nodiscard]] std::string names_text(const CLI::Option& option);
/// A command's arguments after its options: "[suite]", "base new...".
[[nodiscard]] std::string argument_text(const CLI::Option& option);

/// The parser's help without its own notation for types and exclusions: invalid command lines get a
/// message. Columns allow for wide characters; on a terminal, lines end at its edge.
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
