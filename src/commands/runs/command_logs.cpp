#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <string>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "commands/base/commands.h"
#include "commands/base/terminal.h"
#include "commands/runs/run_logs.h"
#include "core/error.h"
#include "core/files.h"
#include "core/regular_file.h"
#include "core/text.h"
#include "lang/language.h"
#include "store/run_dir.h"

namespace assay::commands {

namespace {

namespace fs = std::filesystem;

struct LogOptions {
  std::string run;
  LogChoice choice;
  bool follow = false;
  int lines = 10;
  bool raw = false;
};

// A rank's escape sequences and control characters must not affect the terminal.
void print_log(const LogFile& log, bool raw) {
  for (const fs::path& part : log.parts) {
    const UniqueFd fd = open_regular_file(part);
    if (!fd)
      throw system_error(ErrorKind::environment, "cannot read the log", part.string(), ENOENT);
    std::array<char, 65536> buffer;
    ssize_t n = 0;
    while ((n = ::read(fd.get(), buffer.data(), buffer.size())) > 0) {
      const std::string_view bytes(buffer.data(), static_cast<std::size_t>(n));
      if (raw)
        std::fwrite(bytes.data(), 1, bytes.size(), stdout);
      else
        fmt::print("{}", printable(bytes));
    }
  }
}

int logs(const LogOptions& options) {
  const store::RunDir run = store::RunDir::open(options.run);
  std::vector<std::string> names;
  for (const plan::CasePlan& plan_case : run.plan().cases) names.push_back(plan_case.name);
  const std::string& name = options.choice.case_name;
  if (!name.empty() && std::ranges::find(names, name) == names.end())
    throw Error(ErrorKind::usage, "the run has no case '" + name + "'" + did_you_mean(name, names),
                {}, "its cases: " + join(names, ", "));
  const bool raw = options.raw || ::isatty(STDOUT_FILENO) == 0;
  if (options.follow) return follow_logs(run, options.choice, options.lines, raw);
  const std::vector<LogFile> found = find_logs(run, options.choice);
  if (found.empty())
    throw Error(ErrorKind::usage, "no log matches", run.path().string(),
                "'assay logs RUN' lists the logs that there are");
  if (options.choice.rank < 0) {
    for (const LogFile& log : found)
      tell(fmt::format("{}  round {}  rank {}  {}  {} bytes{}\n", lang::name(log.case_name),
                       log.round, log.rank, log.node, log.bytes, log.so_far ? " so far" : ""));
    return 0;
  }
  for (const LogFile& log : found) {
    if (found.size() > 1)
      tell(fmt::format("==> {}  round {}  rank {}  {} <==\n", lang::name(log.case_name), log.round,
                       log.rank, log.node));
    print_log(log, raw);
  }
  return 0;
}

}  // namespace

void add_logs(CLI::App& app, Action& action) {
  const auto options = std::make_shared<LogOptions>();
  CLI::App* command =
      app.add_subcommand("logs", "List a run's rank logs, print one, or follow them");
  command->add_option("run", options->run, "Folder of a run")->required()->type_name("RUN");
  command->add_option("--rank", options->choice.rank, "Print the log of this rank")
      ->type_name("RANK")
      ->check(CLI::NonNegativeNumber);
  command->add_option("--case", options->choice.case_name, "Only of this case")->type_name("CASE");
  command->add_option("--round", options->choice.round, "Only of this round")
      ->check(CLI::PositiveNumber);
  command->add_flag("-f,--follow", options->follow,
                    "Go on with what the ranks print until the run ends");
  command
      ->add_option("-n,--lines", options->lines,
                   "With --follow: begin with so many lines of each rank (default: 10)")
      ->check(CLI::NonNegativeNumber);
  command->add_flag("--raw", options->raw, "On a terminal too, print the bytes as they are");
  command->footer(
      "Examples:\n"
      "  assay logs results/latest\n"
      "  assay logs results/latest --rank 3 --round 1\n"
      "  assay logs results/latest -f\n"
      "  assay logs results/latest -f --rank 0 --lines 100");
  command->callback([options, &action] { action = [options] { return logs(*options); }; });
}

}  // namespace assay::commands
