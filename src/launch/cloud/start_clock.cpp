#include "launch/cloud/start_clock.h"

#include <filesystem>

#include <fmt/format.h>

#include "core/text.h"
#include "core/units.h"

namespace assay::launch {

namespace {

constexpr Nanoseconds kForAFile = std::chrono::milliseconds(250);
constexpr double kBytesPerSecond = 256 << 10;

}  // namespace

Nanoseconds start_limit(Nanoseconds allowed, std::size_t files, std::uint64_t bytes) {
  return allowed + kForAFile * static_cast<std::int64_t>(files) +
         from_seconds(static_cast<double>(bytes) / kBytesPerSecond);
}

StartClock::StartClock(Nanoseconds allowed, std::string key)
    : allowed_(allowed), key_(std::move(key)), begin_ns_(mono_now_ns()) {}

void StartClock::add(const cloud::FolderFiles& files) {
  files_ += files.size();
  for (const auto& [name, path] : files) {
    std::error_code ec;
    if (const auto size = std::filesystem::file_size(path, ec); !ec) bytes_ += size;
  }
}

std::int64_t StartClock::end_ns() const {
  return begin_ns_ + start_limit(allowed_, files_, bytes_).count();
}

Error StartClock::over(const std::string& what, const OutOfTime& silence) const {
  const std::string limit = format_duration(start_limit(allowed_, files_, bytes_));
  if (files_ == 0)
    return {ErrorKind::environment,
            fmt::format("{} did not work within {} ({}): {}", what, limit, key_, silence.cause()),
            silence.where(),
            fmt::format("when the service is faster, go on with --resume; or raise {}", key_)};
  return {ErrorKind::environment,
          fmt::format("{} did not work within {} ({}: {}, and what {} of {} need): {}", what, limit,
                      key_, format_duration(allowed_), counted(files_, "file"),
                      format_bytes(static_cast<double>(bytes_)), silence.cause()),
          silence.where(),
          fmt::format("when the service is faster, go on with --resume; or raise {}, or upload "
                      "less (.assayignore)",
                      key_)};
}

}  // namespace assay::launch
