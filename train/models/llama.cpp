#include "train/models/llama.h"

#include <cmath>
#include <numbers>

#include <torch/csrc/autograd/engine.h>

#include "core/error.h"
#include "train/models/llama_ops.h"
#if defined(ASSAY_TRAIN_KERNELS)
#include "train/models/cuda_fp8.h"
#include "train/models/cuda_llama.h"
#endif

namespace assay::train {
namespace {

constexpr double kLlamaDeviation = 0.02;

// Makes parameters on one device.
struct Drawn {
  torch::Device device;
  [[nodiscard]] torch::Tensor matrix(std::int64_t rows, std::int64_t columns,
                                     double deviation = kLlamaDeviation) const {
    return torch::empty({rows, columns}, device).normal_(0.0, deviation);
  }
  [[nodiscard]] torch::Tensor ones(std::int64_t size) const { return torch::ones({size}, device); }
};

}  // namespace

std::pair<torch::Tensor, torch::Tensor> rotary_tables(const LlamaOptions& options,
                                                      std::int64_t length) {
  const std::int64_t half = options.head() / 2;
  const RotaryScaling& scaling = options.scaling;
  torch::Tensor angles = torch::empty({length, half}, torch::kDouble);
  for (std::int64_t i = 0; i < half; ++i) {
    double frequency =
        std::pow(options.rotary_base, -static_cast<double>(i) / static_cast<double>(half));
    if (scaling.factor > 0) {
      const double wave = 2 * std::numbers::pi / frequency;
      if (wave > scaling.original / scaling.low) {
        frequency /= scaling.factor;
      } else if (wave > scaling.original / scaling.high) {
        const double kept = (scaling.original / wave - scaling.low) / (scaling.high - scaling.low);
        frequency = (1 - kept) * frequency / scaling.factor + kept * frequency;
      }
    }
    angles.select(1, i).copy_(torch::arange(length, torch::kDouble) * frequency);
  }
  return {angles.cos().to(torch::kFloat), angles.sin().to(torch::kFloat)};
}

LlamaBlockImpl::LlamaBlockImpl(const LlamaOptions& options, torch::Device device)
    : options_(options) {
  // The stream is the sum of 2 · layers branches: each begins that much smaller (GPT-2).
  const double last = kLlamaDeviation / std::sqrt(2.0 * static_cast<double>(options.layers));
  const Drawn drawn{device};
  norm1 = register_parameter("norm1", drawn.ones(options.width));
  qkv.value = register_parameter("qkv", drawn.matrix(options.qkv(), options.width));
  if (options.qk_norm) {
    q_norm = register_parameter("q_norm", drawn.ones(options.head()));
    k_norm = register_parameter("k_norm", drawn.ones(options.head()));
  }
  out.value = register_parameter("out", drawn.matrix(options.width, options.width, last));
  norm2 = register_parameter("norm2", drawn.ones(options.width));
  gate_up.value = register_parameter("gate_up", drawn.matrix(2 * options.inner, options.width));
  down.value = register_parameter("down", drawn.matrix(options.width, options.inner, last));
}

torch::Tensor LlamaBlockImpl::attend(const Normed& in, const Sequences& sequences,
                                     [[maybe_unused]] Keep keep) const {
  const torch::Tensor& y = in.y;
  const std::int64_t batch = y.size(0);
  const std::int64_t length = y.size(1);
  const std::int64_t head = options_.head();
#if defined(ASSAY_TRAIN_KERNELS)
  if (cuda_llama_fits(y) && !q_norm.defined())
    return causal_attention(cuda_project_heads(in, qkv, head, options_.kv_heads, sequences, keep),
                            sequences.from);
#endif
  const torch::Tensor all = project(y, qkv).view({batch, length, -1, head});
  const std::int64_t queries = all.size(2) - 2 * options_.kv_heads;
  LlamaHeads heads{all.narrow(2, 0, queries), all.narrow(2, queries, options_.kv_heads),
                   all.narrow(2, queries + options_.kv_heads, options_.kv_heads)};
  if (q_norm.defined()) {
    heads.q = add_norm(heads.q, {}, q_norm, options_.epsilon).y;
    heads.k = add_norm(heads.k, {}, k_norm, options_.epsilon).y;
  }
  heads.q = rotate(heads.q, sequences);
  heads.k = rotate(heads.k, sequences);
  return causal_attention(heads, sequences.from);
}

Residual LlamaBlockImpl::forward(const Residual& in, const Sequences& sequences, Keep keep) const {
  const Normed first = add_norm(in.x, in.h, norm1, options_.epsilon);
  const torch::Tensor attended = project(attend(first, sequences, keep), out);
  const Normed second = add_norm(first.sum, attended, norm2, options_.epsilon);
  return {second.sum, feed_forward(second, gate_up, down, keep)};
}

LlamaImpl::LlamaImpl(const LlamaOptions& options, torch::Device device) : options_(options) {
  options.check();
  const Drawn drawn{device};
  embedding_.value =
      register_parameter("embedding", drawn.matrix(options.vocabulary, options.width));
  torch::nn::ModuleList blocks;
  for (std::int64_t i = 0; i < options.layers; ++i) {
    blocks_.emplace_back(options, device);
    blocks->push_back(blocks_.back());
  }
  register_module("blocks", blocks);
  norm_ = register_parameter("norm", drawn.ones(options.width));
  if (!options.tied)
    output_.value = register_parameter("output", drawn.matrix(options.vocabulary, options.width));
}

Sequences LlamaImpl::sequences(const torch::Tensor& tokens, const torch::Tensor& documents) {
  const std::int64_t length = tokens.size(1);
  if (!cosine_.defined() || cosine_.size(0) < length || cosine_.device() != tokens.device()) {
    auto [cosine, sine] = rotary_tables(options_, length);
    cosine_ = cosine.to(tokens.device());
    sine_ = sine.to(tokens.device());
  }
  Sequences out{cosine_.narrow(0, 0, length), sine_.narrow(0, 0, length), {}};
  if (documents.defined()) {
    // The last position at which a document started.
    const torch::Tensor started = torch::constant_pad_nd(
        documents.narrow(1, 1, length - 1) != documents.narrow(1, 0, length - 1), {1, 0}, 0);
    const torch::Tensor places =
        torch::arange(length, torch::TensorOptions(torch::kLong).device(tokens.device()));
    out.from = std::get<0>((started * places).cummax(1)).to(torch::kInt).contiguous();
  }
  return out;
}

torch::Tensor LlamaImpl::embed(const torch::Tensor& tokens) const {
  return embed_tokens(tokens, embedding_, type_);
}

torch::Tensor LlamaImpl::finish(const Residual& last) const {
  return add_norm(last.x, last.h, norm_, options_.epsilon).y;
}

torch::Tensor LlamaImpl::train_on(const torch::Tensor& tokens, const torch::Tensor& labels,
                                  const torch::Tensor& documents, double factor, Keep keep) {
#if defined(ASSAY_TRAIN_KERNELS)
  if (scales_) scales_->advance();
#endif
  const Sequences batch = sequences(tokens, documents);
  // Autograd sees one block at a time: each begins with a leaf. What is still to be added to the
  // stream is a constant there, because its gradient is the stream's.
  const auto begin = [](const Residual& from) {
    Residual leaf{from.x.detach(), {}};
    leaf.x.set_requires_grad(true);
    if (from.h.defined()) leaf.h = from.h.detach();
    return leaf;
  };
  // Of what a block gave only its place in the graph is kept, not the values.
  struct Segment {
    Residual in;                       // h: undefined when it need not be computed again
    torch::autograd::edge_list roots;  // empty: to be computed again
  };
  const auto roots_of = [](const Residual& out) {
    return torch::autograd::edge_list{torch::autograd::impl::gradient_edge(out.x),
                                      torch::autograd::impl::gradient_edge(out.h)};
  };
  std::vector<Segment> segments;
  segments.reserve(blocks_.size());

  const torch::Tensor embedded = embed(tokens);
  Residual state = begin({embedded, {}});
  for (const LlamaBlock& block : blocks_) {
    const torch::AutoGradMode graph(keep != Keep::inputs);
    const Residual out = block->forward(state, batch, keep);
    if (keep == Keep::inputs)
      segments.push_back({state, {}});
    else
      segments.push_back({{state.x, {}}, roots_of(out)});
    state = begin(out);
  }
  const torch::Tensor last = finish(state);
  const torch::Tensor rows = last.detach().view({-1, options_.width});
  HeadGradient gradient{factor, {}};
  const TokenLosses losses = head_losses(rows, head(), labels.flatten(), &gradient, false);
  last.backward(gradient.dy.view(last.sizes()));
  torch::Tensor d = state.x.grad();
  state = {};
  for (std::size_t i = blocks_.size(); i-- > 0; segments.pop_back()) {
    Segment& segment = segments.back();
    if (segment.roots.empty()) segment.roots = roots_of(blocks_[i]->forward(segment.in, batch));
    torch::autograd::Engine::get_default_engine().execute(
        segment.roots, {d, d}, /*keep_graph=*/false, /*create_graph=*/false,
        /*accumulate_grad=*/true);
    d = segment.in.x.grad();
  }
  embedded.backward(d);
  return losses.sum / static_cast<double>(labels.numel());
}

TokenLosses LlamaImpl::losses(const torch::Tensor& tokens, const torch::Tensor& labels,
                              const torch::Tensor& documents) {
  torch::NoGradGuard no_grad;
  const Sequences batch = sequences(tokens, documents);
  Residual state{embed(tokens), {}};
  for (const LlamaBlock& block : blocks_) state = block->forward(state, batch);
  return head_losses(finish(state).view({-1, options_.width}), head(), labels.flatten(), nullptr,
                     true);
}

torch::Tensor LlamaImpl::logits(const torch::Tensor& tokens, const torch::Tensor& documents) {
  const Sequences batch = sequences(tokens, documents);
  Residual state{embed(tokens), {}};
  for (const LlamaBlock& block : blocks_) state = block->forward(state, batch);
  return project(finish(state), head());
}

void LlamaImpl::multiply_in_fp8() {
#if defined(ASSAY_TRAIN_KERNELS)
  if (has_fp8_products(norm_.device())) {
    const auto all = weights();
    scales_ = std::make_shared<Fp8Scales>(static_cast<std::int64_t>(all.size()), norm_.device());
    std::int64_t number = 0;
    for (const auto& [name, weight] : all)
      weight->fp8 = std::make_shared<Fp8Product>(scales_, number++);
    return;
  }
#endif
  throw Error(ErrorKind::config, "there are no products in fp8 here", "precision",
              "they need a CUDA device of compute capability 8.9, PyTorch 2.5 and an assay-train "
              "that was built with the CUDA compiler; or use bf16");
}

std::vector<std::pair<std::string, Weight*>> LlamaImpl::weights() {
  std::vector<std::pair<std::string, Weight*>> all{{"embedding", &embedding_}};
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const std::string name = "blocks." + std::to_string(i) + ".";
    LlamaBlockImpl& block = *blocks_[i];
    all.insert(all.end(), {{name + "qkv", &block.qkv},
                           {name + "out", &block.out},
                           {name + "gate_up", &block.gate_up},
                           {name + "down", &block.down}});
  }
  if (!options_.tied) all.emplace_back("output", &output_);
  return all;
}

std::vector<std::pair<std::string, torch::Tensor>> LlamaImpl::named_as_hugging_face() const {
  const std::int64_t queries = options_.heads * options_.head();
  const std::int64_t keys = options_.kv_heads * options_.head();
  std::vector<std::pair<std::string, torch::Tensor>> all;
  const auto add = [&](const std::string& name, const torch::Tensor& value) {
    all.emplace_back(name + ".weight", value.detach());
  };
  add("model.embed_tokens", embedding_.value);
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const std::string name = "model.layers." + std::to_string(i) + ".";
    const LlamaBlockImpl& block = *blocks_[i];
    const torch::Tensor& qkv = block.qkv.value;
    add(name + "input_layernorm", block.norm1);
    add(name + "self_attn.q_proj", qkv.narrow(0, 0, queries));
    add(name + "self_attn.k_proj", qkv.narrow(0, queries, keys));
    add(name + "self_attn.v_proj", qkv.narrow(0, queries + keys, keys));
    if (options_.qk_norm) {
      add(name + "self_attn.q_norm", block.q_norm);
      add(name + "self_attn.k_norm", block.k_norm);
    }
    add(name + "self_attn.o_proj", block.out.value);
    add(name + "post_attention_layernorm", block.norm2);
    add(name + "mlp.gate_proj", block.gate_up.value.narrow(0, 0, options_.inner));
    add(name + "mlp.up_proj", block.gate_up.value.narrow(0, options_.inner, options_.inner));
    add(name + "mlp.down_proj", block.down.value);
  }
  add("model.norm", norm_);
  if (!options_.tied) add("lm_head", output_.value);
  return all;
}

}  // namespace assay::train
