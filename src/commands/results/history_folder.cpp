#include "commands/results/history_folder.h"

#include <cstdio>

#include <fmt/format.h>
#include <unistd.h>

#include "commands/base/terminal.h"
#include "core/error.h"
#include "core/text.h"
#include "core/time.h"

namespace assay::commands {

namespace fs = std::filesystem;

void add_results_option(CLI::App& command, std::string& results) {
  command.add_option("--results", results, "Folder that holds the runs")
      ->capture_default_str()
      ->type_name("DIR");
}

void add_run_choice(CLI::App& command, RunChoice& choice) {
  add_results_option(command, choice.results);
  command
      .add_option("--case", choice.cases,
                  "Only cases with this in their name, or that match a pattern with * and ?")
      ->type_name("CASE")
      ->allow_extra_args(false);
  command.add_option("--host", choice.hosts, "Only runs in which this host took part")
      ->type_name("HOST")
      ->allow_extra_args(false);
  command
      .add_option(
          "--since", choice.since,
          "Only runs that began then or later: 2026-11-15, 2026-11-15T10:15:00Z, or 30d ago")
      ->type_name("WHEN");
  command.add_option("--until", choice.until, "Only runs that began then or earlier")
      ->type_name("WHEN");
}

history::RunFilter filter_of(const RunChoice& choice) {
  history::RunFilter filter;
  filter.cases = choice.cases;
  filter.hosts = choice.hosts;
  const std::int64_t now_ms = wall_now_ns() / 1'000'000;
  if (!choice.since.empty()) filter.since_ms = history::parse_when(choice.since, "--since", now_ms);
  if (!choice.until.empty()) filter.until_ms = history::parse_when(choice.until, "--until", now_ms);
  return filter;
}

bool FindChoice::given() const {
  return !runs.cases.empty() || !runs.hosts.empty() || !runs.since.empty() || !runs.until.empty() ||
         !verdicts.empty() || !tags.empty() || !conditions.empty() || !note.empty();
}

void add_find_choice(CLI::App& command, FindChoice& choice) {
  add_run_choice(command, choice.runs);
  command.add_option("--verdict", choice.verdicts, "Only runs with this verdict")
      ->check(CLI::IsMember(enum_texts<judge::Validity>(), CLI::ignore_case))
      ->allow_extra_args(false);
  command.add_option("--tag", choice.tags, "Only runs with this tag")
      ->type_name("TAG")
      ->allow_extra_args(false);
  command.add_option("--note", choice.note, "Only runs with this in a note")->type_name("TEXT");
  command
      .add_option("--where", choice.conditions,
                  "Only runs in which a case has such a metric: 'steady_throughput > 100'")
      ->type_name("CONDITION")
      ->allow_extra_args(false);
}

history::RunFilter filter_of(const FindChoice& choice) {
  history::RunFilter filter = filter_of(choice.runs);
  for (const std::string& verdict : choice.verdicts)
    filter.verdicts.push_back(*parse_enum<judge::Validity>(verdict));
  filter.tags = choice.tags;
  filter.note = choice.note;
  for (const std::string& text : choice.conditions)
    filter.conditions.push_back(history::parse_condition(text));
  return filter;
}

history::IndexOptions index_options(bool rebuild) {
  history::IndexOptions options;
  options.rebuild = rebuild;
  if (::isatty(STDERR_FILENO) != 0)
    options.progress = [](std::size_t done, std::size_t all) {
      tell_error(fmt::format("\rreading runs: {} of {}{}", done, all, done == all ? "\n" : ""));
      std::fflush(stderr);
    };
  return options;
}

fs::path run_folder(const std::string& name, const std::string& results) {
  std::error_code ec;
  const fs::path given = name;
  if (fs::exists(fs::symlink_status(given, ec)))
    return given.has_filename() ? given : given.parent_path();
  if (!name.empty() && name.find('/') == std::string::npos) {
    fs::path inside = fs::path(results) / name;
    if (fs::exists(fs::symlink_status(inside, ec))) return inside;
  }
  throw Error(ErrorKind::usage, "there is no such run", name,
              "give the folder of a run, or its name in " + results + " ('assay find' lists them)");
}

void say_remarks(const std::vector<std::string>& remarks) {
  for (const std::string& remark : remarks)
    tell_error(fmt::format("assay: {}\n", printable(remark)));
}

}  // namespace assay::commands
