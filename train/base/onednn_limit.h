#pragma once

namespace assay::train {

/// What the processor says of AMX, its tiles for products of bfloat16.
struct AmxAnswers {
  bool tiles = false;      ///< CPUID 7: it has them
  unsigned last_leaf = 0;  ///< CPUID 0: the last number that it answers
  unsigned palettes = 0;   ///< CPUID 0x1D: layouts of tiles, 1 so far
};

/// Whether a program may use the tiles. A hypervisor may show the guest that they are there and
/// hide how they are laid out. oneDNN then loads the layout 0, which is none, and the first product
/// ends the process with SIGILL.
[[nodiscard]] bool amx_usable(const AmxAnswers& answers) noexcept;

/// Where AMX is there and cannot be used, keeps oneDNN at the instructions below it, unless the
/// user has limited oneDNN. Must come before its first use. Gives whether it did so.
bool keep_onednn_from_broken_amx() noexcept;

}  // namespace assay::train
