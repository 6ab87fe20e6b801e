// How fast text becomes tokens.
//   bench_tokens FILE VOCABULARY    learns a vocabulary from the text of FILE and encodes it, on
//                                   one thread: prints megabytes (10^6) per CPU second, per rules

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <time.h>

#include "core/error.h"
#include "core/mapped_file.h"
#include "train/tokens/learn_bpe.h"

namespace {

namespace tokens = assay::train::tokens;

// CPU time is unaffected by other load.
double cpu_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

void measure(const char* name, std::string_view text, const tokens::SplitRules& rules,
             std::int64_t size) {
  const double begin = cpu_seconds();
  tokens::PieceCounts counts(rules);
  counts.add(text);
  const tokens::Bpe bpe = tokens::learn_bpe(counts, size);
  const double learnt = cpu_seconds();
  std::vector<std::int32_t> ids;
  const auto rate = [&](tokens::BpeEncoder& encoder) {
    const double start = cpu_seconds();
    ids.clear();
    encoder.encode(text, ids);
    return static_cast<double>(text.size()) / 1e6 / (cpu_seconds() - start);
  };
  tokens::BpeEncoder encoder(bpe);
  const double fresh = rate(encoder);
  double best = fresh;
  for (int i = 0; i < 4; ++i) best = std::max(best, rate(encoder));
  if (bpe.decode(ids) != text)
    throw assay::Error(assay::ErrorKind::internal, "the text does not come back");
  std::printf(
      "%-7s %lld tokens learnt in %.2f s; %.1f MB/s at first, %.1f MB/s then, %.2f bytes a "
      "token\n",
      name, static_cast<long long>(bpe.vocabulary()), learnt - begin, fresh, best,
      static_cast<double>(text.size()) / static_cast<double>(ids.size()));
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 3) {
    std::fprintf(stderr, "usage: bench_tokens FILE VOCABULARY\n");
    return 2;
  }
  const assay::MappedFile file(argv[1]);
  const std::int64_t size = std::atoll(argv[2]);
  measure("llama3", file.text(), tokens::kLlama3Rules, size);
  measure("gpt2", file.text(), tokens::kGpt2Rules, size);
  return 0;
} catch (const assay::Error& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return assay::exit_code(error.kind());
}
