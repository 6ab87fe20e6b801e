#include "platform/disk_reserve.h"

#include <exception>

#include <fcntl.h>

#include "core/files.h"

namespace assay::platform {

namespace {

constexpr std::int64_t kReserveBytes = 2 << 20;
// Where less is free the reserve would be what fills the disk.
constexpr std::uintmax_t kRoomForReserve = 4 * kReserveBytes;

}  // namespace

void DiskReserve::keep() const noexcept {
  try {
    std::error_code ec;
    if (std::filesystem::exists(file_, ec) || ec) return;
    const auto space = std::filesystem::space(file_.parent_path(), ec);
    if (ec || space.available < kRoomForReserve) return;
    const UniqueFd file(::open(file_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    if (!file || ::posix_fallocate(file.get(), 0, kReserveBytes) != 0) give_up();
  } catch (const std::exception&) {  // no memory for a moment
  }
}

void DiskReserve::give_up() const noexcept {
  std::error_code ec;
  std::filesystem::remove(file_, ec);
}

}  // namespace assay::platform
