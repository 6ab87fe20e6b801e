#include "telemetry/process_times.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include "core/files.h"
#include "core/text.h"
#include "telemetry/proc_text.h"

namespace assay::telemetry {

namespace {

constexpr std::uint64_t kKernelThread = 0x00200000;  // PF_KTHREAD

// "pid (name) state parent …": proc(5) numbers the fields; the name may contain anything, even ')'.
std::optional<ProcessTimes> parse_stat(std::string_view text) {
  static const double kTick_s = 1.0 / static_cast<double>(::sysconf(_SC_CLK_TCK));
  const std::size_t open = text.find('(');
  const std::size_t close = text.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open)
    return std::nullopt;
  ProcessTimes out;
  out.name = text.substr(open + 1, close - open - 1);
  std::string_view rest = text.substr(0, open);
  if (!next_number(rest, out.pid)) return std::nullopt;
  rest = text.substr(close + 1);
  next_word(rest);  // state
  std::array<std::int64_t, 36> field{};
  for (std::int64_t& value : field) {
    // Scheduler counters and addresses may be larger; none of those is used.
    if (!next_number(rest, value)) value = 0;
  }
  const auto of = [&](int number) { return field[static_cast<std::size_t>(number - 4)]; };
  const auto seconds = [&](int first, int second) {
    return static_cast<double>(of(first) + of(second)) * kTick_s;
  };
  out.parent = static_cast<pid_t>(of(4));
  out.kernel = (static_cast<std::uint64_t>(of(9)) & kKernelThread) != 0;
  out.own_s = seconds(14, 15);
  out.children_s = seconds(16, 17);
  out.started = static_cast<std::uint64_t>(of(22));
  out.processor = static_cast<int>(of(39));
  return out;
}

}  // namespace

std::vector<ProcessTimes> read_processes(const std::filesystem::path& root) {
  std::vector<ProcessTimes> out;
  const std::unique_ptr<DIR, int (*)(DIR*)> proc(::opendir((root / "proc").c_str()), &::closedir);
  if (!proc) return out;
  std::array<char, 1024> buffer{};
  while (const dirent* entry = ::readdir(proc.get())) {
    if (entry->d_name[0] < '0' || entry->d_name[0] > '9') continue;
    const std::string path = std::string(entry->d_name) + "/stat";
    const UniqueFd file(::openat(::dirfd(proc.get()), path.c_str(), O_RDONLY | O_CLOEXEC));
    const ssize_t size = file ? ::read(file.get(), buffer.data(), buffer.size()) : 0;
    if (size <= 0) continue;
    std::string_view text(buffer.data(), static_cast<std::size_t>(size));
    if (auto process = parse_stat(next_line(text))) out.push_back(std::move(*process));
  }
  std::ranges::sort(out, {}, &ProcessTimes::pid);
  return out;
}

std::string user_name(uid_t uid, const std::filesystem::path& root) {
  const std::string text = read_file_or_empty(root / "etc/passwd");
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::string line(next_line(rest));
    const auto fields = split(line, ':');
    if (fields.size() > 2 && fields[2] == std::to_string(uid)) return printable(fields[0]);
  }
  return "uid " + std::to_string(uid);
}

}  // namespace assay::telemetry
