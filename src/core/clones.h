#pragma once

// Functions that are compiled for several kinds of processor; the loader chooses when the program
// starts, because the binary travels between machines. By level: a name such as skylake-avx512
// means that processor alone, not its successors.
//
// Not under ThreadSanitizer: the loader calls the resolvers before the sanitizer is there, and they
// are instrumented too, so the program would die before main().
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_THREAD__)
#define ASSAY_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#define ASSAY_CLONES_AVX2 __attribute__((target_clones("avx2", "default")))
#else
#define ASSAY_CLONES
#define ASSAY_CLONES_AVX2
#endif
