#include "agent/self_usage.h"

#include <cstdlib>
#include <string>
#include <string_view>

#include <sys/resource.h>

#include "core/files.h"

namespace assay::agent {

namespace {

/// A kilobyte count from /proc/self/status, converted to bytes.
std::int64_t status_bytes(std::string_view line) {
  const std::string status = read_file_or_empty("/proc/self/status");
  const auto at = status.find(line);
  if (at == std::string::npos) return 0;
  return std::strtoll(status.c_str() + at + line.size(), nullptr, 10) * 1024;
}

}  // namespace

double self_cpu_s() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto total = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return total(usage.ru_utime) + total(usage.ru_stime);
}

std::int64_t resident_bytes() {
  return status_bytes("VmRSS:");
}

std::int64_t peak_resident_bytes() {
  return status_bytes("VmHWM:");
}

}  // namespace assay::agent
