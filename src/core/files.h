#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

namespace assay {

/// Owns a file descriptor.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) noexcept : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    if (this != &other) reset(std::exchange(other.fd_, -1));
    return *this;
  }
  UniqueFd(const UniqueFd&) = delete;
  UniqueFd& operator=(const UniqueFd&) = delete;
  ~UniqueFd() { reset(); }

  [[nodiscard]] int get() const noexcept { return fd_; }
  [[nodiscard]] int release() noexcept { return std::exchange(fd_, -1); }
  [[nodiscard]] explicit operator bool() const noexcept { return fd_ >= 0; }
  void reset(int fd = -1) noexcept;

 private:
  int fd_ = -1;
};

/// Both ends of a pipe, close-on-exec.
struct Pipe {
  UniqueFd read;
  UniqueFd write;
};
[[nodiscard]] Pipe make_pipe();

// All of these throw an Error of kind environment that names the path.

[[nodiscard]] std::string read_file(const std::filesystem::path& path);

/// Reads `path`; returns "" when it does not exist or cannot be read (procfs and sysfs probing).
[[nodiscard]] std::string read_file_or_empty(const std::filesystem::path& path);

/// Has the disk keep what a file, or every regular file below a folder, holds now, with its name.
/// Throws Error of kind environment when the disk reports a failure; what is not there, and file
/// systems that cannot sync, are passed over. Blocks for as long as the disk takes.
void sync_to_disk(const std::filesystem::path& path);

/// Writes a temporary file beside `path`, syncs it and renames it over `path`: a reader or a crash
/// sees the old content or the new, never a mixture. Without `sync` it survives a crash of the
/// process, but perhaps not of the machine.
void write_file_atomic(const std::filesystem::path& path, std::string_view content,
                       bool sync = true);

void make_directories(const std::filesystem::path& path);

/// Writes all of `data`; throws on error.
void write_all(int fd, std::string_view data, const std::filesystem::path& path);

}  // namespace assay
