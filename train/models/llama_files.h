#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "train/models/llama.h"
#include "train/weights/safetensors.h"

namespace assay::train {

/// The model's config.json as in Hugging Face's LlamaForCausalLM, for a mixture MixtralForCausalLM,
/// with norms of queries and keys Qwen3ForCausalLM. A mixture with these norms is our own
/// architecture, unknown to others.
[[nodiscard]] std::string llama_config(const LlamaOptions& options, weights::TensorType type);

/// Throws Error of kind environment that names each value in `folder`/config.json that differs from
/// the model's: architecture, sizes, heads, epsilon, rotary base and scaling, activation, biases,
/// whether input and output are tied, and a window of attention shorter than sequences of
/// `sequence` tokens. A missing file is not a difference.
void require_llama_config(const std::filesystem::path& folder, const LlamaOptions& options,
                          std::int64_t sequence);

/// Copies weights with Hugging Face's names from a folder or a file (see weights::WeightSet) into
/// the model, on its device and in its type. Throws Error of kind environment that names each
/// tensor that is missing, unknown or of another shape, or each difference in config.json (see
/// require_llama_config); nothing is then copied.
void load_llama(LlamaImpl& model, const std::filesystem::path& path, std::int64_t sequence);

/// Returns WeightSet::checksum(); throws like opening the set.
[[nodiscard]] std::uint32_t checksum_of_weights(const std::filesystem::path& path);

/// Throws Error of kind config if `folder` already has weights, of kind environment if it cannot be
/// written to.
void require_export_folder(const std::filesystem::path& folder);

/// Writes the model's weights as `type` (f32 or bf16) with Hugging Face's names, and config.json,
/// to `folder`; files have at most about `shard_bytes`. Replaces nothing.
void save_llama(const LlamaImpl& model, const std::filesystem::path& folder,
                weights::TensorType type, std::int64_t shard_bytes = std::int64_t{5} << 30);

}  // namespace assay::train
