#include "cloud/part_hashes.h"

#include <algorithm>
#include <cerrno>

#include <fcntl.h>
#include <unistd.h>

#include "core/cancelled.h"
#include "core/digest.h"
#include "core/error.h"
#include "core/files.h"
#include "core/parallel.h"

namespace assay::cloud {

namespace {

void read_fully(int file, std::uint64_t offset, char* to, std::size_t size,
                const std::filesystem::path& path) {
  while (size > 0) {
    const ssize_t n = ::pread(file, to, size, static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0)
      throw system_error(ErrorKind::environment, "cannot read the file", path.string(), errno);
    if (n == 0)
      throw Error(ErrorKind::environment, "the file became shorter while it was read",
                  path.string(), "send it when nothing writes to it");
    to += n;
    offset += static_cast<std::uint64_t>(n);
    size -= static_cast<std::size_t>(n);
  }
}

}  // namespace

std::vector<std::string> md5_of_parts(const std::filesystem::path& path, std::uint64_t size,
                                      std::uint64_t part_size, const std::stop_token& stop,
                                      const PartIsThere& wait) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file)
    throw system_error(ErrorKind::environment, "cannot read the file", path.string(), errno);
  constexpr std::size_t kPiece = 256 << 10;
  std::vector<std::string> out(static_cast<std::size_t>((size + part_size - 1) / part_size));
  run_parallel(out.size(), 0, stop, [&](std::size_t part, const std::stop_token& inner) {
    Digest md5(Hash::md5);
    std::string buffer(kPiece, '\0');
    const std::uint64_t begin = part * part_size;
    const std::uint64_t length = std::min(part_size, size - begin);
    for (std::uint64_t at = 0; at < length; at += kPiece) {
      const auto now = static_cast<std::size_t>(std::min<std::uint64_t>(kPiece, length - at));
      if (wait) wait(part, at + now, inner);
      if (inner.stop_requested()) throw Cancelled("hashing was cancelled", path.string());
      read_fully(file.get(), begin + at, buffer.data(), now, path);
      md5.update({buffer.data(), now});
    }
    out[part] = md5.finish();
  });
  return out;
}

}  // namespace assay::cloud
