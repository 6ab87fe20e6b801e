#include "workload/option_text.h"

#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "core/text.h"

namespace assay::workload {
namespace {

const Option* find_option(const std::vector<Option>& options, const std::string& key) {
  const auto found = std::ranges::find(options, key, &Option::key);
  return found == options.end() ? nullptr : &*found;
}

// The options of the workload's task, without the workload's changes.
std::vector<Option> task_options(const Workload& workload) {
  Workload plain = workload;
  plain.defaults.clear();
  return options_of(plain);
}

std::string meaning(const std::string& about, const std::string& range) {
  return range.empty() ? about : about + " (" + range + ")";
}

// Quotes a name that YAML would take for something else.
std::string yaml_key(const std::string& name) {
  return name == "null" ? "'null'" : name;
}

void append_task(std::string& text, const std::vector<Option>& options) {
  std::string section;
  for (const Option& option : options) {
    if (option.section != section) text += fmt::format("    # {}\n", option.section);
    section = option.section;
    text += fmt::format("    {}: {} # {}\n", option.key, option.value,
                        meaning(option.about.text, option.range));
  }
}

// {KEY: [least, most]} or {KEY: [words]}, for options that restrict their values.
void append_ranges(std::string& text, const std::vector<Option>& options) {
  std::string ranges;
  for (const Option& option : options) {
    if (!option.bounds) continue;
    const config::Bounds& bounds = *option.bounds;
    ranges += bounds.choices.empty()
                  ? fmt::format("    {}: [{}, {}]\n", option.key, config::limit_text(bounds.min),
                                config::limit_text(bounds.max))
                  : fmt::format("    {}: [{}]\n", option.key, join(bounds.choices, ", "));
  }
  if (!ranges.empty())
    text += "  ranges: # the least and the most of numbers, the words of texts\n" + ranges;
}

// A table row: an option, its range, and the workloads by the default they give it.
struct Row {
  Option option;
  std::vector<std::pair<std::string, std::vector<std::string>>> ranges;  // differ by task
  std::vector<std::pair<std::string, std::vector<std::string>>> defaults;
};

Row& row_of(std::vector<Row>& rows, const Option& option) {
  const auto found =
      std::ranges::find_if(rows, [&](const Row& row) { return row.option.key == option.key; });
  if (found != rows.end()) return *found;
  // Keeps it with its section, whichever task adds it.
  const auto last = std::ranges::find_if(rows.rbegin(), rows.rend(), [&](const Row& row) {
    return row.option.section == option.section;
  });
  return *rows.insert(last == rows.rend() ? rows.end() : last.base(), Row{option, {}, {}});
}

std::string shown(const std::string& value) {
  return value == "''" ? "–" : "`" + value + "`";
}

// The default of most workloads, then the others.
std::string defaults_cell(Row row) {
  std::ranges::stable_sort(row.defaults, std::greater<>(),
                           [](const auto& entry) { return entry.second.size(); });
  std::string text = shown(row.defaults.front().first);
  for (std::size_t i = 1; i < row.defaults.size(); ++i)
    text += "; " + join(row.defaults[i].second, ", ") + ": " + shown(row.defaults[i].first);
  return text;
}

void add_to(std::vector<std::pair<std::string, std::vector<std::string>>>& groups,
            const std::string& value, const std::string& workload) {
  const auto same =
      std::ranges::find_if(groups, [&](const auto& group) { return group.first == value; });
  if (same != groups.end())
    same->second.push_back(workload);
  else
    groups.push_back({value, {workload}});
}

// If some workloads allow every number, names those that do not.
std::string ranges_of(const Row& row) {
  const bool all_bound =
      std::ranges::none_of(row.ranges, [](const auto& entry) { return entry.first.empty(); });
  std::vector<std::string> texts;
  for (const auto& [range, workloads] : row.ranges)
    if (!range.empty()) texts.push_back(all_bound ? range : join(workloads, ", ") + ": " + range);
  return join(texts, "; ");
}

}  // namespace

std::string to_text(const Workload& workload) {
  const std::vector<Option> options = options_of(workload);
  std::size_t width = 0;
  for (const Option& option : options)
    width = std::max(width, option.key.size() + option.value.size() + 2);
  std::string text;
  std::string section;
  for (const Option& option : options) {
    if (option.section != section) text += fmt::format("{}:\n", option.section);
    section = option.section;
    text += fmt::format("  {:<{}}  {}\n", option.key + ": " + option.value, width,
                        meaning(option.about.text, option.range));
  }
  return text;
}

std::string to_yaml(const std::string& program, const std::vector<Workload>& workloads) {
  std::string text = fmt::format(
      "# The options of {0}'s workloads with their defaults, as the program declares them:\n"
      "# written by `{0} --options-yaml`, compared by a test. A workload's `options` names an "
      "entry\n# of `workloads`.\n",
      program);
  std::vector<std::string> tasks;
  for (const Workload& first : workloads) {
    if (std::ranges::find(tasks, first.task) != tasks.end()) continue;
    tasks.push_back(first.task);
    const std::vector<Option> base = task_options(first);
    text += fmt::format("{}:\n  options:\n", yaml_key(first.task));
    append_task(text, base);
    append_ranges(text, base);
    std::vector<std::string> automatic;
    for (const Option& option : base)
      if (option.automatic) automatic.push_back(option.key);
    if (!automatic.empty())
      text += fmt::format("  auto: [{}] # whole numbers that may also be auto\n",
                          join(automatic, ", "));
    text += "  workloads:\n";
    for (const Workload& workload : workloads) {
      if (workload.task != first.task) continue;
      std::string differs;
      for (const Option& option : options_of(workload))
        if (find_option(base, option.key)->value != option.value)
          differs += fmt::format("      {}: {}\n", option.key, option.value);
      text += fmt::format("    {}:{}\n{}", yaml_key(workload.name), differs.empty() ? " {}" : "",
                          differs);
    }
  }
  return text;
}

std::string to_markdown(const std::vector<Workload>& workloads) {
  std::vector<Row> rows;
  for (const Workload& workload : workloads)
    for (const Option& option : options_of(workload)) {
      Row& row = row_of(rows, option);
      // If a task describes an option in more detail than another, its text serves both.
      if (option.about.text.starts_with(row.option.about.text)) row.option.about = option.about;
      add_to(row.ranges, option.range, workload.name);
      add_to(row.defaults, option.value, workload.name);
    }
  std::string text;
  std::string section;
  for (const Row& row : rows) {
    const Option& option = row.option;
    if (option.section != section)
      text += fmt::format("{}{}:\n", text.empty() ? "" : "\n", option.section);
    if (option.section != section || text.empty())
      text += "\n| key | default | meaning |\n|---|---|---|\n";
    section = option.section;
    text += fmt::format("| `{}` | {} | {} |\n", option.key, defaults_cell(row),
                        meaning(option.about.text, ranges_of(row)));
  }
  return text;
}

}  // namespace assay::workload
