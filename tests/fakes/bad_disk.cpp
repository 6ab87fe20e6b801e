// Preloaded into every program of a "host" of the tests: what the agent reads of a file "*.part"
// beyond its first 2 MiB to pass it on is wrong (ASSAY_TEST_BAD_DISK=damage), or never comes
// (ASSAY_TEST_BAD_DISK=hang): then the file that ASSAY_TEST_BAD_DISK_MARK names is made.

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <sys/syscall.h>
#include <unistd.h>

namespace {

constexpr off_t kGood = 2 << 20;

bool is_part(int fd) {
  char link[64];
  char path[4096];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t n = ::readlink(link, path, sizeof path);
  return n > 5 && std::memcmp(path + n - 5, ".part", 5) == 0;
}

}  // namespace

extern "C" ssize_t pread(int fd, void* buffer, size_t size, off_t offset) {
  const ssize_t n = ::syscall(SYS_pread64, fd, buffer, size, offset);
  const char* how = std::getenv("ASSAY_TEST_BAD_DISK");
  if (n <= 0 || how == nullptr || offset < kGood || !is_part(fd)) return n;
  if (std::strcmp(how, "damage") == 0) static_cast<char*>(buffer)[n / 2] ^= 1;
  if (std::strcmp(how, "hang") == 0) {
    const char* mark = std::getenv("ASSAY_TEST_BAD_DISK_MARK");
    if (mark != nullptr)
      if (std::FILE* file = std::fopen(mark, "w"); file != nullptr) std::fclose(file);
    for (;;) ::pause();
  }
  return n;
}
