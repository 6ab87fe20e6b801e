#pragma once

#include <filesystem>

#include "train/mesh/model_share.h"
#include "train/models/llama.h"

namespace assay::train {

/// load_llama() for a model of which this rank has a share. The whole model is on the host
/// meanwhile.
void load_share(LlamaImpl& model, const std::filesystem::path& path, std::int64_t sequence);

/// The whole model, on the host, from a buffer made by ModelShare::gather().
[[nodiscard]] Llama whole_model(const ModelShare& shared, const LlamaOptions& options,
                                const torch::Tensor& values);

}  // namespace assay::train
