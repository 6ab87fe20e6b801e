#include "commands/base/byte_progress.h"

#include <cmath>

#include <fmt/format.h>

#include "commands/base/terminal.h"
#include "core/time.h"
#include "core/units.h"

namespace assay::commands {

ByteProgress::ByteProgress(std::string what, std::int64_t silence_ns)
    : what_(std::move(what)), from_ns_(silence_ns == 0 ? 0 : mono_now_ns() + silence_ns) {}

void ByteProgress::show(std::uint64_t done, std::uint64_t total) {
  const std::int64_t now_ns = mono_now_ns();
  const bool last = done == total;
  const std::int64_t pause = terminal_.interactive ? 100'000'000 : 5'000'000'000;
  if (ended_ || now_ns < from_ns_ || (!last && shown_ns_ != 0 && now_ns - shown_ns_ < pause))
    return;
  shown_ns_ = now_ns;
  ended_ = last;
  const std::string text = fmt::format("{} of {}", format_bytes(static_cast<double>(done)),
                                       format_bytes(static_cast<double>(total)));
  if (!terminal_.interactive) {
    tell(what_ + ": " + text + "\n");
    return;
  }
  const int filled = total == 0 ? 30
                                : static_cast<int>(std::lround(30.0 * static_cast<double>(done) /
                                                               static_cast<double>(total)));
  std::string bar;
  for (int i = 0; i < 30; ++i)
    bar += terminal_.unicode ? (i < filled ? "█" : "░") : (i < filled ? "#" : ".");
  tell("\r" + bar + "  " + text + "\x1b[K" + (last ? "\n" : ""));
}

}  // namespace assay::commands
