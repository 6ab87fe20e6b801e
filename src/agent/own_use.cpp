#include "agent/own_use.h"

#include <cstdlib>
#include <string>

#include <sys/resource.h>

#include "core/files.h"

namespace assay::agent {

double own_cpu_s() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto total = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return total(usage.ru_utime) + total(usage.ru_stime);
}

std::int64_t own_memory_bytes(std::string_view line) {
  const std::string status = read_file_or_empty("/proc/self/status");
  const auto at = status.find(line);
  if (at == std::string::npos) return 0;
  return std::strtoll(status.c_str() + at + line.size(), nullptr, 10) * 1024;
}

}  // namespace assay::agent
