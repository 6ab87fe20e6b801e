#include "telemetry/resolve.h"

#include <algorithm>
#include <filesystem>

#include <unistd.h>

#include "core/subprocess.h"
#include "core/text.h"

namespace assay::telemetry {

std::optional<std::string> resolve_program(const std::string& name) {
  if (name.find('/') == std::string::npos && name.starts_with("assay-")) {
    std::error_code ec;
    const auto self = std::filesystem::read_symlink("/proc/self/exe", ec);
    const auto beside = self.parent_path() / name;
    if (!ec && ::access(beside.c_str(), X_OK) == 0) return beside.string();
  }
  return find_program(name);
}

std::vector<std::string> expand_command(const std::vector<std::string>& command,
                                        Nanoseconds interval, const std::string& where) {
  using namespace std::chrono;
  const auto ms = std::max<std::int64_t>(1, round<milliseconds>(interval).count());
  const auto s = std::max<std::int64_t>(1, ceil<std::chrono::seconds>(interval).count());
  const std::map<std::string, std::string> values{{"interval_ms", std::to_string(ms)},
                                                  {"interval_s", std::to_string(s)}};
  std::vector<std::string> out;
  out.reserve(command.size());
  for (const std::string& word : command) out.push_back(expand(word, values, where));
  return out;
}

}  // namespace assay::telemetry
