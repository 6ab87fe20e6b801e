#include "core/standard_output.h"

#include <cerrno>
#include <cstdio>
#include <iostream>

#include <fcntl.h>
#include <unistd.h>

namespace assay {

void open_standard_streams() noexcept {
  // A new descriptor is the lowest free one, so each takes the place of a closed one in turn.
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd)
    if (::fcntl(fd, F_GETFD) < 0 && errno == EBADF) (void)::open("/dev/null", O_RDWR);
}

std::optional<Error> flush_standard_output() {
  std::cout.flush();
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return std::nullopt;
  // The earlier failure left no reason: writing another byte finds it.
  std::clearerr(stdout);
  errno = EIO;
  if (std::fputc('\n', stdout) != EOF) (void)std::fflush(stdout);
  if (errno == EPIPE) return std::nullopt;
  return system_error(ErrorKind::environment, "cannot write", "stdout", errno);
}

}  // namespace assay
