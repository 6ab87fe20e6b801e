#include "train/models/llama.h"

#include <cmath>
#include <numbers>

#include <torch/csrc/autograd/engine.h>

#include "core/error.h"
#include "train/models/llama_ops.h"
#include "train/models/shared_ops.h"
#if defined(ASSAY_TRAIN_KERNELS)
#include "train/models/cuda_fp8.h"
#include "train/models/cuda_llama.h"
#endif

namespace assay::train {
namespace {

constexpr double kLlamaDeviation = 0.02;

// Draws all of the model's parameters in order and keeps the share's part of each, so that all
// shares belong to the same model.
NamedTensors draw(const LlamaOptions& options, const LlamaShare& share, torch::Device device) {
  // The stream is the sum of 2 · layers branches, each of which starts that much smaller (GPT-2).
  const double last = kLlamaDeviation / std::sqrt(2.0 * static_cast<double>(options.layers));
  std::map<std::string, ParameterCut> own;
  for (ParameterCut& cut : cuts_of(options, share)) own.emplace(cut.name, std::move(cut));
  NamedTensors values;
  for (const ParameterCut& all : cuts_of(options, {})) {
    const auto cut = own.find(all.name);
    torch::Tensor value;
    if (all.shape.size() == 1) {
      value = torch::ones(all.shape, device);
    } else {
      const bool ends_branch = all.name.ends_with(".out") || all.name.ends_with(".down");
      value = torch::empty(all.shape, device).normal_(0.0, ends_branch ? last : kLlamaDeviation);
    }
    if (cut == own.end()) continue;
    values.emplace(all.name, share.tensor == nullptr ? value : cut_from(value, cut->second));
  }
  return values;
}

// The points from which autograd continues after a block.
torch::autograd::edge_list roots_of(const Residual& out) {
  return {torch::autograd::impl::gradient_edge(out.x), torch::autograd::impl::gradient_edge(out.h)};
}

// Uses a unit of a store while it exists, and fetches the next one.
class UnitUse {
 public:
  UnitUse(UnitStore* store, std::size_t unit, std::size_t next) : store_(store), unit_(unit) {
    if (store_ == nullptr) return;
    store_->use(unit);
    store_->fetch(next);
  }
  UnitUse(const UnitUse&) = delete;
  UnitUse& operator=(const UnitUse&) = delete;
  ~UnitUse() {
    if (store_ != nullptr) store_->release(unit_);
  }

 private:
  UnitStore* store_;
  std::size_t unit_;
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

LlamaBlockImpl::LlamaBlockImpl(const LlamaOptions& options, const LlamaShare& share,
                               const NamedTensors& values, std::int64_t layer)
    : options_(options), tensor_(share.tensor), kv_heads_(options.kv_heads / share.tensor_size()) {
  const std::string prefix = "blocks." + std::to_string(layer) + ".";
  const auto take = [&](const std::string& name) {
    return register_parameter(name, values.at(prefix + name));
  };
  norm1 = take("norm1");
  qkv.value = take("qkv");
  if (options.qk_norm) {
    q_norm = take("q_norm");
    k_norm = take("k_norm");
  }
  out.value = take("out");
  norm2 = take("norm2");
  if (options.experts > 0) {
    mixture = Mixture(options, share, [&](const std::string& name) {
      return values.at(prefix + "mixture." + name);
    });
    register_module("mixture", mixture);
    return;
  }
  gate_up.value = take("gate_up");
  down.value = take("down");
}

torch::Tensor LlamaBlockImpl::attend(const Normed& in, const Sequences& sequences,
                                     [[maybe_unused]] Keep keep) const {
  const torch::Tensor& y = in.y;
  const std::int64_t batch = y.size(0);
  const std::int64_t length = y.size(1);
  const std::int64_t head = options_.head();
#if defined(ASSAY_TRAIN_KERNELS)
  if (cuda_llama_fits(y) && !q_norm.defined())
    return causal_attention(cuda_project_heads(in, qkv, head, kv_heads_, sequences, keep),
                            sequences.from);
#endif
  const torch::Tensor all = project(y, qkv).view({batch, length, -1, head});
  const std::int64_t queries = all.size(2) - 2 * kv_heads_;
  LlamaHeads heads{all.narrow(2, 0, queries), all.narrow(2, queries, kv_heads_),
                   all.narrow(2, queries + kv_heads_, kv_heads_)};
  if (q_norm.defined()) {
    heads.q = add_norm(heads.q, {}, q_norm, options_.epsilon).y;
    heads.k = add_norm(heads.k, {}, k_norm, options_.epsilon).y;
  }
  heads.q = rotate(heads.q, sequences);
  heads.k = rotate(heads.k, sequences);
  return causal_attention(heads, sequences.from);
}

torch::Tensor LlamaBlockImpl::mlp(const Normed& in, const Sequences& sequences, Keep keep) const {
  if (mixture) return mixture->forward(in.y, sequences.balance);
  return feed_forward(in, gate_up, down, keep);
}

Residual LlamaBlockImpl::forward(const Residual& in, const Sequences& sequences, Keep keep) const {
  // Other ranks' data cannot be recomputed from this rank's tokens.
  const auto gathered = [&](Normed normed) {
    normed.y = gather_sequence(normed.y, tensor_);
    return normed;
  };
  if (tensor_ != nullptr) keep = Keep::all;
  const Normed first = gathered(add_norm(in.x, in.h, norm1, options_.epsilon));
  const torch::Tensor attended =
      scatter_sequence(project(attend(first, sequences, keep), out), tensor_);
  const Normed second = gathered(add_norm(first.sum, attended, norm2, options_.epsilon));
  return {second.sum, scatter_sequence(mlp(second, sequences, keep), tensor_)};
}

LlamaImpl::LlamaImpl(const LlamaOptions& options, torch::Device device, const LlamaShare& share)
    : options_(options), share_(share) {
  options.check();
  const NamedTensors values = draw(options, share, device);
  if (const auto found = values.find("embedding"); found != values.end())
    embedding_.value = register_parameter("embedding", found->second);
  const auto blocks = std::make_shared<torch::nn::Module>();
  for (std::int64_t i = share.first_layer; i < share.end_layer(options); ++i) {
    blocks_.emplace_back(options, share, values, i);
    blocks->register_module(std::to_string(i), blocks_.back());
  }
  register_module("blocks", blocks);
  if (!share.last(options)) return;
  norm_ = register_parameter("norm", values.at("norm"));
  if (!options.tied) output_.value = register_parameter("output", values.at("output"));
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

std::size_t LlamaImpl::unit_of(const std::string& parameter) const {
  if (parameter == "embedding") return 0;
  if (!parameter.starts_with("blocks.")) return end_unit();
  return static_cast<std::size_t>(std::stoll(parameter.substr(7)) - share_.first_layer) + 1;
}

torch::Tensor LlamaImpl::embed(const torch::Tensor& tokens) const {
  return share_.tensor == nullptr ? embed_tokens(tokens, embedding_, type_)
                                  : embed_shared(tokens, embedding_, type_, *share_.tensor);
}

torch::Tensor LlamaImpl::finish(const Residual& last) const {
  return add_norm(last.x, last.h, norm_, options_.epsilon).y;
}

TokenLosses LlamaImpl::head_losses_of(const torch::Tensor& y, const torch::Tensor& labels,
                                      HeadGradient* gradient, bool count_right) {
  torch::NoGradGuard no_grad;
  if (share_.tensor == nullptr)
    return head_losses(y.view({-1, options_.width}), head(), labels.flatten(), gradient,
                       count_right);
  const torch::Tensor all = gather_sequence(y, share_.tensor);
  const TokenLosses losses =
      shared_head_losses(all.view({-1, options_.width}), head(), labels.flatten(), gradient,
                         count_right, *share_.tensor);
  if (gradient != nullptr)
    gradient->dy = scatter_sequence(gradient->dy.view(all.sizes()), share_.tensor);
  return losses;
}

void LlamaImpl::begin_batch() {
#if defined(ASSAY_TRAIN_KERNELS)
  if (scales_) scales_->advance();
#endif
}

torch::Tensor LlamaImpl::given(const LlamaPass& pass) {
  const Residual& state = pass.state;
  return state.h.defined() ? state.x.detach() + state.h : state.x.detach();
}

LlamaPass LlamaImpl::forward(const torch::Tensor& tokens, const torch::Tensor& documents,
                             const torch::Tensor& in, double factor, Keep keep) {
  // Autograd sees one block at a time, each starting with a leaf. The pending addition to the
  // stream is a constant there, because its gradient is the stream's.
  const auto begin = [](const Residual& from) {
    Residual leaf{from.x.detach(), {}};
    leaf.x.set_requires_grad(true);
    if (from.h.defined()) leaf.h = from.h.detach();
    return leaf;
  };
  LlamaPass pass;
  pass.sequences = sequences(tokens, documents);
  // Ranks that share matrices route the same tokens.
  pass.sequences.balance = options_.balance * factor / static_cast<double>(share_.tensor_size());
  pass.segments.reserve(blocks_.size());
  if (share_.first()) {
    const UnitUse use(store_, 0, 1);
    pass.embedded = embed(tokens);
  }
  Residual state = begin({share_.first() ? pass.embedded : in, {}});
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const LlamaBlock& block = blocks_[i];
    const UnitUse use(store_, i + 1, i + 2);
    const torch::AutoGradMode graph(keep != Keep::inputs);
    const Residual out = block->forward(state, pass.sequences, keep);
    if (keep == Keep::inputs)
      pass.segments.push_back({state, {}});
    else
      pass.segments.push_back({{state.x, {}}, roots_of(out)});
    state = begin(out);
  }
  pass.state = state;
  return pass;
}

torch::Tensor LlamaImpl::loss(LlamaPass& pass, const torch::Tensor& labels, double factor,
                              torch::Tensor& gradient) {
  const UnitUse norm(store_, end_unit(), blocks_.size());
  const UnitUse matrix(store_, head_unit(), blocks_.size());
  if (store_ != nullptr) {
    store_->begin_gradients(end_unit());
    store_->begin_gradients(head_unit());
  }
  const torch::Tensor last = finish(pass.state);
  HeadGradient of_head{factor, {}};
  const TokenLosses losses = head_losses_of(last.detach(), labels, &of_head, false);
  last.backward(of_head.dy.view(last.sizes()));
  gradient = pass.state.x.grad();
  pass.state = {};
  if (store_ != nullptr) {
    store_->end_gradients(end_unit());
    // A tied matrix also gets the embedding's part, if that is here.
    if (!share_.first() && options_.tied) store_->end_gradients(0);
  }
  return losses.sum / static_cast<double>(labels.numel());
}

torch::Tensor LlamaImpl::backward(LlamaPass& pass, torch::Tensor gradient) {
  pass.state = {};
  for (std::size_t i = blocks_.size(); i-- > 0; pass.segments.pop_back()) {
    LlamaPass::Segment& segment = pass.segments.back();
    const UnitUse use(store_, i + 1, i > 0 ? i : i + 1);
    if (store_ != nullptr) store_->begin_gradients(i + 1);
    if (segment.roots.empty())
      segment.roots = roots_of(blocks_[i]->forward(segment.in, pass.sequences));
    torch::autograd::Engine::get_default_engine().execute(
        segment.roots, {gradient, gradient}, /*keep_graph=*/false, /*create_graph=*/false,
        /*accumulate_grad=*/true);
    gradient = segment.in.x.grad();
    if (store_ != nullptr) store_->end_gradients(i + 1);
  }
  if (!share_.first()) return gradient;
  if (store_ != nullptr) store_->begin_gradients(0);
  pass.embedded.backward(gradient);
  if (store_ != nullptr) store_->end_gradients(0);
  return {};
}

torch::Tensor LlamaImpl::train_on(const torch::Tensor& tokens, const torch::Tensor& labels,
                                  const torch::Tensor& documents, double factor, Keep keep) {
  begin_batch();
  LlamaPass pass = forward(tokens, documents, {}, factor, keep);
  torch::Tensor gradient;
  const torch::Tensor mean = loss(pass, labels, factor, gradient);
  static_cast<void>(backward(pass, std::move(gradient)));
  return mean;
}

torch::Tensor LlamaImpl::evaluate(const torch::Tensor& tokens, const torch::Tensor& documents,
                                  const torch::Tensor& in) {
  torch::NoGradGuard no_grad;
  const Sequences batch = sequences(tokens, documents);
  Residual state{in, {}};
  if (share_.first()) {
    const UnitUse use(store_, 0, 1);
    state.x = embed(tokens);
  }
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const UnitUse use(store_, i + 1, i + 2);
    state = blocks_[i]->forward(state, batch);
  }
  return state.x + state.h;
}

TokenLosses LlamaImpl::losses_of(const torch::Tensor& evaluated, const torch::Tensor& labels) {
  torch::NoGradGuard no_grad;
  const UnitUse norm(store_, end_unit(), end_unit());
  const UnitUse matrix(store_, head_unit(), head_unit());
  return head_losses_of(finish({evaluated, {}}), labels, nullptr, true);
}

TokenLosses LlamaImpl::losses(const torch::Tensor& tokens, const torch::Tensor& labels,
                              const torch::Tensor& documents) {
  return losses_of(evaluate(tokens, documents, {}), labels);
}

torch::Tensor LlamaImpl::logits(const torch::Tensor& tokens, const torch::Tensor& documents) {
  const Sequences batch = sequences(tokens, documents);
  Residual state{embed(tokens), {}};
  for (const LlamaBlock& block : blocks_) state = block->forward(state, batch);
  return project(finish(state), head());
}

void LlamaImpl::multiply_in_fp8() {
#if defined(ASSAY_TRAIN_KERNELS)
  const torch::Device device = blocks_.front()->norm1.device();
  if (has_fp8_products(device)) {
    const auto all = weights();
    scales_ = std::make_shared<Fp8Scales>(static_cast<std::int64_t>(all.size()), device);
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
  std::vector<std::pair<std::string, Weight*>> all;
  if (embedding_.value.defined()) all.emplace_back("embedding", &embedding_);
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const std::string name =
        "blocks." + std::to_string(share_.first_layer + static_cast<std::int64_t>(i)) + ".";
    LlamaBlockImpl& block = *blocks_[i];
    all.insert(all.end(), {{name + "qkv", &block.qkv}, {name + "out", &block.out}});
    if (block.mixture) {
      for (const auto& [own, weight] : block.mixture->weights())
        all.emplace_back(name + "mixture." + own, weight);
    } else {
      all.insert(all.end(), {{name + "gate_up", &block.gate_up}, {name + "down", &block.down}});
    }
  }
  if (output_.value.defined()) all.emplace_back("output", &output_);
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
    const auto add_mlp = [&](const std::string& gate, const std::string& up,
                             const std::string& down, const torch::Tensor& gate_up,
                             const torch::Tensor& last) {
      add(gate, gate_up.narrow(0, 0, options_.inner));
      add(up, gate_up.narrow(0, options_.inner, options_.inner));
      add(down, last);
    };
    if (block.mixture) {
      // As in MixtralForCausalLM.
      Mixture experts = block.mixture;
      const auto weights = experts->weights();
      const std::string mixture = name + "block_sparse_moe.";
      add(mixture + "gate", weights[0].second->value);
      for (std::size_t e = 0; 2 * e + 2 < weights.size(); ++e) {
        const std::string expert = mixture + "experts." + std::to_string(e) + ".";
        add_mlp(expert + "w1", expert + "w3", expert + "w2", weights[2 * e + 1].second->value,
                weights[2 * e + 2].second->value);
      }
    } else {
      add_mlp(name + "mlp.gate_proj", name + "mlp.up_proj", name + "mlp.down_proj",
              block.gate_up.value, block.down.value);
    }
  }
  add("model.norm", norm_);
  if (!options_.tied) add("lm_head", output_.value);
  return all;
}

}  // namespace assay::train
