#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <iostream>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include <unistd.h>

#include "commands/base/commands.h"
#include "commands/base/known_commands.h"
#include "commands/base/outcome.h"
#include "commands/base/output_file.h"
#include "commands/base/percent.h"
#include "commands/base/terminal.h"
#include "commands/platform/platform_client.h"
#include "compare/render.h"
#include "core/error.h"
#include "core/files.h"
#include "core/parallel.h"
#include "core/parse_number.h"
#include "core/text.h"
#include "lang/language.h"
#include "page/bilingual.h"
#include "report/read_result.h"

namespace assay::commands {

namespace {

enum class CompareFormat { text, json, markdown, html, junit };

constexpr auto enum_names(CompareFormat /*format*/) {
  using enum CompareFormat;
  return std::to_array<EnumName<CompareFormat>>(
      {{text, "text"}, {json, "json"}, {markdown, "markdown"}, {html, "html"}, {junit, "junit"}});
}

struct CompareArguments {
  std::string base;
  std::vector<std::string> others;
  std::vector<std::string> bounds;
  std::string format;
  std::string output;
  double tolerance_percent = 2;
  bool all_metrics = false;
  bool invalid_too = false;
  ServerOptions server{};
};

// The requested format, or the one that the file's name implies.
CompareFormat format_of(const CompareArguments& arguments) {
  if (!arguments.format.empty())
    return parse_enum<CompareFormat>(arguments.format).value_or(CompareFormat::text);
  const std::string ending = to_lower(std::filesystem::path(arguments.output).extension().string());
  if (ending == ".json") return CompareFormat::json;
  if (ending == ".md") return CompareFormat::markdown;
  if (ending == ".html" || ending == ".htm") return CompareFormat::html;
  if (ending == ".xml") return CompareFormat::junit;
  return CompareFormat::text;
}

constexpr std::string_view kJobSide = "job:";
constexpr std::string_view kTestSide = "test:";

bool is_on_server(std::string_view text) {
  return text.starts_with(kJobSide) || text.starts_with(kTestSide);
}

std::string test_of(std::string_view text) {
  std::string id(text.substr(kTestSide.size()));
  const bool plain = !id.empty() && std::ranges::all_of(id, [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-';
  });
  if (!plain)
    throw Error(ErrorKind::usage, "not the id of a test: '" + printable(id) + "'", {},
                "such as test:20261115-ab3dE9");
  return id;
}

jobs::JobId job_of(std::string_view text) {
  const auto id = parse_number<jobs::JobId>(text.substr(kJobSide.size()), 1);
  if (!id)
    throw Error(ErrorKind::usage, "not the number of a job: '" + printable(std::string(text)) + "'",
                {}, "such as job:12");
  return *id;
}

bool is_fetched(const std::string& text) {
  std::error_code ec;
  return is_on_server(text) && !std::filesystem::exists(text, ec);
}

// A mistake is said whether there is a server or not.
void check_names(const std::vector<std::string>& texts) {
  for (const std::string& text : texts) {
    if (!is_fetched(text)) continue;
    for (const std::string_view part : split(std::string_view(text), ',')) {
      if (part.starts_with(kTestSide)) (void)test_of(part);
      if (part.starts_with(kJobSide)) (void)job_of(part);
    }
  }
}

judge::RunResult fetched(const client::Client& client, std::string_view text) {
  const std::string where(text);
  if (text.starts_with(kTestSide))
    return report::read_result(client.pushed_result(test_of(text)), where);
  return report::read_result(client.result(job_of(text)), where);
}

// Jobs and pushed runs of the platform, as its server has judged them.
compare::Side fetched_side(const ServerOptions& server, const std::string& text) {
  compare::Side side{.name = printable(text)};
  const client::Client client = make_client(server);
  for (const std::string_view part : split(std::string_view(text), ',')) {
    if (!is_on_server(part))
      throw Error(ErrorKind::usage, "a side is of the server or of this machine, not of both",
                  printable(text), "every part begins with job: or test:, or none does");
    judge::RunResult result = fetched(client, part);
    if (std::ranges::any_of(side.runs, [&](const judge::RunResult& other) {
          return other.run_id == result.run_id;
        }))
      throw Error(ErrorKind::usage, "the run is named twice on one side", printable(text),
                  "its rounds would count twice; name it once");
    side.runs.push_back(std::move(result));
  }
  return side;
}

// All at once: much of what it takes to read a run is done by one thread.
std::vector<compare::Side> read_sides(const std::vector<std::string>& texts,
                                      const ServerOptions& server) {
  constexpr int kSidesAtOnce = 2;
  const bool shown = isatty(STDERR_FILENO) == 1;
  std::mutex mutex;
  std::vector<compare::Side> sides(texts.size());
  run_parallel(texts.size(), kSidesAtOnce, {}, [&](std::size_t i, const std::stop_token&) {
    if (is_fetched(texts[i])) {
      sides[i] = fetched_side(server, texts[i]);
      return;
    }
    sides[i] = compare::read_side(texts[i], [&](const std::string& path) {
      const std::lock_guard lock(mutex);
      if (shown)
        std::cerr << "\rreading " << ellipsize(printable(path), 60) << "\x1b[K" << std::flush;
    });
  });
  if (shown) std::cerr << "\r\x1b[K" << std::flush;
  return sides;
}

int run_compare(const CompareArguments& arguments) {
  const CompareFormat format = format_of(arguments);
  const bool to_stdout = arguments.output.empty() || arguments.output == "-";
  if (!to_stdout) (void)output_place(arguments.output);  // checked before the work
  if (format == CompareFormat::html && to_stdout && terminal().interactive)
    throw Error(ErrorKind::usage, "a page is not for a terminal", "--format html",
                "name a file, as in -o comparison.html");
  std::vector<compare::Bound> bounds;
  for (const std::string& text : arguments.bounds) bounds.push_back(compare::parse_bound(text));
  compare::Options options;
  options.tolerance = arguments.tolerance_percent / 100;
  options.all_metrics = arguments.all_metrics || format == CompareFormat::html;
  for (const compare::Bound& bound : bounds) options.metrics.push_back(bound.metric);
  options.invalid_too = arguments.invalid_too;
  std::vector<std::string> texts{arguments.base};
  texts.insert(texts.end(), arguments.others.begin(), arguments.others.end());
  check_names(texts);
  // Never destroyed: the process ends now, and taking thousands of cases apart would take a tenth
  // of the whole time.
  static const auto* const kSides =
      new std::vector<compare::Side>(read_sides(texts, arguments.server));
  const std::vector<compare::Side>& sides = *kSides;
  const compare::Side& base = sides.front();
  const std::span<const compare::Side> others = std::span(sides).subspan(1);
  const compare::Comparisons found = compare::compare_sides(base, others, options);
  const std::vector<compare::Excess> over = compare::exceeded(found, bounds);
  const auto rendered = [&]() -> std::string {
    switch (format) {
      case CompareFormat::json:
        return dump_pretty(compare::to_json(found, over));
      case CompareFormat::markdown:
        return compare::render_markdown(found, over);
      case CompareFormat::html:
        return page::bilingual(compare::render_html(found, base, others, over));
      case CompareFormat::junit:
        return compare::render_junit(found, !bounds.empty(), over);
      case CompareFormat::text:
        break;
    }
    report::ConsoleStyle style = console_style("");
    if (!to_stdout) style = {};
    return compare::render_text(found, style);
  };
  if (to_stdout)
    say(rendered());
  else
    write_output_file(arguments.output, rendered());
  for (const compare::Excess& excess : over)
    std::cerr << "assay: " << printable(excess.text) << "\n";
  return over.empty() ? 0 : kExceededExit;
}

}  // namespace

void add_compare(CLI::App& app, Action& action) {
  const auto arguments = std::make_shared<CompareArguments>();
  CLI::App* command = add_known(app, "compare");
  command->add_option("base", arguments->base, "What to compare with")
      ->required()
      ->type_name("BASE");
  command
      ->add_option("new", arguments->others,
                   "What to compare; each is one side.\nA side is the folder of a run, a "
                   "folder that holds runs,\nRUN,RUN,… (their rounds count together), a "
                   "baseline file,\nor job:NUMBER or test:ID of the platform's server")
      ->required()
      ->expected(1, 100)
      ->type_name("NEW");
  command
      ->add_option("--tolerance", arguments->tolerance_percent,
                   "Changes within so many percent are the SAME")
      ->check(percent())
      ->capture_default_str()
      ->type_name("PERCENT");
  command
      ->add_option("--fail-on", arguments->bounds,
                   "End with 7 when a metric got worse by more than this, and that is certain")
      ->allow_extra_args(false)
      ->type_name("'METRIC: PERCENT %'");
  command
      ->add_option("--format", arguments->format,
                   "Of the output; else as the name of the file says, else text")
      ->check(CLI::IsMember(enum_texts<CompareFormat>()));
  command
      ->add_option("-o,--output", arguments->output,
                   "Write to this file; '-' is the standard output")
      ->type_name("FILE");
  command->add_option("--server", arguments->server.url, "The platform's server, of job:NUMBER")
      ->type_name("URL");
  command->add_option("--ca", arguments->server.ca, "Certificate to trust, PEM; else the system's")
      ->type_name("FILE");
  command->add_flag("--all", arguments->all_metrics, "All metrics, not only the headlines");
  command->add_flag("--invalid-too", arguments->invalid_too,
                    "Also what is not VALID; it is marked");
  command->footer(
      "Examples:\n"
      "  assay compare results/run20260101T120000Z-1a2b results/latest\n"
      "  assay compare before1,before2 after1,after2 --all\n"
      "  assay compare baseline.yaml results/latest\n"
      "  assay compare job:12 job:15 test:20261115-ab3dE9\n"
      "  assay compare before driver-550 driver-560 -o drivers.html\n"
      "  assay compare before after --fail-on 'throughput: 2 %'    # exit code 7 in CI\n"
      "  assay compare before after --format markdown > comment.md\n"
      "\n"
      "Everything is computed again from the runs' evidence; of jobs and tests, the server has "
      "done that.\nFive rounds on each side are a good number; "
      "what is unsure says how many would decide it.");
  command->callback(
      [arguments, &action] { action = [arguments] { return run_compare(*arguments); }; });
}

}  // namespace assay::commands
