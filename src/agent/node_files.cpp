#include "agent/node_files.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <string_view>
#include <vector>

#include <signal.h>
#include <unistd.h>

#include "core/error.h"
#include "core/json.h"
#include "transfer/stream.h"

namespace assay::agent {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kProgramsPrefix = "bin-";
constexpr std::size_t kMaxInput = 64 << 20;

std::string read_to_end(int fd) {
  std::string text;
  std::array<char, 65536> buffer{};
  while (text.size() < kMaxInput) {
    const ssize_t n = ::read(fd, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(n));
  }
  return text;
}

// Whether one of this user's processes runs a program from `folder`.
bool in_use(const fs::path& folder) {
  std::error_code ec;
  const std::string prefix = fs::canonical(folder, ec).string() + "/";
  for (fs::directory_iterator entry("/proc", ec), end; !ec && entry != end; entry.increment(ec)) {
    std::error_code unreadable;
    const fs::path program = fs::read_symlink(entry->path() / "exe", unreadable);
    if (!unreadable && program.string().starts_with(prefix)) return true;
  }
  return false;
}

}  // namespace

void send_node_files(const fs::path& folder, std::uint64_t most, int input, int output) {
  ::signal(SIGPIPE, SIG_IGN);
  transfer::Have have;
  const Json json = parse_json_or_null(read_to_end(input));
  if (json.is_object())
    for (const auto& [name, size] : json.items())
      if (size.is_number_unsigned()) have[name] = size.get<std::uint64_t>();
  transfer::send_folder(folder, have, output, most);
}

void forget_node_files(const fs::path& folder) {
  const fs::path path = folder.lexically_normal();
  const auto runs = std::find(path.begin(), path.end(), "runs");
  if (!path.is_absolute() || runs == path.end() || std::next(runs) == path.end())
    throw Error(ErrorKind::usage, "not a folder of a run", folder.string(),
                "only what is below a folder 'runs' is removed");
  std::error_code ec;
  fs::remove_all(path, ec);
  if (ec) throw system_error(ErrorKind::environment, "cannot remove", folder.string(), ec.value());
  for (fs::path up = path.parent_path(); up.filename() != "runs"; up = up.parent_path())
    if (::rmdir(up.c_str()) != 0) break;
}

int prune_runs(const fs::path& programs, Nanoseconds unused_for) {
  if (!programs.filename().string().starts_with(kProgramsPrefix)) return 0;
  const auto now = fs::file_time_type::clock::now();
  const auto used = [&](const fs::path& path) {
    std::error_code ec;
    const auto at = fs::last_write_time(path, ec);
    return ec || now - at <= unused_for;
  };
  std::error_code ec;
  std::vector<fs::path> old;
  for (fs::directory_iterator run(programs.parent_path() / "runs", ec), end; !ec && run != end;
       run.increment(ec)) {
    if (!fs::is_directory(run->symlink_status()) || used(run->path())) continue;
    std::error_code unreadable;
    bool alive = false;
    for (fs::recursive_directory_iterator file(run->path(), unreadable), last;
         !unreadable && !alive && file != last; file.increment(unreadable))
      alive = used(file->path());
    if (!unreadable && !alive) old.push_back(run->path());
  }
  int removed = 0;
  for (const fs::path& path : old) {
    std::error_code failed;
    fs::remove_all(path, failed);
    removed += failed ? 0 : 1;
  }
  return removed;
}

int prune_programs(const fs::path& programs, Nanoseconds unused_for) {
  if (!programs.filename().string().starts_with(kProgramsPrefix)) return 0;
  std::error_code ec;
  const auto now = fs::file_time_type::clock::now();
  fs::last_write_time(programs, now, ec);
  const auto unused = [&](const fs::path& path) {
    std::error_code gone;
    const auto used = fs::last_write_time(path, gone);
    return !gone && now - used > unused_for;
  };
  std::vector<fs::path> old;
  for (fs::directory_iterator entry(programs.parent_path(), ec), end; !ec && entry != end;
       entry.increment(ec))
    if (entry->path().filename().string().starts_with(kProgramsPrefix) &&
        entry->path().filename() != programs.filename() && unused(entry->path()))
      old.push_back(entry->path());
  int removed = 0;
  for (const fs::path& path : old) {
    // Checked again: another controller may just have begun to use it.
    if (in_use(path) || !unused(path)) continue;
    std::error_code failed;
    fs::remove_all(path, failed);
    removed += failed ? 0 : 1;
  }
  return removed;
}

}  // namespace assay::agent
