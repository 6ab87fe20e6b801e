#include "aisbench/result_writer.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string_view>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

namespace assay::aisbench {

namespace {

constexpr std::array<std::string_view, 9> kKeys{
    "throughput_ratio",   "accuracy",    "result",        "average_power",      "max_power",
    "energy_consumption", "efficientcy", "infer_latency", "resource_util_ratio"};
constexpr std::size_t kMaxKey = 64;
constexpr std::size_t kMaxValue = 4096;

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= kMaxKey &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '_';
         });
}

bool is_time_key(std::string_view key) {
  for (const std::string_view end : {"_start_time", "_end_time"})
    if (key.size() > end.size() && key.substr(key.size() - end.size()) == end) return true;
  return false;
}

void append_quoted(std::string& out, std::string_view text) {
  constexpr const char* kDigits = "0123456789abcdef";
  out += '"';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      out += "\\u00";
      out += kDigits[byte >> 4];
      out += kDigits[byte & 15];
    } else {
      out += c;
    }
  }
  out += '"';
}

std::string now_ns(clockid_t clock) {
  timespec t{};
  ::clock_gettime(clock, &t);
  return std::to_string(static_cast<long long>(t.tv_sec) * 1'000'000'000 + t.tv_nsec);
}

// Workloads report local times, but the judge may run in another time zone.
std::string utc_offset_s() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  ::localtime_r(&now, &local);
  return std::to_string(local.tm_gmtoff);
}

std::string failed(const std::string& what, const char* file) {
  return what + " " + file + ": " + std::strerror(errno);
}

// With the file locked; returns what went wrong.
std::string append_line(int fd, const std::string& line, const char* file) {
  std::string text = line;
  const off_t end = ::lseek(fd, 0, SEEK_END);
  char last = '\n';
  if (end > 0 && ::pread(fd, &last, 1, end - 1) == 1 && last != '\n') text.insert(0, 1, '\n');
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t n = ::write(fd, text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return failed("cannot write to", file);
    done += static_cast<std::size_t>(n);
  }
  return {};
}

}  // namespace

std::string complaint_about(const std::string& mode, const std::string& key,
                            const std::string& value) {
  if (mode != "training" && mode != "inference")
    return "the mode is training or inference, not '" + mode.substr(0, kMaxKey) + "'";
  if (!is_name(key) ||
      (!is_time_key(key) && std::find(kKeys.begin(), kKeys.end(), key) == kKeys.end())) {
    std::string known;
    for (const std::string_view name : kKeys)
      known += (known.empty() ? "" : ", ") + std::string(name);
    return "there is no key '" + key.substr(0, kMaxKey) + "'; keys are " + known +
           ", and NAME_start_time, NAME_end_time";
  }
  if (value.empty()) return "the value of " + key + " is empty";
  if (value.size() > kMaxValue) return "the value of " + key + " is longer than 4096 bytes";
  return {};
}

std::string write_result(const std::string& mode, const std::string& key,
                         const std::string& value) {
  if (std::string wrong = complaint_about(mode, key, value); !wrong.empty()) return wrong;
  const char* file = std::getenv(kResultsVariable);
  if (file == nullptr || *file == '\0')
    return std::string(kResultsVariable) + " is not set: start the workload with 'assay ais test'";
  std::string line = "{\"wall_ns\":" + now_ns(CLOCK_REALTIME) +
                     ",\"mono_ns\":" + now_ns(CLOCK_MONOTONIC) +
                     ",\"utc_offset_s\":" + utc_offset_s() +
                     ",\"pid\":" + std::to_string(::getpid()) + ",\"mode\":";
  append_quoted(line, mode);
  line += ",\"key\":";
  append_quoted(line, key);
  line += ",\"value\":";
  append_quoted(line, value);
  line += "}\n";
  const int fd = ::open(file, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (fd < 0) return failed("cannot open", file);
  int locked = -1;
  do {
    locked = ::flock(fd, LOCK_EX);
  } while (locked != 0 && errno == EINTR);
  std::string wrong = locked == 0 ? append_line(fd, line, file) : failed("cannot lock", file);
  ::close(fd);
  return wrong;
}

}  // namespace assay::aisbench
