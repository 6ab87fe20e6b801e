#include "train/mesh/share_files.h"

#include <algorithm>

#include "train/models/llama_files.h"

namespace assay::train {

void load_share(LlamaImpl& model, const std::filesystem::path& path, std::int64_t sequence) {
  const LlamaShare& share = model.share();
  if (share.tensor == nullptr && share.expert == nullptr && share.first() &&
      share.last(model.options()))
    return load_llama(model, path, sequence);
  torch::NoGradGuard no_grad;
  Llama whole(model.options());
  load_llama(*whole, path, sequence);
  const auto values = whole->named_parameters();
  const auto own = model.named_parameters();
  for (const ParameterCut& cut : cuts_of(model.options(), share))
    own[cut.name].copy_(cut_from(values[cut.name], cut));
}

Llama whole_model(const ModelShare& shared, const LlamaOptions& options,
                  const torch::Tensor& values) {
  torch::NoGradGuard no_grad;
  Llama whole(options);
  const auto parameters = whole->named_parameters();
  for (const FlatParameters::Entry& entry : shared.entries()) {
    torch::Tensor to = parameters[entry.name];
    to.copy_(FlatParameters::part(values, entry).view(to.sizes()));
  }
  return whole;
}

}  // namespace assay::train
