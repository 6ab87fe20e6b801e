#include "train/models/llama_options.h"

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
};

// 1b and 3b are Llama 3.2's, 8b and 70b Llama 3.1's.
constexpr NamedLlama kLlamas[] = {
    {"tiny", 64, 2, 128, 4, 2, 384, true, 0},
    {"125m", 32'000, 12, 768, 12, 4, 2048, false, 0},
    {"1b", 128'256, 16, 2048, 32, 8, 8192, true, 32},
    {"3b", 128'256, 28, 3072, 24, 8, 8192, true, 32},
    {"8b", 128'256, 32, 4096, 32, 8, 14'336, false, 8},
    {"70b", 128'256, 80, 8192, 64, 8, 28'672, false, 8},
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
}

std::int64_t LlamaOptions::block_parameters() const noexcept {
  return qkv() * width + width * width + 3 * width * inner + 2 * width + (qk_norm ? 2 * head() : 0);
}

std::int64_t LlamaOptions::parameters() const noexcept {
  return layers * block_parameters() + (tied ? 1 : 2) * embedding_parameters() + width;
}

double LlamaOptions::flops_per_token(std::int64_t length) const noexcept {
  const std::int64_t block = qkv() * width + width * width + 3 * width * inner;
  return 6 * static_cast<double>(layers * block + embedding_parameters()) +
         6 * static_cast<double>(layers * width) * static_cast<double>(length);
}

}  // namespace assay::train
