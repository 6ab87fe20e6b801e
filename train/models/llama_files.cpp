#include "train/models/llama_files.h"

#include <cmath>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "core/json_access.h"
#include "core/regular_file.h"
#include "core/text.h"
#include "train/weights/reading_ahead.h"
#include "train/weights/weight_set.h"

namespace assay::train {

namespace {

namespace fs = std::filesystem;
using weights::TensorInfo;
using weights::TensorType;

torch::ScalarType scalar_type_of(TensorType type) {
  switch (type) {
    case TensorType::bf16:
      return torch::kBFloat16;
    case TensorType::f16:
      return torch::kHalf;
    case TensorType::f64:
      return torch::kDouble;
    default:
      return torch::kFloat;
  }
}

// Computed from positions rather than learned, but present in some files.
bool is_rotary_table(const std::string& name) {
  return name.ends_with(".rotary_emb.inv_freq");
}

// Whether the file contains a tied output anyway.
bool repeats_embedding(const weights::WeightSet& set, const LlamaOptions& options) {
  const auto head = set.entries().find("lm_head.weight");
  const auto embedding = set.entries().find("model.embed_tokens.weight");
  if (!options.tied || head == set.entries().end() || embedding == set.entries().end())
    return false;
  const auto a = head->second.data();
  const auto b = embedding->second.data();
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size()) == 0;
}

Json scaling_json(const LlamaOptions& options) {
  if (options.scaling.factor == 0) return nullptr;
  return {
      {"rope_type", "llama3"},
      {"factor", options.scaling.factor},
      {"low_freq_factor", options.scaling.low},
      {"high_freq_factor", options.scaling.high},
      {"original_max_position_embeddings", static_cast<std::int64_t>(options.scaling.original)}};
}

struct Architecture {
  const char* name;
  const char* type;
};

// Qwen3 is Llama with norms of each head's queries and keys before rotation, like ours.
Architecture architecture_of(const LlamaOptions& options) {
  if (options.experts > 0 && options.qk_norm)
    return {"AssayMixtralQkNormForCausalLM", "assay_mixtral_qk_norm"};
  if (options.experts > 0) return {"MixtralForCausalLM", "mixtral"};
  if (options.qk_norm) return {"Qwen3ForCausalLM", "qwen3"};
  return {"LlamaForCausalLM", "llama"};
}

// The values of config.json that affect the weights' meaning.
Json meaning_of(const LlamaOptions& options) {
  Json meaning{{"hidden_size", options.width},
               {"intermediate_size", options.inner},
               {"num_hidden_layers", options.layers},
               {"num_attention_heads", options.heads},
               {"num_key_value_heads", options.kv_heads},
               {"head_dim", options.head()},
               {"hidden_act", "silu"},
               {"attention_bias", false},
               {"mlp_bias", false},
               {"model_type", architecture_of(options).type},
               {"vocab_size", options.vocabulary},
               {"rms_norm_eps", options.epsilon},
               {"rope_theta", options.rotary_base},
               {"rope_scaling", scaling_json(options)},
               {"tie_word_embeddings", options.tied}};
  if (options.experts > 0) {
    meaning["num_local_experts"] = options.experts;
    meaning["num_experts_per_tok"] = options.chosen;
  }
  return meaning;
}

bool same_value(const Json& a, const Json& b) {
  if (a.is_number() && b.is_number()) {
    const auto x = a.get<double>();
    const auto y = b.get<double>();
    return std::abs(x - y) <= 1e-9 * std::max(std::abs(x), std::abs(y));
  }
  if (a.is_object() && b.is_object()) {
    for (const auto& [key, value] : a.items())
      if (!b.contains(key) || !same_value(value, b[key])) return false;
    return true;
  }
  return a == b;
}

std::vector<TensorInfo> infos_of(const LlamaImpl& model, TensorType type) {
  std::vector<TensorInfo> infos;
  for (const auto& [name, tensor] : model.named_as_hugging_face())
    infos.push_back({name, type, tensor.sizes().vec()});
  return infos;
}

}  // namespace

std::string llama_config(const LlamaOptions& options, TensorType type) {
  Json json{{"architectures", Json::array({architecture_of(options).name})},
            {"max_position_embeddings", options.scaling.factor > 0 ? 131'072 : 8192},
            {"torch_dtype", type == TensorType::bf16 ? "bfloat16" : "float32"}};
  if (options.experts > 0) json["router_aux_loss_coef"] = options.balance;
  json.update(meaning_of(options));
  return dump_pretty(json);
}

void require_llama_config(const fs::path& folder, const LlamaOptions& options,
                          std::int64_t sequence) {
  const fs::path path = folder / "config.json";
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return;
  const Json config = parse_json(read_plain_file(path), path.string());
  if (!config.is_object())
    throw Error(ErrorKind::environment, "expected an object", path.string(),
                "copy the model's files again");
  std::vector<std::string> differences;
  // Older files omit values that were the defaults of their time.
  const Json defaults{{"head_dim", options.head()},
                      {"hidden_act", "silu"},
                      {"attention_bias", false},
                      {"mlp_bias", false},
                      {"model_type", architecture_of(options).type},
                      {"rope_theta", 10'000.0},
                      {"rope_scaling", nullptr},
                      {"tie_word_embeddings", false},
                      {"num_key_value_heads", member_at(config, "num_attention_heads")}};
  const Json meaning = meaning_of(options);
  for (const auto& [key, own] : meaning.items()) {
    const bool said = config.contains(key) && !(config[key].is_null() && key == "head_dim");
    const Json& given = said ? config[key] : member_at(defaults, key.c_str());
    // Mistral is Llama with a window, which is checked below.
    if (key == "model_type" && own == "llama" && given == "mistral") continue;
    if (!same_value(own, given))
      differences.push_back(
          fmt::format("{} is {}, the model's {}", key, printable(given.dump()), own.dump()));
  }
  const Json& window = member_at(config, "sliding_window");
  const bool used = !config.contains("use_sliding_window") || config["use_sliding_window"] != false;
  if (used && window.is_number() && window.get<double>() < static_cast<double>(sequence))
    differences.push_back(
        fmt::format("sliding_window is {}, the model's attention sees all {} tokens of a sequence",
                    window.dump(), sequence));
  if (!differences.empty())
    throw Error(ErrorKind::environment,
                "these weights are of another model:\n  " + join(differences, "\n  "),
                path.string(), "give the weights of this model, or the model of these weights");
}

void load_llama(LlamaImpl& model, const fs::path& path, std::int64_t sequence) {
  std::error_code ignored;
  require_llama_config(fs::is_directory(path, ignored) ? path : path.parent_path(), model.options(),
                       sequence);
  const weights::WeightSet set(path);
  set.require(infos_of(model, TensorType::f32), [&](const std::string& name) {
    return is_rotary_table(name) ||
           (name == "lm_head.weight" && repeats_embedding(set, model.options()));
  });
  torch::NoGradGuard no_grad;
  auto parameters = model.named_as_hugging_face();
  std::vector<std::span<const std::byte>> pieces;
  for (const auto& [name, tensor] : parameters) pieces.push_back(set.entries().at(name).data());
  weights::ReadingAhead ahead(std::move(pieces));
  for (auto& [name, tensor] : parameters) {
    const weights::WeightSet::Entry& entry = set.entries().at(name);
    const std::span<const std::byte> data = entry.data();
    const torch::ScalarType type = scalar_type_of(entry.info().type);
    // Uses our own aligned memory if the file's is not aligned.
    torch::Tensor source;
    if (reinterpret_cast<std::uintptr_t>(data.data()) % 8 == 0) {
      source = torch::from_blob(const_cast<std::byte*>(data.data()), tensor.sizes(), type);
    } else {
      source = torch::empty(tensor.sizes(), type);
      std::memcpy(source.data_ptr(), data.data(), data.size());
    }
    // Copied to the device unchanged and converted there, which halves the transfer.
    tensor.copy_(source.to(tensor.device()));
    ahead.used(data.size());
  }
}

std::uint32_t checksum_of_weights(const fs::path& path) {
  return weights::WeightSet(path).checksum();
}

void require_export_folder(const fs::path& folder) {
  std::error_code ignored;
  for (const char* const name : {"model.safetensors", "model.safetensors.index.json"})
    if (fs::exists(folder / name, ignored))
      throw Error(ErrorKind::config, "there are weights already", (folder / name).string(),
                  "give another folder for 'export'");
  make_directories(folder);
  const fs::path trial = folder / ".trial";
  write_file_atomic(trial, "", false);
  fs::remove(trial, ignored);
}

void save_llama(const LlamaImpl& model, const fs::path& folder, TensorType type,
                std::int64_t shard_bytes) {
  torch::NoGradGuard no_grad;
  const std::vector<std::pair<std::string, torch::Tensor>> named = model.named_as_hugging_face();
  torch::Tensor held;  // the bytes being written
  make_directories(folder);
  write_file_atomic(folder / "config.json", llama_config(model.options(), type));
  weights::write_weights(
      folder, infos_of(model, type),
      [&](std::size_t i) {
        held = named[i].second.to(torch::kCPU, scalar_type_of(type)).contiguous();
        return std::span<const std::byte>(static_cast<const std::byte*>(held.data_ptr()),
                                          held.nbytes());
      },
      shard_bytes, false);
}

}  // namespace assay::train
