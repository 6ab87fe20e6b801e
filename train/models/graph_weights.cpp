#include "train/models/graph_weights.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "core/json.h"
#include "core/json_error.h"
#include "core/sha256.h"

namespace assay::train {
namespace {

static_assert(std::endian::native == std::endian::little, "weights are written as they are");

using automl::Graph;
using automl::Layer;
using automl::LayerKind;
using automl::WeightSource;

constexpr std::string_view kMagic = "assay-weights 1\n";
constexpr std::size_t kMaxHeader = std::size_t{16} << 20;

struct Part {
  const char* name;
  torch::Tensor LayerTensors::*tensor;
};
constexpr std::array<Part, 4> kParts{{{"weight", &LayerTensors::weight},
                                      {"bias", &LayerTensors::bias},
                                      {"mean", &LayerTensors::mean},
                                      {"variance", &LayerTensors::variance}}};

torch::Tensor kept(const torch::Tensor& tensor) {
  return tensor.detach()
      .to(torch::kCPU, torch::kFloat, /*non_blocking=*/false, /*copy=*/true)
      .contiguous();
}

// A part's shape; empty if the layer lacks it; a conv's kernel is given as 0.
std::vector<std::int64_t> shape_of(const Layer& layer, std::size_t part) {
  switch (layer.kind) {
    case LayerKind::conv:
      if (part == 0) return {layer.out, layer.in, 0, 0};
      return part == 1 ? std::vector<std::int64_t>{layer.out} : std::vector<std::int64_t>{};
    case LayerKind::dense:
      if (part == 0) return {layer.out, layer.in};
      return part == 1 ? std::vector<std::int64_t>{layer.out} : std::vector<std::int64_t>{};
    case LayerKind::batch_norm:
      return {layer.in};
    default:
      return {};
  }
}

bool fits(const Layer& layer, std::size_t part, const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> wanted = shape_of(layer, part);
  if (wanted.size() == 4 && shape.size() == 4) {
    const std::int64_t side = shape[2];
    // Only odd kernels above 1 can replace each other.
    const bool free = layer.kernel > 1 && layer.kernel % 2 == 1;
    if (free ? side < 3 || side % 2 == 0 || side > 99 : side != layer.kernel) return false;
    wanted[2] = wanted[3] = side;
  }
  return !wanted.empty() && wanted == shape;
}

// A kernel's middle, or a kernel in the middle of zeros.
torch::Tensor resized(const torch::Tensor& weight, std::int64_t side) {
  const std::int64_t border = (side - weight.size(2)) / 2;
  if (border == 0) return weight;
  if (border > 0) return torch::constant_pad_nd(weight, {border, border, border, border});
  return weight.narrow(2, -border, side).narrow(3, -border, side);
}

torch::Tensor picked(const torch::Tensor& tensor, std::int64_t dimension,
                     const std::vector<int>& indices) {
  if (indices.empty() || !tensor.defined()) return tensor;
  return tensor.index_select(
      dimension, torch::tensor(std::vector<std::int64_t>(indices.begin(), indices.end())));
}

LayerTensors copied(const LayerTensors& from, const Layer& layer, const WeightSource& source) {
  LayerTensors to;
  for (const Part& part : kParts) to.*part.tensor = picked(from.*part.tensor, 0, source.outputs);
  if (layer.kind == LayerKind::batch_norm || source.inputs.empty() || !to.weight.defined())
    return to;
  std::vector<std::int64_t> along(to.weight.dim(), 1);
  along[1] = -1;
  const torch::Tensor scale =
      torch::tensor(source.input_scale, torch::kDouble).to(torch::kFloat).view(along);
  to.weight = picked(to.weight, 1, source.inputs) * scale;
  return to;
}

LayerTensors made(const Layer& layer, WeightSource::Kind kind) {
  LayerTensors to;
  if (kind == WeightSource::Kind::identity) {
    to.weight = torch::zeros({layer.out, layer.in, layer.kernel, layer.kernel});
    const torch::Tensor middle = to.weight.select(3, layer.kernel / 2).select(2, layer.kernel / 2);
    middle.slice(1, 0, layer.out).fill_diagonal_(1);
    to.bias = torch::zeros({layer.out});
  } else if (kind != WeightSource::Kind::fresh) {
    const double epsilon = torch::nn::BatchNorm2dOptions(1).eps();
    const double scale = kind == WeightSource::Kind::norm_zero ? 0 : std::sqrt(1 + epsilon);
    to.weight = torch::full({layer.in}, scale, torch::kFloat);
    to.bias = torch::zeros({layer.in});
    to.mean = torch::zeros({layer.in});
    to.variance = torch::ones({layer.in});
  }
  return to;
}

}  // namespace

GraphWeights weights_of(GraphModelImpl& model) {
  const auto layers = model.graph().layers();
  GraphWeights weights(layers.size());
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const int id = static_cast<int>(i);
    LayerTensors& to = weights[i];
    if (layers[i].kind == LayerKind::conv) {
      to = {kept(model.conv(id)->weight), kept(model.conv(id)->bias), {}, {}};
    } else if (layers[i].kind == LayerKind::dense) {
      to = {kept(model.dense(id)->weight), kept(model.dense(id)->bias), {}, {}};
    } else if (layers[i].kind == LayerKind::batch_norm) {
      const auto& norm = model.norm(id);
      to = {kept(norm->weight), kept(norm->bias), kept(norm->running_mean),
            kept(norm->running_var)};
    }
  }
  return weights;
}

void load_weights(GraphModelImpl& model, const GraphWeights& weights, const std::string& where) {
  torch::NoGradGuard no_grad;
  const auto layers = model.graph().layers();
  const auto copy = [&](std::size_t id, const torch::Tensor& to, torch::Tensor from) {
    if (!from.defined()) return;
    if (to.dim() == 4 && from.dim() == 4) from = resized(from, to.size(2));
    if (to.sizes() != from.sizes())
      throw Error(ErrorKind::config,
                  fmt::format("the weights of layer {} are of another shape", id), where);
    to.copy_(from);
  };
  for (std::size_t i = 0; i < std::min(layers.size(), weights.size()); ++i) {
    const int id = static_cast<int>(i);
    const LayerTensors& from = weights[i];
    if (layers[i].kind == LayerKind::conv) {
      copy(i, model.conv(id)->weight, from.weight);
      copy(i, model.conv(id)->bias, from.bias);
    } else if (layers[i].kind == LayerKind::dense) {
      copy(i, model.dense(id)->weight, from.weight);
      copy(i, model.dense(id)->bias, from.bias);
    } else if (layers[i].kind == LayerKind::batch_norm) {
      copy(i, model.norm(id)->weight, from.weight);
      copy(i, model.norm(id)->bias, from.bias);
      copy(i, model.norm(id)->running_mean, from.mean);
      copy(i, model.norm(id)->running_var, from.variance);
    }
  }
}

Inherited inherit(const Graph& parent, const GraphWeights& weights,
                  std::span<const automl::Operation> operations) {
  Inherited now{parent, weights};
  now.weights.resize(parent.layers().size());  // leaves out what is not in the searched graph
  for (const automl::Operation& operation : operations) {
    const automl::WeightTransfer sources = automl::transfer(now.graph, operation);
    Graph child = automl::apply(now.graph, operation);
    GraphWeights next(sources.size());
    for (std::size_t id = 0; id < sources.size(); ++id) {
      const Layer& layer = child.layers()[id];
      if (shape_of(layer, 0).empty()) continue;
      next[id] = sources[id].kind == WeightSource::Kind::copy
                     ? copied(now.weights.at(id), layer, sources[id])
                     : made(layer, sources[id].kind);
    }
    now = {std::move(child), std::move(next)};
  }
  return now;
}

std::int64_t count_tensors(const GraphWeights& weights) {
  std::int64_t count = 0;
  for (const LayerTensors& layer : weights)
    for (const Part& part : kParts) count += (layer.*part.tensor).defined() ? 1 : 0;
  return count;
}

std::int64_t count_tensors(const Graph& graph) {
  std::int64_t count = 0;
  for (const Layer& layer : graph.layers())
    for (std::size_t part = 0; part < kParts.size(); ++part)
      count += shape_of(layer, part).empty() ? 0 : 1;
  return count;
}

std::string weights_sha256(const Graph& graph, const GraphWeights& weights) {
  Sha256 hash;
  for (std::size_t id = 0; id < std::min(weights.size(), graph.layers().size()); ++id)
    for (const Part& part : kParts) {
      const torch::Tensor& tensor = weights[id].*part.tensor;
      if (!tensor.defined()) continue;
      const torch::Tensor flat = tensor.contiguous();
      hash.update({static_cast<const char*>(flat.data_ptr()), flat.nbytes()});
    }
  return hash.hex();
}

std::string encode_weights(const Graph& graph, const GraphWeights& weights) {
  Json tensors = Json::array();
  std::string data;
  std::size_t bytes = 0;
  for (const LayerTensors& layer : weights)
    for (const Part& part : kParts)
      if ((layer.*part.tensor).defined()) bytes += (layer.*part.tensor).nbytes();
  data.reserve(bytes);
  for (std::size_t id = 0; id < std::min(weights.size(), graph.layers().size()); ++id)
    for (const Part& part : kParts) {
      const torch::Tensor& tensor = weights[id].*part.tensor;
      if (!tensor.defined()) continue;
      tensors.push_back(Json::array({id, part.name, tensor.sizes().vec()}));
      const torch::Tensor flat = tensor.contiguous();
      data.append(static_cast<const char*>(flat.data_ptr()), flat.nbytes());
    }
  const Json header{{"graph", fmt::format("{:016x}", graph.hash())},
                    {"tensors", std::move(tensors)},
                    {"bytes", data.size()},
                    {"sha256", sha256(data)}};
  std::string file = std::string(kMagic) + dump_line(header) + "\n";
  file += data;
  return file;
}

GraphWeights decode_weights(std::string_view bytes, const Graph& graph, const std::string& where) {
  const auto damaged = [&](const std::string& what) {
    return Error(ErrorKind::environment, "the weights are damaged: " + what, where,
                 "remove them: the trial is then trained from fresh ones");
  };
  if (!bytes.starts_with(kMagic)) throw damaged("they are not of this version of assay-train");
  bytes.remove_prefix(kMagic.size());
  const std::size_t end = bytes.substr(0, kMaxHeader).find('\n');
  if (end == std::string_view::npos) throw damaged("the header is cut");
  const Json header = parse_json_or_null(bytes.substr(0, end));
  bytes.remove_prefix(end + 1);
  GraphWeights weights(graph.layers().size());
  try {
    const std::string hash = header.at("graph");
    if (hash != fmt::format("{:016x}", graph.hash()))
      throw Error(ErrorKind::config,
                  fmt::format("the weights are of graph {}, not of {:016x}", hash, graph.hash()),
                  where);
    if (header.at("bytes").get<std::size_t>() != bytes.size())
      throw damaged(fmt::format("{} of {} bytes are there", bytes.size(),
                                header.at("bytes").get<std::size_t>()));
    if (header.at("sha256").get<std::string>() != sha256(bytes))
      throw damaged("the checksum does not fit");
    for (const Json& item : header.at("tensors")) {
      const auto id = item.at(0).get<std::size_t>();
      const auto shape = item.at(2).get<std::vector<std::int64_t>>();
      const std::string name = item.at(1);
      std::size_t part = 0;
      while (part < kParts.size() && name != kParts[part].name) ++part;
      if (id >= weights.size() || part == kParts.size() || !fits(graph.layers()[id], part, shape))
        throw damaged(fmt::format("'{}' of layer {} does not fit the graph", name, id));
      torch::Tensor tensor = torch::empty(shape);
      if (tensor.nbytes() > bytes.size()) throw damaged("tensors are cut");
      std::memcpy(tensor.data_ptr(), bytes.data(), tensor.nbytes());
      bytes.remove_prefix(tensor.nbytes());
      weights[id].*kParts[part].tensor = std::move(tensor);
    }
  } catch (const nlohmann::json::exception& error) {
    throw damaged(plain_error(error));
  }
  if (!bytes.empty()) throw damaged("more bytes than tensors");
  for (std::size_t id = 0; id < weights.size(); ++id)
    for (std::size_t part = 0; part < kParts.size(); ++part)
      if (!shape_of(graph.layers()[id], part).empty() &&
          !(weights[id].*kParts[part].tensor).defined())
        throw damaged(fmt::format("'{}' of layer {} is missing", kParts[part].name, id));
  return weights;
}

}  // namespace assay::train
