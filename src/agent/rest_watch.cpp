#include "agent/rest_watch.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <numeric>
#include <string_view>

#include "core/files.h"
#include "core/process_tree.h"
#include "core/text.h"

namespace assay::agent {

namespace {

constexpr std::int64_t kCertainAfter = 5'000'000'000;
// For all of them together while watched: a shell in a loop would use more.
constexpr double kNoWork_s = 0.05;

// Programs that only wait for the process that they started.
constexpr auto kWaiting = std::to_array<std::string_view>(
    {"sh",   "bash",      "dash",      "ash",         "zsh",     "ksh",        "sudo",
     "su",   "runuser",   "setpriv",   "env",         "nice",    "stdbuf",     "timeout",
     "tini", "dumb-init", "catatonit", "docker-init", "podman",  "conmon",     "crun",
     "runc", "enroot",    "apptainer", "singularity", "starter", "assay-agent"});

bool is_endless_sleep(const ProcessLook& process) {
  // With busybox, sleep is an argument.
  const auto& argv = process.argv;
  const auto named = std::ranges::find_if(argv, [](const std::string& word) {
    return std::filesystem::path(word).filename() == "sleep";
  });
  if (named == argv.end() || named - argv.begin() > 1 || argv.end() - named != 2) return false;
  const std::string_view time = argv.back();
  return time == "infinity" || time == "inf";
}

bool only_waits(const ProcessLook& process) {
  return process.state == 'S' && std::ranges::find(kWaiting, process.name) != kWaiting.end();
}

}  // namespace

ProcessLook look_at(pid_t pid) {
  const std::string folder = "/proc/" + std::to_string(pid) + "/";
  ProcessLook out;
  out.name = trim(read_file_or_empty(folder + "comm"));
  out.state = process_state(pid);
  std::string words = read_file_or_empty(folder + "cmdline");
  if (words.ends_with('\0')) words.pop_back();
  if (words.empty()) return out;
  for (const std::string_view word : split(words, '\0')) out.argv.emplace_back(word);
  return out;
}

bool only_sleep(const std::vector<ProcessLook>& processes) {
  return std::ranges::any_of(processes, is_endless_sleep) &&
         std::ranges::all_of(processes, [](const ProcessLook& process) {
           return is_endless_sleep(process) || only_waits(process);
         });
}

std::optional<std::int64_t> RestWatch::look(std::int64_t mono_ns,
                                            const std::vector<pid_t>& processes, bool worked) {
  std::vector<ProcessLook> looks;
  for (const pid_t pid : processes) looks.push_back(look_at(pid));
  if (!only_sleep(looks)) {
    resting_.clear();
    return std::nullopt;
  }
  std::vector<pid_t> now = processes;
  std::ranges::sort(now);
  const std::vector<double> each = tree_cpu_s(now);
  const double cpu_s = std::accumulate(each.begin(), each.end(), 0.0);
  if (now != resting_ || cpu_s - cpu_s_ > kNoWork_s) {
    resting_ = std::move(now);
    since_ns_ = mono_ns;
    cpu_s_ = cpu_s;
    return std::nullopt;
  }
  constexpr double kWorked_s = 1;
  if (mono_ns - since_ns_ < kCertainAfter || !(worked || cpu_s >= kWorked_s)) return std::nullopt;
  return since_ns_;
}

}  // namespace assay::agent
