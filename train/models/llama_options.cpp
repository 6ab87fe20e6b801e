#include "train/models/llama_options.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/error.h"
#include "core/text.h"

namespace assay::train {
namespace {

struct NamedLlama {
  const char* name;
  std::int64_t vocabulary;
  std::int64_t layers;
  std::int64_t width;
  std::int64_t heads;
  std::int64_t kv_heads;
  std::int64_t inner;
  bool tied;
  double scaling;  // RotaryScaling::factor
  std::int64_t experts = 0;
  std::int64_t chosen = 2;
};

// 1b and 3b are Llama 3.2's, 8b and 70b Llama 3.1's.
constexpr NamedLlama kLlamas[] = {
    {"tiny", 64, 2, 128, 4, 2, 384, true, 0},
    {"125m", 32'000, 12, 768, 12, 4, 2048, false, 0},
    {"1b", 128'256, 16, 2048, 32, 8, 8192, true, 32},
    {"3b", 128'256, 28, 3072, 24, 8, 8192, true, 32},
    {"8b", 128'256, 32, 4096, 32, 8, 14'336, false, 8},
    {"70b", 128'256, 80, 8192, 64, 8, 28'672, false, 8},
    {"moe-tiny", 64, 2, 128, 4, 2, 192, true, 0, 8, 2},
    {"moe-4b", 128'256, 16, 2048, 32, 8, 2048, true, 0, 16, 2},
};

}  // namespace

const std::vector<std::string>& LlamaOptions::sizes() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const NamedLlama& llama : kLlamas) all.emplace_back(llama.name);
    return all;
  }();
  return names;
}

LlamaOptions LlamaOptions::named(const std::string& size) {
  for (const NamedLlama& llama : kLlamas) {
    if (size != llama.name) continue;
    LlamaOptions options;
    options.vocabulary = llama.vocabulary;
    options.layers = llama.layers;
    options.width = llama.width;
    options.heads = llama.heads;
    options.kv_heads = llama.kv_heads;
    options.inner = llama.inner;
    options.tied = llama.tied;
    options.scaling.factor = llama.scaling;
    options.experts = llama.experts;
    options.chosen = llama.chosen;
    return options;
  }
  throw Error(ErrorKind::config, "there is no Llama of size '" + printable(size) + "'", {},
              "known sizes: " + join(sizes(), ", "));
}

void LlamaOptions::check() const {
  if (width % heads != 0 || head() % 2 != 0)
    throw Error(ErrorKind::config,
                fmt::format("a width of {} in {} heads: each needs an even share", width, heads));
  if (heads % kv_heads != 0)
    throw Error(ErrorKind::config,
                fmt::format("{} heads of queries for {} of keys and values: each of these serves "
                            "the same number of those",
                            heads, kv_heads));
  if (experts > 0 && (chosen < 1 || chosen > experts))
    throw Error(ErrorKind::config,
                fmt::format("a token goes through {} of {} experts", chosen, experts), {},
                fmt::format("choose 1 … {}", experts));
}

std::int64_t LlamaOptions::block_matrices(std::int64_t mlps) const noexcept {
  return qkv() * width + width * width + 3 * width * inner * mlps + experts * width;
}

std::int64_t LlamaOptions::block_parameters() const noexcept {
  return block_matrices(std::max<std::int64_t>(1, experts)) + 2 * width +
         (qk_norm ? 2 * head() : 0);
}

std::int64_t LlamaOptions::parameters() const noexcept {
  return layers * block_parameters() + (tied ? 1 : 2) * embedding_parameters() + width;
}

std::int64_t LlamaOptions::active_parameters() const noexcept {
  if (experts == 0) return parameters();
  return parameters() - layers * 3 * width * inner * (experts - chosen);
}

double LlamaOptions::flops_per_token(std::int64_t length) const noexcept {
  const std::int64_t block = block_matrices(experts == 0 ? 1 : chosen);
  return 6 * static_cast<double>(layers * block + embedding_parameters()) +
         6 * static_cast<double>(layers * width) * static_cast<double>(length);
}

}  // namespace assay::train
