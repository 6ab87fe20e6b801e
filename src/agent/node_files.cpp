#include "agent/node_files.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>

#include <signal.h>
#include <unistd.h>

#include "core/error.h"
#include "core/json.h"
#include "transfer/stream.h"

namespace assay::agent {

namespace fs = std::filesystem;

namespace {

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

}  // namespace

void send_node_files(const fs::path& folder, int input, int output) {
  ::signal(SIGPIPE, SIG_IGN);
  transfer::Have have;
  const Json json = parse_json_or_null(read_to_end(input));
  if (json.is_object())
    for (const auto& [name, size] : json.items())
      if (size.is_number_unsigned()) have[name] = size.get<std::uint64_t>();
  transfer::send_folder(folder, have, output);
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

}  // namespace assay::agent
