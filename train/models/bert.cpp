#include "train/models/bert.h"

#include "core/error.h"
#include "train/models/dense.h"
#if defined(ASSAY_TRAIN_KERNELS)
#include "train/models/cuda_dense.h"
#include "train/models/cuda_loss.h"
#endif

namespace assay::train {
namespace {

constexpr double kNormEpsilon = 1e-12;
constexpr double kInitDeviation = 0.02;

torch::nn::LayerNorm make_norm(std::int64_t width) {
  return torch::nn::LayerNorm(torch::nn::LayerNormOptions({width}).eps(kNormEpsilon));
}

torch::Tensor run(torch::nn::Linear& layer, const torch::Tensor& x) {
  return linear(x, layer->weight, layer->bias);
}

// Tensor cores need a multiple of 8 columns; without it, the product with a vocabulary of 30,522
// words takes three times as long. The added columns are meaningless.
torch::Tensor linear_padded(const torch::Tensor& x, const torch::Tensor& weight,
                            const torch::Tensor& bias) {
  constexpr std::int64_t kMultiple = 64;
  const std::int64_t rows = weight.size(0);
  const std::int64_t missing = (kMultiple - rows % kMultiple) % kMultiple;
  if (!x.is_cuda() || missing == 0) return linear(x, weight, bias);
  return linear(x, torch::constant_pad_nd(weight.to(x.scalar_type()), {0, 0, 0, missing}),
                torch::constant_pad_nd(bias.to(x.scalar_type()), {0, missing}));
}

// The type in which activations are kept: that of this thread's products.
torch::Tensor as_activation(const torch::Tensor& x) {
  if (!x.is_cuda() || !autocast_enabled(torch::kCUDA)) return x;
  return x.to(autocast_type(torch::kCUDA));
}

torch::Tensor drop(const torch::Tensor& x, double rate, bool training) {
  return training && rate > 0 ? torch::dropout(x, rate, true) : x;
}

}  // namespace

BertOptions BertOptions::named(const std::string& size) {
  BertOptions options;
  if (size == "large") return options;
  if (size == "base") {
    options.layers = 12;
    options.width = 768;
    options.heads = 12;
    options.inner = 3072;
    return options;
  }
  if (size == "tiny") {
    options.layers = 2;
    options.width = 128;
    options.heads = 2;
    options.inner = 512;
    return options;
  }
  throw Error(ErrorKind::config, "there is no BERT of size '" + size + "'", {},
              "known sizes: tiny, base, large");
}

BertLayerImpl::BertLayerImpl(const BertOptions& options)
    : heads_(options.heads), dropout_(options.dropout) {
  qkv_ = register_module("qkv", torch::nn::Linear(options.width, 3 * options.width));
  out_ = register_module("out", torch::nn::Linear(options.width, options.width));
  norm1_ = register_module("norm1", make_norm(options.width));
  up_ = register_module("up", torch::nn::Linear(options.width, options.inner));
  down_ = register_module("down", torch::nn::Linear(options.inner, options.width));
  norm2_ = register_module("norm2", make_norm(options.width));
}

Fork BertLayerImpl::forward(const Fork& x, const torch::Tensor& mask) {
  const double dropout = is_training() ? dropout_ : 0.0;
  const std::int64_t batch = x.main.size(0);
  const std::int64_t length = x.main.size(1);
  const std::int64_t width = x.main.size(2);
#if defined(ASSAY_TRAIN_KERNELS)
  if (is_training() && cuda_dense_fits(x.main, width / heads_)) {
    const torch::Tensor attended =
        attention(cuda_linear_heads(x.main, *qkv_, heads_), mask, dropout);
    const Fork y = cuda_linear_add_norm(attended, *out_, x.skip, *norm1_, dropout);
    return cuda_linear_add_norm(cuda_linear_gelu(y.main, *up_), *down_, y.skip, *norm2_, dropout);
  }
#endif
  const torch::Tensor qkv = run(qkv_, x.main).view({batch, length, 3, heads_, width / heads_});
  torch::Tensor y = run(out_, attention(qkv, mask, dropout));
  y = norm1_->forward(x.skip + drop(y, dropout_, is_training()));
  const torch::Tensor z = run(down_, torch::gelu(run(up_, y)));
  return Fork(norm2_->forward(y + drop(z, dropout_, is_training())));
}

BertImpl::BertImpl(const BertOptions& options) : options_(options) {
  if (options.width % options.heads != 0)
    throw Error(ErrorKind::config, "the width of BERT must be a multiple of its heads");
  words_ = register_module("words", torch::nn::Embedding(options.vocabulary, options.width));
  positions_ = register_module("positions", torch::nn::Embedding(options.positions, options.width));
  segments_ = register_module("segments", torch::nn::Embedding(options.segments, options.width));
  norm_ = register_module("norm", make_norm(options.width));
  torch::nn::ModuleList layers;
  for (std::int64_t i = 0; i < options.layers; ++i) {
    layers_.emplace_back(options);
    layers->push_back(layers_.back());
  }
  register_module("layers", layers);
  pooler_ = register_module("pooler", torch::nn::Linear(options.width, options.width));
  transform_ = register_module("transform", torch::nn::Linear(options.width, options.width));
  transform_norm_ = register_module("transform_norm", make_norm(options.width));
  decoder_bias_ = register_parameter("decoder_bias", torch::zeros({options.vocabulary}));
  next_ = register_module("next", torch::nn::Linear(options.width, 2));

  torch::NoGradGuard no_grad;
  for (auto& item : named_parameters()) {
    const bool is_bias = item.value().dim() == 1;
    const bool is_norm = item.key().find("norm") != std::string::npos;
    if (is_norm) continue;
    if (is_bias)
      item.value().zero_();
    else
      item.value().normal_(0.0, kInitDeviation);
  }
}

BertOutput BertImpl::forward(const BertInput& input) {
  const std::int64_t batch = input.tokens.size(0);
  const std::int64_t length = input.tokens.size(1);
  torch::Tensor x = words_->forward(input.tokens) + segments_->forward(input.segments);
  x = x + positions_->weight.slice(0, 0, length).unsqueeze(0);
  x = as_activation(drop(norm_->forward(x), options_.dropout, is_training()));
  Fork state(x);
  for (BertLayer& layer : layers_) state = layer->forward(state, input.mask);
  x = state.main;

  BertOutput output;
  const torch::Tensor first = x.select(1, 0);
  output.next = run(next_, torch::tanh(run(pooler_, first)));
  torch::Tensor picked = x.reshape({batch * length, x.size(2)}).index_select(0, input.picked);
  // On the CPU a layer norm only takes its weights' type; on CUDA autocast handles this.
  picked = torch::gelu(run(transform_, picked)).to(transform_norm_->weight.scalar_type());
  picked = transform_norm_->forward(picked);
  output.padded_words = linear_padded(as_activation(picked), words_->weight, decoder_bias_);
  output.words = output.padded_words.narrow(-1, 0, options_.vocabulary);
  return output;
}

torch::Tensor word_loss(const BertOutput& output, const torch::Tensor& labels, std::int64_t ignored,
                        double smoothing) {
#if defined(ASSAY_TRAIN_KERNELS)
  if (cuda_cross_entropy_fits(output.padded_words))
    return cuda_cross_entropy(output.padded_words, output.words.size(1), labels, ignored,
                              smoothing);
#endif
  return torch::cross_entropy_loss(output.words.to(torch::kFloat), labels, {},
                                   torch::Reduction::Mean, ignored, smoothing);
}

}  // namespace assay::train
