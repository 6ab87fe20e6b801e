#pragma once

#include <filesystem>

namespace assay::platform {

/// Room on a server's disk that is given up, once the disk is full, for the records of what was
/// stopped because of that. Any thread.
class DiskReserve {
 public:
  explicit DiskReserve(const std::filesystem::path& data) : file_(data / "reserve") {}

  /// Sets the room aside again, where enough is free besides.
  void keep() const noexcept;
  void give_up() const noexcept;

 private:
  std::filesystem::path file_;
};

}  // namespace assay::platform
