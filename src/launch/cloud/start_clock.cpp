#include "launch/cloud/start_clock.h"

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

void StartClock::add(std::size_t files, std::uint64_t bytes) {
  files_ += files;
  bytes_ += bytes;
}

std::int64_t StartClock::end_ns() const {
  return begin_ns_ + start_limit(allowed_, files_, bytes_).count();
}

Error StartClock::over(const OutOfTime& silence) const {
  const std::string limit = format_duration(start_limit(allowed_, files_, bytes_));
  if (files_ == 0)
    return {ErrorKind::environment,
            fmt::format("{} did not work within {} ({}): {}", silence.doing(), limit, key_,
                        silence.cause()),
            silence.where(),
            fmt::format("when the service is faster, go on with --resume; or raise {}", key_)};
  return {
      ErrorKind::environment,
      fmt::format("{} did not work within {} ({}: {}, and what {} of {} need): {}", silence.doing(),
                  limit, key_, format_duration(allowed_), counted(files_, "file"),
                  format_bytes(static_cast<double>(bytes_)), silence.cause()),
      silence.where(),
      fmt::format("when the service is faster, go on with --resume; or raise {}, or upload "
                  "less (.assayignore)",
                  key_)};
}

}  // namespace assay::launch
