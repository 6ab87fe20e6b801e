#include "door/splice_pipe.h"

#include <algorithm>
#include <array>
#include <cerrno>

#include <fcntl.h>
#include <unistd.h>

namespace assay::door {

namespace {

constexpr std::size_t kRoom = 1U << 20;

SplicePipe::Step step_of(ssize_t n) {
  if (n > 0) return SplicePipe::Step::moved;
  if (n == 0) return SplicePipe::Step::end;
  if (errno == EAGAIN || errno == EINTR) return SplicePipe::Step::wait;
  return errno == EINVAL ? SplicePipe::Step::refused : SplicePipe::Step::end;
}

}  // namespace

SplicePipe::Step SplicePipe::fill(int from, std::uint64_t most) {
  if (!in_) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_NONBLOCK | O_CLOEXEC) != 0) return Step::refused;
    out_.reset(ends[0]);
    in_.reset(ends[1]);
    ::fcntl(in_.get(), F_SETPIPE_SZ, static_cast<int>(kRoom));  // smaller if not allowed
  }
  const ssize_t n = ::splice(from, nullptr, in_.get(), nullptr,
                             static_cast<std::size_t>(std::min<std::uint64_t>(most, kRoom)),
                             SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
  if (n > 0) held_ += static_cast<std::uint64_t>(n);
  return step_of(n);
}

SplicePipe::Step SplicePipe::empty(int to) {
  const ssize_t n =
      ::splice(out_.get(), nullptr, to, nullptr, held_, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
  if (n > 0) held_ -= static_cast<std::uint64_t>(n);
  return step_of(n);
}

}  // namespace assay::door
