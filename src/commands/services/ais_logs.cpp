#include "commands/services/ais_logs.h"

#include <condition_variable>
#include <fstream>
#include <mutex>

#include <fmt/format.h>

#include "commands/base/terminal.h"
#include "core/json.h"
#include "core/json_access.h"
#include "core/parse_number.h"
#include "core/regular_file.h"
#include "core/run_layout.h"
#include "core/text.h"

namespace assay::commands {

namespace fs = std::filesystem;

AisLogs::AisLogs(const store::RunDir& run, fs::path folder)
    : round_(run.round_dir(run.plan().cases.front().name, 1)),
      folder_(std::move(folder)),
      thread_([this](const std::stop_token& stop) {
        std::mutex mutex;
        std::condition_variable_any wake;
        std::unique_lock lock(mutex);
        while (!stop.stop_requested()) {
          follow();
          wake.wait_for(lock, stop, std::chrono::seconds(1), [] { return false; });
        }
      }) {}

AisLogs::~AisLogs() {
  thread_.request_stop();
  thread_.join();
  follow();
}

void AisLogs::follow() {
  const Json job = parse_json_or_null(read_regular_file_or_empty(round_ / layout::kJob));
  const std::string service_name = text_at(job, "logs");
  if (job.is_object() && service_name.empty()) return;  // it has no log yet
  int instance = 0;
  std::error_code ec;
  std::map<int, fs::path> logs;  // by rank
  for (fs::recursive_directory_iterator at(round_, ec), end; !ec && at != end; at.increment(ec)) {
    const std::string name = at->path().filename().string();
    if (!name.starts_with("rank") || !name.ends_with(".out.log") || is_irregular(at->path()))
      continue;
    if (const auto rank = parse_number<int>(std::string_view(name).substr(4, name.size() - 12), 0))
      logs[*rank] = at->path();
  }
  for (const auto& [rank, path] : logs)
    append(path,
           folder_ / (service_name.empty() ? std::string("benchmark.log")
                                           : fmt::format("{}{}.log", service_name, instance++)));
}

void AisLogs::append(const fs::path& from, const fs::path& to) {
  const auto [at, is_new] = copied_.try_emplace(to, 0);
  std::error_code ec;
  const std::uint64_t size = fs::file_size(from, ec);
  if (ec) return;
  const bool again = is_new || size < at->second;  // a restarted round has a new log
  if (again) at->second = 0;
  if (!again && size == at->second) return;
  std::ifstream in(from, std::ios::binary);
  in.seekg(static_cast<std::streamoff>(at->second));
  std::ofstream out(to, std::ios::binary | (again ? std::ios::trunc : std::ios::app));
  std::string piece(256 << 10, '\0');
  while (in.read(piece.data(), static_cast<std::streamsize>(piece.size())) || in.gcount() > 0) {
    out.write(piece.data(), in.gcount());
    at->second += static_cast<std::uint64_t>(in.gcount());
  }
  out.flush();
  if (!out && is_new) say("assay: warning: cannot write the log " + to.string() + "\n");
}

}  // namespace assay::commands
