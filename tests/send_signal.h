#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/types.h>

namespace assay {

/// Sends a signal to one process. To kill(2) a pid of -1 is every process of the machine and 0 the
/// whole process group, the test runner included: a process that was not found is a failure here.
inline void send_signal(pid_t pid, int number) {
  if (pid > 1)
    ::kill(pid, number);
  else
    ADD_FAILURE() << "there is no process to signal: " << pid;
}

}  // namespace assay
