#pragma once

namespace assay::train {

/// The processor's information about AMX, its tiles for bfloat16 products.
struct AmxAnswers {
  bool tiles = false;      ///< CPUID 7: they exist
  unsigned last_leaf = 0;  ///< CPUID 0: the highest leaf
  unsigned palettes = 0;   ///< CPUID 0x1D: tile layouts, 1 so far
};

/// Whether a program may use the tiles. A hypervisor may show the guest that they exist but hide
/// their layout. oneDNN then loads layout 0, which is none, and the first product ends the process
/// with SIGILL.
[[nodiscard]] bool amx_usable(const AmxAnswers& answers) noexcept;

/// If AMX exists but cannot be used, limits oneDNN to the instructions below it, unless the user
/// has set a limit. Must be called before oneDNN's first use. Returns whether it did so.
bool keep_onednn_from_broken_amx() noexcept;

}  // namespace assay::train
