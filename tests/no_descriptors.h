#pragma once

#include <stdexcept>

#include <sys/resource.h>
#include <unistd.h>

namespace assay::testing {

/// While it lives, this process gets no further descriptor; those that it has stay.
class NoDescriptors {
 public:
  NoDescriptors() {
    const int next = ::dup(STDERR_FILENO);
    ::close(next);
    rlimit none{};
    if (next < 0 || ::getrlimit(RLIMIT_NOFILE, &before_) != 0)
      throw std::runtime_error("cannot learn the limit of open files");
    none = before_;
    none.rlim_cur = static_cast<rlim_t>(next);
    if (::setrlimit(RLIMIT_NOFILE, &none) != 0)
      throw std::runtime_error("cannot change the limit of open files");
  }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;
  ~NoDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

}  // namespace assay::testing
