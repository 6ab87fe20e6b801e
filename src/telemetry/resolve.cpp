#include "telemetry/resolve.h"

#include <algorithm>
#include <filesystem>

#include "core/host.h"
#include "core/process.h"
#include "core/text.h"

namespace assay::telemetry {

std::optional<std::string> resolve_program(const std::string& name) {
  const std::filesystem::path path(name);
  const bool plain = !path.has_parent_path();
  if (plain && name.starts_with("assay-"))
    if (auto beside = find_program((program_folder() / name).string())) return beside;
  if (auto found = find_program(name)) return found;
  const std::string file = path.filename().string();
  // A path from another machine may not exist here.
  if (!plain && (path.parent_path() == program_folder() || file.starts_with("assay-")))
    return resolve_program(file);
  return std::nullopt;
}

std::vector<std::string> expand_command(const std::vector<std::string>& command,
                                        Nanoseconds interval, const std::string& where) {
  using namespace std::chrono;
  const auto ms = std::max<std::int64_t>(1, round<milliseconds>(interval).count());
  const auto s = std::max<std::int64_t>(1, ceil<std::chrono::seconds>(interval).count());
  const std::map<std::string, std::string> values{{"bindir", program_folder().string()},
                                                  {"interval_ms", std::to_string(ms)},
                                                  {"interval_s", std::to_string(s)}};
  std::vector<std::string> out;
  out.reserve(command.size());
  for (const std::string& word : command) out.push_back(expand(word, values, where));
  return out;
}

}  // namespace assay::telemetry
