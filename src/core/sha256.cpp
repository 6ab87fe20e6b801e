#include "core/sha256.h"

#include <cerrno>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "core/digest.h"
#include "core/error.h"
#include "core/files.h"

namespace assay {

std::string sha256(std::string_view data) {
  return to_hex(digest(Hash::sha256, data));
}

std::string sha256_file(const std::filesystem::path& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) throw system_error(ErrorKind::environment, "cannot read the file", path.string(), errno);
  Digest digest(Hash::sha256);
  std::vector<char> buffer(1 << 18);
  for (;;) {
    const ssize_t n = ::read(fd.get(), buffer.data(), buffer.size());
    if (n == 0) return to_hex(digest.finish());
    if (n < 0 && errno != EINTR)
      throw system_error(ErrorKind::environment, "cannot read the file", path.string(), errno);
    if (n > 0) digest.update({buffer.data(), static_cast<std::size_t>(n)});
  }
}

}  // namespace assay
