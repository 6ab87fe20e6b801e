#include "launch/agents/live_logs.h"

#include <fcntl.h>
#include <unistd.h>

#include "core/error.h"
#include "core/run_layout.h"
#include "core/skipped_note.h"

namespace assay::launch {

namespace fs = std::filesystem;

namespace {

UniqueFd create_live(const fs::path& path) {
  return UniqueFd(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666));
}

// A node may claim anything: only names of a node's own files become paths.
bool is_known_file(const std::string& name) {
  const layout::RunFile* known = layout::find_run_file(layout::FilePlace::node, name);
  return known != nullptr && known->judged && name.find('/') == std::string::npos;
}

}  // namespace

LiveLogs::LiveLogs(fs::path folder, std::vector<std::string> hosts)
    : folder_(std::move(folder)), hosts_(std::move(hosts)) {
  std::error_code ec;
  fs::remove_all(folder_, ec);
  fs::create_directories(folder_, ec);
  broken_ = static_cast<bool>(ec);
}

LiveLogs::~LiveLogs() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
  fs::remove(folder_.parent_path(), ignored);  // of the case, when it is empty
}

void LiveLogs::write(int node, const agent::Output& output) {
  if (broken_ || node < 0 || node >= static_cast<int>(hosts_.size()) || !is_known_file(output.file))
    return;
  const fs::path path =
      folder_ / layout::node_folder(hosts_[static_cast<std::size_t>(node)], node) / output.file;
  File& file = files_[path];
  if (!file.fd) {
    std::error_code ec;
    fs::create_directories(path.parent_path(), ec);
    file.fd = create_live(path);
  }
  if (output.skipped_bytes > 0 && output.file != layout::kTelemetry)
    append(path, file, skipped_note(output.skipped_bytes) + "\n");
  append(path, file, output.data);
}

void LiveLogs::append(const fs::path& path, File& file, std::string_view bytes) {
  if (file.bytes > kMostBytes) {
    std::error_code ec;
    fs::rename(path, path.string() + ".1", ec);
    file = {create_live(path), 0};
  }
  file.bytes += bytes.size();
  while (file.fd && !bytes.empty()) {
    const ssize_t n = ::write(file.fd.get(), bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  broken_ = broken_ || !bytes.empty();
}

}  // namespace assay::launch
