#include "train/base/onednn_limit.h"

#include <cstdlib>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace assay::train {
namespace {

constexpr unsigned kPaletteLeaf = 0x1D;

AmxAnswers ask_processor() noexcept {
  AmxAnswers answers;
#if defined(__x86_64__)
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  answers.last_leaf = static_cast<unsigned>(__get_cpuid_max(0, nullptr));
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0) answers.tiles = (edx >> 24 & 1U) != 0;
  if (__get_cpuid_count(kPaletteLeaf, 0, &eax, &ebx, &ecx, &edx) != 0) answers.palettes = eax;
#endif
  return answers;
}

}  // namespace

bool amx_usable(const AmxAnswers& answers) noexcept {
  return answers.tiles && answers.last_leaf >= kPaletteLeaf && answers.palettes > 0;
}

bool keep_onednn_from_broken_amx() noexcept {
  const AmxAnswers answers = ask_processor();
  if (!answers.tiles || amx_usable(answers)) return false;
  // The second name is from older versions and is still read by newer ones.
  for (const char* const name : {"ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA"})
    if (std::getenv(name) != nullptr) return false;
  return ::setenv("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16", 0) == 0;
}

}  // namespace assay::train
