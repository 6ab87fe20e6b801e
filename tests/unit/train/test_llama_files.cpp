// A Llama's weights as files of Hugging Face's: written, read, refused, and read by another reader.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/files.h"
#include "core/json.h"
#include "core/subprocess.h"
#include "error_of.h"
#include "needs.h"
#include "temporary_folder.h"
#include "train/models/llama_files.h"
#include "train/weights/weight_set.h"

namespace assay::train {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using weights::TensorType;

struct FilesCase {
  const char* name;
  bool tied;
  std::int64_t experts;
  bool qk_norm = false;
};

LlamaOptions small_llama(const FilesCase& which) {
  LlamaOptions options = LlamaOptions::named("tiny");
  options.tied = which.tied;
  options.experts = which.experts;
  options.qk_norm = which.qk_norm;
  options.scaling = {8, 1, 4, 16};  // within the test's few positions
  return options;
}

// Norms that are not all one hide no mistake.
Llama disturbed_llama(const LlamaOptions& options, std::uint64_t seed) {
  torch::manual_seed(seed);
  Llama model(options);
  torch::NoGradGuard no_grad;
  for (auto& item : model->named_parameters())
    item.value().add_(torch::rand_like(item.value()), item.value().dim() == 1 ? 0.3 : 0.02);
  return model;
}

torch::Tensor some_tokens(std::int64_t vocabulary) {
  return torch::arange(2 * 24).mul(37).remainder(vocabulary).view({2, 24});
}

class LlamaFilesTest : public ::testing::TestWithParam<FilesCase> {
 protected:
  [[nodiscard]] std::string load_refusal(LlamaImpl& model) const {
    return testing::error_of([&] {
      load_llama(model, folder_.path() / "out", 24);
      return 0;
    });
  }
  testing::TemporaryFolder folder_;
};

TEST_P(LlamaFilesTest, WhatIsWrittenIsReadBackToTheLastBit) {
  torch::NoGradGuard no_grad;
  const LlamaOptions options = small_llama(GetParam());
  Llama model = disturbed_llama(options, 1);
  save_llama(*model, folder_.path() / "out", TensorType::f32, 100'000);
  EXPECT_TRUE(std::filesystem::exists(folder_.path() / "out/model.safetensors.index.json"));
  Llama other = disturbed_llama(options, 2);
  const torch::Tensor tokens = some_tokens(options.vocabulary);
  EXPECT_FALSE(torch::equal(other->logits(tokens), model->logits(tokens)));
  load_llama(*other, folder_.path() / "out", 24);
  EXPECT_TRUE(torch::equal(other->logits(tokens), model->logits(tokens)));
}

// torch and a few lines: rotate-half, grouped heads, Llama 3's scaling, as transformers has them.
TEST_P(LlamaFilesTest, AnotherReaderHasTheSameLogits) {
  const std::string python = needs::python_with("torch, json, struct");
  if (python.empty()) GTEST_SKIP() << needs::package("python3-torch");
  torch::NoGradGuard no_grad;
  const LlamaOptions options = small_llama(GetParam());
  Llama model = disturbed_llama(options, 3);
  save_llama(*model, folder_.path() / "out", TensorType::f32, 100'000);
  const char* const script = R"(
import json, math, os, struct, sys, torch
folder = sys.argv[1]
c = json.load(open(folder + "/config.json"))
mixture = c.get("num_local_experts", 0)
normed = c["model_type"].endswith(("qwen3", "qk_norm"))
if not normed: assert c["architectures"] == ["MixtralForCausalLM" if mixture else "LlamaForCausalLM"]
elif not mixture: assert c["architectures"] == ["Qwen3ForCausalLM"]
w = {}
for name in sorted(os.listdir(folder)):
    if not name.endswith(".safetensors"): continue
    f = open(folder + "/" + name, "rb").read()
    n, = struct.unpack("<Q", f[:8])
    h = json.loads(f[8:8 + n])
    h.pop("__metadata__", None)
    for k, t in h.items():
        b, e = t["data_offsets"]
        assert t["dtype"] == "F32"
        w[k] = torch.frombuffer(bytearray(f[8 + n + b:8 + n + e]), dtype=torch.float32).view(t["shape"]).double()
H, K, W = c["num_attention_heads"], c["num_key_value_heads"], c["hidden_size"]
D = W // H
r = c["rope_scaling"]
inv = []
for i in range(0, D, 2):
    f = 1 / c["rope_theta"] ** (i / D)
    wave = 2 * math.pi / f
    low, high, old = r["low_freq_factor"], r["high_freq_factor"], r["original_max_position_embeddings"]
    if wave > old / low: f /= r["factor"]
    elif wave >= old / high:
        s = (old / wave - low) / (high - low)
        f = (1 - s) * f / r["factor"] + s * f
    inv.append(f)
V, B, S = c["vocab_size"], 2, 24
tokens = (torch.arange(B * S) * 37 % V).view(B, S)
angle = torch.outer(torch.arange(S).double(), torch.tensor(inv, dtype=torch.float64))
cos, sin = torch.cat([angle, angle], -1).cos(), torch.cat([angle, angle], -1).sin()
turn = lambda x: x * cos + torch.cat([-x[..., D // 2:], x[..., :D // 2]], -1) * sin
norm = lambda x, g: x / (x.pow(2).mean(-1, keepdim=True) + c["rms_norm_eps"]).sqrt() * g
x = w["model.embed_tokens.weight"][tokens]
for i in range(c["num_hidden_layers"]):
    p = "model.layers.%d." % i
    y = norm(x, w[p + "input_layernorm.weight"])
    part = lambda name, n: (y @ w[p + "self_attn." + name + "_proj.weight"].T).view(B, S, n, D).transpose(1, 2)
    q, k, v = part("q", H), part("k", K), part("v", K)
    if normed: q, k = norm(q, w[p + "self_attn.q_norm.weight"]), norm(k, w[p + "self_attn.k_norm.weight"])
    q, k = turn(q), turn(k)
    k, v = k.repeat_interleave(H // K, 1), v.repeat_interleave(H // K, 1)
    a = q @ k.transpose(2, 3) / math.sqrt(D)
    a = a.masked_fill(torch.ones(S, S).triu(1).bool(), -math.inf).softmax(-1)
    x = x + (a @ v).transpose(1, 2).reshape(B, S, W) @ w[p + "self_attn.o_proj.weight"].T
    y = norm(x, w[p + "post_attention_layernorm.weight"])
    def mlp(gate, up, down):
        g = y @ w[p + gate + ".weight"].T
        return (g * g.sigmoid() * (y @ w[p + up + ".weight"].T)) @ w[p + down + ".weight"].T
    if not mixture: x = x + mlp("mlp.gate_proj", "mlp.up_proj", "mlp.down_proj")
    else:
        best, which = (y @ w[p + "block_sparse_moe.gate.weight"].T).softmax(-1).topk(c["num_experts_per_tok"], -1)
        best = best / best.sum(-1, keepdim=True)
        for e in range(mixture):
            m = "block_sparse_moe.experts.%d." % e
            x = x + (best * (which == e)).sum(-1, keepdim=True) * mlp(m + "w1", m + "w3", m + "w2")
x = norm(x, w["model.norm.weight"])
head = w["model.embed_tokens.weight"] if c["tie_word_embeddings"] else w["lm_head.weight"]
open(folder + "/logits", "wb").write(struct.pack("<%dd" % (B * S * V), *(x @ head.T).flatten().tolist()))
)";
  CommandOptions how;
  how.timeout = std::chrono::seconds(100);
  const CommandResult result =
      run_command({python, "-c", script, (folder_.path() / "out").string()}, how);
  ASSERT_TRUE(result.ok()) << result.err;
  const std::string bytes = read_file(folder_.path() / "out/logits");
  torch::Tensor expected = torch::empty({2, 24, options.vocabulary}, torch::kDouble);
  ASSERT_EQ(bytes.size(), expected.nbytes());
  std::memcpy(expected.data_ptr(), bytes.data(), bytes.size());
  const torch::Tensor own = model->logits(some_tokens(options.vocabulary)).to(torch::kDouble);
  EXPECT_LT((own - expected).abs().max().item<double>(),
            1e-4 * expected.abs().max().item<double>());
}

TEST_P(LlamaFilesTest, RoundedWeightsAreRead) {
  torch::NoGradGuard no_grad;
  const LlamaOptions options = small_llama(GetParam());
  Llama model = disturbed_llama(options, 4);
  save_llama(*model, folder_.path() / "out", TensorType::bf16);
  Llama other = disturbed_llama(options, 5);
  load_llama(*other, folder_.path() / "out", 24);
  const auto a = model->named_as_hugging_face();
  const auto b = other->named_as_hugging_face();
  for (std::size_t i = 0; i < a.size(); ++i)
    EXPECT_TRUE(torch::equal(a[i].second.to(torch::kBFloat16).to(torch::kFloat), b[i].second))
        << a[i].first;
}

TEST_P(LlamaFilesTest, WeightsOfAnotherModelAreRefusedByName) {
  const LlamaOptions options = small_llama(GetParam());
  save_llama(*disturbed_llama(options, 6), folder_.path() / "out", TensorType::f32);
  LlamaOptions wider = options;
  wider.inner *= 2;
  wider.rotary_base = 10'000;
  Llama other = disturbed_llama(wider, 7);
  EXPECT_THAT(load_refusal(*other),
              AllOf(HasSubstr("config.json: these weights are of another model"),
                    HasSubstr("intermediate_size is 384, the model's 768"),
                    HasSubstr("rope_theta is 500000.0, the model's 10000.0")));
  std::filesystem::remove(folder_.path() / "out/config.json");
  EXPECT_THAT(
      load_refusal(*other),
      AllOf(HasSubstr("these weights do not fit the model"),
            HasSubstr(std::string("model.layers.0.") +
                      (options.experts > 0 ? "block_sparse_moe.experts.0.w1" : "mlp.gate_proj") +
                      ".weight is [384, 128], not [768, 128]")));
  LlamaOptions deeper = options;
  deeper.layers = 3;
  Llama third = disturbed_llama(deeper, 8);
  EXPECT_THAT(load_refusal(*third), HasSubstr("model.layers.2.input_layernorm.weight is missing"));
}

INSTANTIATE_TEST_SUITE_P(Output, LlamaFilesTest,
                         ::testing::Values(FilesCase{"Tied", true, 0},
                                           FilesCase{"Untied", false, 0},
                                           FilesCase{"Mixture", false, 4},
                                           FilesCase{"Normed", true, 0, true},
                                           FilesCase{"NormedMixture", false, 4, true}),
                         [](const auto& which) { return which.param.name; });

TEST(LlamaExportTest, AMixtureIsNotTakenForAnotherNumberOfExperts) {
  const testing::TemporaryFolder folder;
  save_llama(*disturbed_llama(small_llama({"", false, 4}), 1), folder.path() / "out",
             TensorType::f32);
  for (const std::int64_t experts : {0, 8}) {
    Llama other = disturbed_llama(small_llama({"", false, experts}), 2);
    EXPECT_THAT(testing::error_of([&] {
                  load_llama(*other, folder.path() / "out", 24);
                  return 0;
                }),
                HasSubstr(experts == 8 ? "num_local_experts is 4, the model's 8"
                                       : "model_type is \"mixtral\", the model's \"llama\""));
  }
}

class LlamaConfigTest : public ::testing::Test {
 protected:
  LlamaConfigTest() {
    save_llama(*disturbed_llama(options_, 1), folder_.path(), TensorType::f32);
    config_ = parse_json(read_file(folder_.path() / "config.json"), "config");
  }
  [[nodiscard]] std::string refusal(const std::string& key, const Json& value) const {
    Json config = config_;
    config[key] = value;
    folder_.write("config.json", config.dump());
    Llama model(options_);
    return testing::error_of([&] {
      load_llama(*model, folder_.path(), 24);
      return 0;
    });
  }
  LlamaOptions options_ = small_llama({"", true, 0});
  testing::TemporaryFolder folder_;
  Json config_;
};

TEST_F(LlamaConfigTest, WhatTheModelCannotDoIsRefusedValueByValue) {
  EXPECT_THAT(refusal("head_dim", 64), HasSubstr("head_dim is 64, the model's 32"));
  EXPECT_THAT(refusal("hidden_act", "gelu"), HasSubstr("hidden_act is \"gelu\""));
  EXPECT_THAT(refusal("model_type", "gemma2"), HasSubstr("model_type is \"gemma2\""));
  EXPECT_THAT(refusal("model_type", "qwen3"), HasSubstr("model_type is \"qwen3\""));
  EXPECT_THAT(refusal("attention_bias", true), HasSubstr("attention_bias is true"));
  EXPECT_THAT(refusal("mlp_bias", true), HasSubstr("mlp_bias is true"));
  EXPECT_THAT(refusal("sliding_window", 8), HasSubstr("sliding_window is 8"));
}

TEST_F(LlamaConfigTest, WhatMakesNoDifferenceIsTaken) {
  EXPECT_EQ(refusal("sliding_window", 24), "no error");
  EXPECT_EQ(refusal("sliding_window", nullptr), "no error");
  EXPECT_EQ(refusal("head_dim", nullptr), "no error");
  EXPECT_EQ(refusal("model_type", "mistral"), "no error");
}

TEST(LlamaExportTest, AFolderThatHasWeightsIsRefusedBeforeTheTraining) {
  const testing::TemporaryFolder folder;
  require_export_folder(folder.path() / "new");
  EXPECT_TRUE(std::filesystem::is_empty(folder.path() / "new"));
  folder.write("old/model.safetensors", "x");
  EXPECT_THAT(testing::error_of([&] {
                require_export_folder(folder.path() / "old");
                return 0;
              }),
              HasSubstr("there are weights already"));
}

}  // namespace
}  // namespace assay::train
