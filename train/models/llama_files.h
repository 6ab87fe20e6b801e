#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "train/models/llama.h"
#include "train/weights/safetensors.h"

namespace assay::train {

/// The model's config.json as Hugging Face's LlamaForCausalLM has it, of a mixture
/// MixtralForCausalLM, with norms of queries and keys Qwen3ForCausalLM. A mixture with these norms
/// is a model of our own there, which others do not know.
[[nodiscard]] std::string llama_config(const LlamaOptions& options, weights::TensorType type);

/// Throws Error of kind environment that names each value of `folder`/config.json that is not the
/// model's: architecture, sizes, heads, epsilon, rotary base and scaling, activation, biases,
/// whether input and output are tied, and a window of attention shorter than sequences of
/// `sequence` tokens. No such file is no difference.
void require_llama_config(const std::filesystem::path& folder, const LlamaOptions& options,
                          std::int64_t sequence);

/// Copies weights with Hugging Face's names into the model, from a folder or a file (see
/// weights::WeightSet), where the model is and in its type. Throws Error of kind environment that
/// names each tensor that is missing, unknown or of another shape, or what config.json says
/// otherwise (see require_llama_config); then nothing was copied.
void load_llama(LlamaImpl& model, const std::filesystem::path& path, std::int64_t sequence);

/// WeightSet::checksum(); throws as that is opened.
[[nodiscard]] std::uint32_t checksum_of_weights(const std::filesystem::path& path);

/// Throws Error of kind config when `folder` has weights already, of kind environment when it
/// cannot be written to.
void require_export_folder(const std::filesystem::path& folder);

/// Writes the model's weights as `type` (f32 or bf16) with Hugging Face's names and config.json
/// into `folder`; files of at most about `shard_bytes`. Replaces nothing.
void save_llama(const LlamaImpl& model, const std::filesystem::path& folder,
                weights::TensorType type, std::int64_t shard_bytes = std::int64_t{5} << 30);

}  // namespace assay::train
