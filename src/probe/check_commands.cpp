#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>

#include <fmt/format.h>
#include <unistd.h>

#include "core/text.h"
#include "probe/checks.h"

namespace assay::probe {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxNamed = 4;

bool is_program(const fs::path& path) {
  std::error_code ec;
  return fs::is_regular_file(path, ec) && ::access(path.c_str(), X_OK) == 0;
}

/// Why the program cannot be executed; empty if it can.
std::string program_problem(const CommandUse& use) {
  const std::string shown = printable(use.program);
  if (use.program.empty()) return "the command is empty";
  if (use.program.find('/') != std::string::npos) {
    // Looked up from its working folder, as for the rank.
    const fs::path path = fs::path(use.workdir) / use.program;
    std::error_code ec;
    if (is_program(path)) return {};
    if (!fs::exists(path, ec)) return fmt::format("{} does not exist", printable(path.string()));
    return fmt::format("{} is not an executable file", printable(path.string()));
  }
  const char* inherited = std::getenv("PATH");
  const std::string search = !use.path.empty()      ? use.path
                             : inherited == nullptr ? "/usr/local/bin:/usr/bin:/bin"
                                                    : inherited;
  for (const std::string_view folder : split(search, ':'))
    if (is_program(fs::path(use.workdir) / (folder.empty() ? "." : folder) / use.program))
      return {};
  return fmt::format("{} is not in the PATH", shown);
}

struct FolderProblem {
  Level level = Level::pass;
  std::string text;
};

FolderProblem folder_problem(const std::string& folder) {
  const std::string shown = printable(folder);
  std::error_code ec;
  if (!fs::exists(folder, ec)) return {Level::fail, shown + " does not exist"};
  if (!fs::is_directory(folder, ec)) return {Level::fail, shown + " is not a folder"};
  if (::access(folder.c_str(), X_OK) != 0) return {Level::fail, shown + " cannot be entered"};
  if (::access(folder.c_str(), W_OK) != 0)
    return {Level::warn, fmt::format("{} is not writable: {}", shown, std::strerror(errno))};
  return {};
}

/// "case a, b: no such thing; case c: …", with each problem once.
std::string list_problems(const std::map<std::string, std::set<std::string>>& cases_of) {
  std::vector<std::string> parts;
  for (const auto& [problem, cases] : cases_of) {
    std::vector<std::string> names;
    for (const std::string& name : cases) names.push_back(printable(name));
    const std::size_t more = names.size() > kMaxNamed ? names.size() - kMaxNamed : 0;
    names.resize(names.size() - more);
    parts.push_back(fmt::format("{} (case {}{})", problem, join(names, ", "),
                                more > 0 ? fmt::format(" and {} more", more) : ""));
  }
  return join(parts, "; ");
}

}  // namespace

void check_commands(const CheckOptions& options, std::vector<Check>& out) {
  if (options.commands.empty()) return;
  std::map<std::string, std::set<std::string>> programs;
  std::map<std::string, std::set<std::string>> folders;
  std::set<std::string> all_programs;
  std::set<std::string> all_folders;
  Level folder_level = Level::pass;
  for (const CommandUse& use : options.commands) {
    all_programs.insert(use.program);
    bool enterable = true;
    if (!use.workdir.empty()) {
      all_folders.insert(use.workdir);
      const FolderProblem problem = folder_problem(use.workdir);
      if (problem.level != Level::pass) folders[problem.text].insert(use.case_name);
      folder_level = std::max(folder_level, problem.level);
      enterable = problem.level != Level::fail;
    }
    // Without its folder, a relative program cannot be checked.
    if (!enterable && !use.program.starts_with('/')) continue;
    if (const std::string problem = program_problem(use); !problem.empty())
      programs[problem].insert(use.case_name);
  }
  if (programs.empty())
    out.push_back({"program", Level::pass,
                   all_programs.size() == 1
                       ? fmt::format("{} can be executed", printable(*all_programs.begin()))
                       : fmt::format("{} programs can be executed", all_programs.size()),
                   ""});
  else
    out.push_back({"program", Level::fail, list_problems(programs),
                   "install it on this host, make it executable (chmod +x), or correct the "
                   "command of the case"});
  if (all_folders.empty()) return;
  if (folders.empty())
    out.push_back({"workdir", Level::pass,
                   all_folders.size() == 1
                       ? fmt::format("{} is writable", printable(*all_folders.begin()))
                       : fmt::format("{} working folders are writable", all_folders.size()),
                   ""});
  else
    out.push_back({"workdir", folder_level, list_problems(folders),
                   folder_level == Level::fail
                       ? "make the folder on this host, or correct `workdir` of the case"
                       : "ranks that write there will fail: change its permissions, or choose "
                         "another `workdir`"});
}

}  // namespace assay::probe
