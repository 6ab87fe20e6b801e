#include "e2e/harness.h"

#include <algorithm>
#include <fstream>
#include <stdexcept>

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/files.h"
#include "core/process.h"
#include "core/time.h"
#include "send_signal.h"

namespace assay::e2e {

namespace {

// Raises the bounds of the rules about other load beyond what a machine can reach. They are part of
// the plan, so every report of these tests shows what it was judged by.
void allow_other_load(const fs::path& rules) {
  std::string text = read_file(rules);
  for (const char* fact : {"cpu_by_others", "load_before", "other_runs", "steal_share",
                           "memory_pressure", "swap_bps", "cpu_throttled"}) {
    const std::string key = "fact: " + std::string(fact) + "\n    max: ";
    int changed = 0;
    for (auto at = text.find(key); at != std::string::npos; at = text.find(key, at + 1)) {
      const auto value = at + key.size();
      text.replace(value, text.find('\n', value) - value, "1e12");
      ++changed;
    }
    if (changed != 2) throw std::runtime_error("no two rules about " + std::string(fact));
  }
  std::ofstream(rules, std::ios::binary) << text;
}

}  // namespace

void AssayTest::SetUp() {
  fs::copy(kShippedConf, conf(), fs::copy_options::recursive);
  allow_other_load(conf() / "rules/default.yaml");
  // The build folder may be outside the source tree.
  ::setenv("ASSAY_CONF", conf().c_str(), 1);
  ::setenv("ASSAY_KEYS", (folder_ / "keys").c_str(), 1);
}

void AssayTest::TearDown() {
  for (const pid_t pid : started_) {
    if (::waitpid(pid, nullptr, WNOHANG) != 0) continue;
    send_signal(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
  }
}

CommandResult AssayTest::assay(std::vector<std::string> args, std::chrono::seconds limit) const {
  std::vector<std::string> argv{"/bin/sh", "-c", "cd \"$0\" && exec \"$@\"", folder_.string(),
                                (programs_ / "assay").string()};
  argv.insert(argv.end(), args.begin(), args.end());
  CommandOptions options;
  options.timeout = limit;
  CommandResult result = run_command(argv, options);
  EXPECT_FALSE(result.timed_out) << "assay did not end in time\n" << result.out << result.err;
  return result;
}

pid_t AssayTest::start(std::vector<std::string> args) {
  args.insert(args.begin(), (programs_ / "assay").string());
  Child child = spawn({.argv = std::move(args),
                       .folder = folder_.string(),
                       .in = Stream::inherit(),
                       .out = Stream::overwrite(folder_ / "assay.log", 0644),
                       .err = Stream::output(),
                       .group = Group::shared});
  started_.push_back(child.release());
  return child.pid();
}

void AssayTest::use_dynamic_agent() {
  programs_ = folder_ / "bin";
  fs::create_directories(programs_);
  for (const char* program : {"assay", "assay-full", "assay-micro", "assay-nvml"})
    fs::copy_file(fs::path(ASSAY_BIN_DIR) / program, programs_ / program);
  fs::copy_file(ASSAY_BIN_DIR "/assay-agent-dynamic", programs_ / "assay-agent");
}

std::optional<ExitStatus> AssayTest::wait(pid_t pid, std::chrono::milliseconds limit) {
  int status = 0;
  if (!eventually([&] { return ::waitpid(pid, &status, WNOHANG) == pid; }, limit))
    return std::nullopt;
  std::erase(started_, pid);
  return ExitStatus::from_wait(status);
}

fs::path AssayTest::write(const std::string& name, const std::string& content) const {
  std::ofstream(folder_ / name, std::ios::binary) << content;
  return folder_ / name;
}

fs::path AssayTest::script_suite(const std::string& script, const std::string& more) const {
  write("rank.sh", script);
  return write("suite.yaml", "name: faults\n" + std::string("cases:\n") +
                                 "  - name: probe\n"
                                 "    command: [/bin/sh, " +
                                 (folder_ / "rank.sh").string() + "]\n" + more);
}

Json AssayTest::read_json(const fs::path& path) {
  return Json::parse(read_file(path));
}

Json AssayTest::result() const {
  return read_json(latest() / "result.json");
}

std::vector<pid_t> processes_with(const std::string& text) {
  std::vector<pid_t> found;
  std::error_code ec;
  for (const fs::directory_entry& entry : fs::directory_iterator("/proc", ec)) {
    const std::string name = entry.path().filename();
    if (!std::ranges::all_of(name, [](char c) { return c >= '0' && c <= '9'; })) continue;
    const auto pid = static_cast<pid_t>(std::stol(name));
    if (pid == ::getpid()) continue;
    std::string command = read_file_or_empty(entry.path() / "cmdline");
    std::ranges::replace(command, '\0', ' ');
    if (command.find(text) != std::string::npos) found.push_back(pid);
  }
  return found;
}

std::vector<pid_t> processes_from(const fs::path& folder) {
  std::vector<pid_t> found = processes_with("");
  std::erase_if(found, [&](pid_t pid) {
    std::error_code ec;
    const fs::path program = fs::read_symlink("/proc/" + std::to_string(pid) + "/exe", ec);
    return ec || !program.string().starts_with(folder.string() + "/");
  });
  return found;
}

pid_t parent_of(pid_t pid) {
  const std::string stat = read_file_or_empty("/proc/" + std::to_string(pid) + "/stat");
  const auto close = stat.rfind(')');
  return close == std::string::npos ? -1 : static_cast<pid_t>(std::stol(stat.substr(close + 4)));
}

std::vector<pid_t> descendants_of(pid_t pid) {
  std::vector<pid_t> found;
  for (const pid_t candidate : processes_with("")) {
    for (pid_t up = parent_of(candidate); up > 1; up = parent_of(up))
      if (up == pid) {
        found.push_back(candidate);
        break;
      }
  }
  return found;
}

std::vector<pid_t> agents_of(pid_t pid, const std::string& half) {
  std::vector<pid_t> agents = descendants_of(pid);
  std::erase_if(agents, [&](pid_t agent) {
    return read_file_or_empty("/proc/" + std::to_string(agent) + "/comm") != half + "\n";
  });
  return agents;
}

bool alive(pid_t pid) {
  // A zombie that nobody has reaped yet is dead.
  const std::string stat = read_file_or_empty("/proc/" + std::to_string(pid) + "/stat");
  const auto close = stat.rfind(')');
  return close != std::string::npos && stat[close + 2] != 'Z' && stat[close + 2] != 'X';
}

}  // namespace assay::e2e
