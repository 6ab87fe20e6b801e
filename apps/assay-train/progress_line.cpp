#include "progress_line.h"

#include <cstdio>

#include <unistd.h>

#include "core/time.h"

namespace assay::train {

ProgressLine::ProgressLine()
    : terminal_(::isatty(STDERR_FILENO) == 1), next_ns_(mono_now_ns() + 1'000'000'000) {}

ProgressLine::~ProgressLine() {
  if (shown_ && terminal_) std::fputc('\n', stderr);
}

void ProgressLine::show(const std::string& text) {
  const std::int64_t now_ns = mono_now_ns();
  if (now_ns < next_ns_) return;
  next_ns_ = now_ns + (terminal_ ? 200'000'000 : 5'000'000'000);
  shown_ = true;
  if (terminal_)
    std::fprintf(stderr, "\r%s\x1b[K", text.c_str());
  else
    std::fprintf(stderr, "%s\n", text.c_str());
  std::fflush(stderr);
}

}  // namespace assay::train
