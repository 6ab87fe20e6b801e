// Preloaded into every program of a "host" of the tests: its wall clock is off by
// ASSAY_TEST_CLOCK_OFFSET_S seconds, its other clocks are as they are. Where
// ASSAY_TEST_CLOCK_NODE is set, only in what runs on that node of Slurm. Where
// ASSAY_TEST_CLOCK_SET_AT is set, only from the moment on at which that file exists.

#include <cstdlib>
#include <cstring>
#include <ctime>

#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

namespace {

long offset_s() {
  static const long offset = [] {
    const char* text = std::getenv("ASSAY_TEST_CLOCK_OFFSET_S");
    const char* node = std::getenv("ASSAY_TEST_CLOCK_NODE");
    const char* here = std::getenv("SLURMD_NODENAME");
    if (text == nullptr) return 0L;
    if (node != nullptr && (here == nullptr || std::strcmp(node, here) != 0)) return 0L;
    return std::strtol(text, nullptr, 10);
  }();
  return offset;
}

long offset_now_s() {
  static const char* moment = std::getenv("ASSAY_TEST_CLOCK_SET_AT");
  return moment == nullptr || ::access(moment, F_OK) == 0 ? offset_s() : 0;
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t id, timespec* ts) noexcept {
  const long rc = ::syscall(SYS_clock_gettime, id, ts);
  if (rc == 0 && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE))
    ts->tv_sec += offset_now_s();
  return static_cast<int>(rc);
}

int gettimeofday(timeval* tv, void* /*zone*/) noexcept {
  timespec ts{};
  clock_gettime(CLOCK_REALTIME, &ts);
  tv->tv_sec = ts.tv_sec;
  tv->tv_usec = ts.tv_nsec / 1000;
  return 0;
}

time_t time(time_t* out) noexcept {
  timespec ts{};
  clock_gettime(CLOCK_REALTIME, &ts);
  if (out != nullptr) *out = ts.tv_sec;
  return ts.tv_sec;
}

}  // extern "C"
