#include "telemetry/job_memory.h"

#include <algorithm>
#include <array>
#include <string>

#include <fcntl.h>
#include <unistd.h>

#include "core/files.h"
#include "telemetry/proc_text.h"
#include "telemetry/values.h"

namespace assay::telemetry {

double memory_of(std::span<const pid_t> processes, const std::filesystem::path& root) {
  static const auto kPage = static_cast<double>(::sysconf(_SC_PAGESIZE));
  double own = 0;
  double shared = 0;
  bool known = false;
  std::array<char, 256> buffer{};
  for (const pid_t pid : processes) {
    const std::string path = (root / "proc" / std::to_string(pid) / "statm").string();
    const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    const ssize_t size = file ? ::read(file.get(), buffer.data(), buffer.size()) : 0;
    if (size <= 0) continue;
    std::string_view all(buffer.data(), static_cast<std::size_t>(size));
    std::string_view line = next_line(all);  // "size resident shared …", in pages
    std::uint64_t resident = 0;
    std::uint64_t of_files = 0;
    next_word(line);
    if (!next_number(line, resident) || !next_number(line, of_files)) continue;
    if (resident == 0) continue;  // ended, but not yet waited for
    known = true;
    own += static_cast<double>(resident - std::min(resident, of_files));
    shared = std::max(shared, static_cast<double>(of_files));
  }
  return known ? (own + shared) * kPage : kUnknown;
}

}  // namespace assay::telemetry
