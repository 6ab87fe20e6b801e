#include "arguments.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include <fmt/format.h>

#include "core/error.h"
#include "core/parse_number.h"
#include "core/text.h"

namespace assay::train {

std::string CommandHelp::text() const {
  std::string out =
      fmt::format("usage: assay-train {} {} [options]\n\n{}\n\n", name, operands, summary);
  std::size_t width = 0;
  for (const ArgumentOption& option : options)
    width = std::max(width, option.name.size() + option.value.size());
  for (const ArgumentOption& option : options)
    out += fmt::format("  {:<{}}  {}\n", option.name + " " + option.value, width + 1, option.help);
  out += fmt::format("  {:<{}}  print this\n\nexamples:\n", "--help", width + 1);
  for (const std::string& example : examples) out += "  " + example + "\n";
  return out;
}

bool wants_help(const CommandHelp& help, const std::vector<std::string>& arguments) {
  const bool wanted = std::ranges::any_of(
      arguments, [](const std::string& a) { return a == "--help" || a == "-h"; });
  if (wanted) std::fputs(help.text().c_str(), stdout);
  return wanted;
}

Arguments::Arguments(const CommandHelp& help, const std::vector<std::string>& arguments)
    : command_(help.name) {
  std::vector<std::string> known;
  for (const ArgumentOption& option : help.options) known.push_back(option.name);
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (!argument.starts_with("-") || argument == "-") {
      operands_.push_back(argument);
      continue;
    }
    const std::size_t equals = argument.find('=');
    const std::string name = argument.substr(0, equals);
    const auto option = std::ranges::find(help.options, name, &ArgumentOption::name);
    if (option == help.options.end())
      wrong(fmt::format("unknown option '{}'{}", printable(name), did_you_mean(name, known)));
    if (values_.contains(name)) wrong(name + " is given twice");
    if (option->value.empty()) {
      if (equals != std::string::npos) wrong(name + " takes no value");
      values_[name] = "";
    } else if (equals != std::string::npos) {
      values_[name] = argument.substr(equals + 1);
    } else {
      if (++i == arguments.size()) wrong(fmt::format("{} needs {}", name, option->value));
      values_[name] = arguments[i];
    }
    if (!option->value.empty() && values_[name].empty()) wrong(name + ": the value is empty");
  }
}

std::string Arguments::text(const std::string& option, const std::string& fallback) const {
  const auto it = values_.find(option);
  return it == values_.end() ? fallback : it->second;
}

std::int64_t Arguments::integer(const std::string& option, std::int64_t fallback,
                                std::int64_t least, std::int64_t most) const {
  if (!has(option)) return fallback;
  const auto value = parse_number<std::int64_t>(text(option), least, most);
  if (!value)
    wrong(fmt::format("{}: '{}' is not a number from {} to {}", option, printable(text(option)),
                      least, most));
  return *value;
}

double Arguments::number(const std::string& option, double fallback, double least,
                         double most) const {
  if (!has(option)) return fallback;
  const auto value = parse_number<double>(text(option), least, most);
  if (!value || std::isnan(*value))
    wrong(fmt::format("{}: '{}' is not a number from {} to {}", option, printable(text(option)),
                      least, most));
  return *value;
}

std::string Arguments::choice(const std::string& option,
                              const std::vector<std::string>& choices) const {
  const std::string value = text(option, choices.front());
  if (std::ranges::find(choices, value) == choices.end())
    wrong(fmt::format("{}: '{}' is not one of {}", option, printable(value), join(choices, ", ")));
  return value;
}

void Arguments::wrong(const std::string& message) const {
  throw Error(ErrorKind::usage, message, {}, "see assay-train " + command_ + " --help");
}

}  // namespace assay::train
