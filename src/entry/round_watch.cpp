#include "entry/round_watch.h"

#include <algorithm>

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/process_tree.h"

namespace assay::entry {

namespace {

int open_process(pid_t pid) {
  return static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
}

}  // namespace

RoundWatch::RoundWatch(std::string round, pid_t pid)
    : round_(std::move(round)), fd_(open_process(pid)) {}

bool RoundWatch::over() {
  if (over_) return true;
  pollfd one{fd_.get(), POLLIN, 0};
  if (fd_ && ::poll(&one, 1, 0) == 0) return false;
  fd_.reset();
  for (const pid_t pid : processes_of_round(round_)) {
    fd_.reset(open_process(pid));
    if (fd_) return false;
  }
  over_ = true;
  return true;
}

}  // namespace assay::entry
