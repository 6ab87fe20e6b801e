#pragma once

// Functions compiled for several kinds of processor; the loader chooses one at program start,
// because the binary travels between machines. The targets are levels: a name such as
// skylake-avx512 would match that processor alone, not its successors.
//
// Disabled under ThreadSanitizer: the loader calls the resolvers before the sanitizer is set up,
// and the resolvers are instrumented too, so the program would die before main().
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_THREAD__)
#define ASSAY_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#define ASSAY_CLONES_AVX2 __attribute__((target_clones("avx2", "default")))
#else
#define ASSAY_CLONES
#define ASSAY_CLONES_AVX2
#endif
