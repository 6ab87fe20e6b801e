#include "core/file_lock.h"

#include <cerrno>

#include <fcntl.h>
#include <sys/file.h>

#include "core/error.h"

namespace assay {

std::optional<UniqueFd> try_lock_file(const std::filesystem::path& file) {
  UniqueFd fd(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!fd) throw system_error(ErrorKind::environment, "cannot open the lock", file.string(), errno);
  int taken = 0;
  do {
    taken = ::flock(fd.get(), LOCK_EX | LOCK_NB);
  } while (taken != 0 && errno == EINTR);
  if (taken == 0) return fd;
  // Any other answer, from a file system without locks, does not mean that somebody holds it.
  if (errno != EWOULDBLOCK)
    throw system_error(ErrorKind::environment, "cannot lock the file", file.string(), errno);
  return std::nullopt;
}

}  // namespace assay
