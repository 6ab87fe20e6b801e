#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <string>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "commands.h"
#include "core/error.h"
#include "core/files.h"
#include "core/regular_file.h"
#include "core/text.h"
#include "store/run_dir.h"

namespace assay::app {

namespace {

namespace fs = std::filesystem;

struct LogOptions {
  std::string run;
  std::string case_name;
  int round = 0;
  int rank = -1;
  bool raw = false;
};

struct LogFile {
  std::string case_name;
  int round = 0;
  int rank = 0;
  std::string node;
  std::vector<fs::path> parts;
  std::uintmax_t bytes = 0;
};

std::vector<LogFile> find_logs(const store::RunDir& run, const LogOptions& options) {
  std::vector<LogFile> logs;
  for (const plan::CasePlan& plan_case : run.plan().cases) {
    if (!options.case_name.empty() && plan_case.name != options.case_name) continue;
    for (int round = 1; round <= plan_case.rounds(); ++round) {
      if (options.round > 0 && round != options.round) continue;
      std::error_code ec;
      for (const fs::directory_entry& node :
           fs::directory_iterator(run.round_dir(plan_case.name, round), ec)) {
        for (int rank = 0; rank < plan_case.world_size(); ++rank) {
          if (options.rank >= 0 && rank != options.rank) continue;
          LogFile log{plan_case.name, round, rank, node.path().filename().string(),
                      store::rank_logs(node.path(), rank)};
          if (log.parts.empty()) continue;
          for (const fs::path& part : log.parts)
            if (!is_irregular(part)) log.bytes += fs::file_size(part, ec);
          logs.push_back(std::move(log));
        }
      }
    }
  }
  std::ranges::stable_sort(logs, [](const LogFile& a, const LogFile& b) {
    return std::tie(a.case_name, a.round, a.rank) < std::tie(b.case_name, b.round, b.rank);
  });
  return logs;
}

// On a terminal, escape sequences and control characters of a rank must not take effect.
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
  if (!options.case_name.empty() && std::ranges::find(names, options.case_name) == names.end())
    throw Error(
        ErrorKind::usage,
        "the run has no case '" + options.case_name + "'" + did_you_mean(options.case_name, names),
        {}, "its cases: " + join(names, ", "));
  const std::vector<LogFile> found = find_logs(run, options);
  if (found.empty())
    throw Error(ErrorKind::usage, "no log matches", run.path().string(),
                "'assay logs RUN' lists the logs that there are");
  if (options.rank < 0) {
    for (const LogFile& log : found)
      fmt::print("{}  round {}  rank {}  {}  {} bytes\n", log.case_name, log.round, log.rank,
                 log.node, log.bytes);
    return 0;
  }
  for (const LogFile& log : found) {
    if (found.size() > 1)
      fmt::print("==> {}  round {}  rank {}  {} <==\n", log.case_name, log.round, log.rank,
                 log.node);
    print_log(log, options.raw || ::isatty(STDOUT_FILENO) == 0);
  }
  return 0;
}

}  // namespace

void add_logs(CLI::App& app, Action& action) {
  const auto options = std::make_shared<LogOptions>();
  CLI::App* command = app.add_subcommand("logs", "List a run's rank logs, or print one");
  command->add_option("run", options->run, "Folder of a run")->required()->type_name("RUN");
  command->add_option("--rank", options->rank, "Print the log of this rank")
      ->check(CLI::NonNegativeNumber);
  command->add_option("--case", options->case_name, "Only of this case")->type_name("CASE");
  command->add_option("--round", options->round, "Only of this round")->check(CLI::PositiveNumber);
  command->add_flag("--raw", options->raw, "On a terminal too, print the bytes as they are");
  command->footer(
      "Examples:\n"
      "  assay logs results/latest\n"
      "  assay logs results/latest --rank 3 --round 1");
  command->callback([options, &action] { action = [options] { return logs(*options); }; });
}

}  // namespace assay::app
