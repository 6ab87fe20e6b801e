// The models against independent implementations: torchvision's ResNet, PyTorch's own
// TransformerEncoderLayer and a Llama written from its description, with the same weights. Skipped
// when Python has no torch.
#include <fstream>

#include <gtest/gtest.h>

#include "core/files.h"
#include "core/json.h"
#include "core/subprocess.h"
#include "needs.h"
#include "temporary_folder.h"
#include "train/models/bert.h"
#include "train/models/llama.h"
#include "train/models/resnet.h"

namespace assay::train {
namespace {

CommandResult run_python(const std::string& python, const std::string& script,
                         const std::vector<std::string>& arguments) {
  std::vector<std::string> argv{python, "-c", script};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  CommandOptions options;
  options.timeout = std::chrono::seconds(100);
  return run_command(argv, options);
}

// Tensors as raw float32 files in `folder`, named as in the module.
void write(const std::filesystem::path& folder, const std::string& name, const torch::Tensor& t) {
  const torch::Tensor data = t.detach().to(torch::kFloat).contiguous();
  std::ofstream file(folder / name, std::ios::binary);
  file.write(reinterpret_cast<const char*>(data.data_ptr<float>()),
             static_cast<std::streamsize>(data.numel() * 4));
  ASSERT_TRUE(file.good());
}

torch::Tensor read(const std::filesystem::path& path, std::vector<std::int64_t> shape) {
  const std::string bytes = read_file(path);
  torch::Tensor out = torch::empty(shape);
  if (static_cast<std::size_t>(out.numel()) * 4 != bytes.size())
    throw std::runtime_error("size of " + path.string());
  std::memcpy(out.data_ptr<float>(), bytes.data(), bytes.size());
  return out;
}

// A norm that does nothing hides mistakes: give all of them weights and statistics of their own.
void disturb(torch::nn::Module& module) {
  torch::NoGradGuard no_grad;
  for (auto& item : module.named_parameters())
    if (item.value().dim() == 1) item.value().add_(torch::rand_like(item.value()), 0.2);
  for (auto& item : module.named_buffers())
    if (item.value().is_floating_point()) item.value().add_(torch::rand_like(item.value()), 0.2);
}

const char* const kResNetScript = R"(
import sys, os, numpy as np, torch, torchvision
folder, depth = sys.argv[1], sys.argv[2]
torch.manual_seed(0)
model = getattr(torchvision.models, "resnet" + depth)()
state = model.state_dict()
for name in state:
    if name.endswith("num_batches_tracked"): continue
    data = np.fromfile(os.path.join(folder, name), dtype=np.float32)
    state[name] = torch.from_numpy(data).reshape(state[name].shape)
model.load_state_dict(state)
x = torch.from_numpy(np.fromfile(os.path.join(folder, "x"), dtype=np.float32)).reshape(2, 3, 64, 64)
model.eval()
with torch.no_grad(): model(x).numpy().tofile(os.path.join(folder, "y_eval"))
model.train()
y = model(x)
y.detach().numpy().tofile(os.path.join(folder, "y_train"))
loss = torch.nn.functional.cross_entropy(y, torch.tensor([1, 5]), label_smoothing=0.1)
loss.backward()
model.conv1.weight.grad.numpy().tofile(os.path.join(folder, "g_conv1"))
model.fc.weight.grad.numpy().tofile(os.path.join(folder, "g_fc"))
)";

class PythonResNetTest : public ::testing::TestWithParam<int> {};

TEST_P(PythonResNetTest, GivesTorchvisionsOutputsAndGradients) {
  const std::string python = needs::python_with("numpy, torch, torchvision");
  if (python.empty()) GTEST_SKIP() << needs::package("python3-torch python3-torchvision");
  torch::manual_seed(7);
  const assay::testing::TemporaryFolder folder;
  ResNet model(ResNetOptions::imagenet(GetParam()));
  disturb(*model);
  for (const auto& item : model->named_parameters()) write(folder.path(), item.key(), item.value());
  for (const auto& item : model->named_buffers()) write(folder.path(), item.key(), item.value());
  const torch::Tensor x = torch::randn({2, 3, 64, 64});
  write(folder.path(), "x", x);
  const CommandResult result =
      run_python(python, kResNetScript, {folder.path().string(), std::to_string(GetParam())});
  ASSERT_TRUE(result.status.ok()) << result.err;

  model->eval();
  {
    torch::NoGradGuard no_grad;
    EXPECT_TRUE(
        torch::allclose(model->forward(x), read(folder.path() / "y_eval", {2, 1000}), 1e-3, 1e-3));
  }
  model->train();
  const torch::Tensor y = model->forward(x);
  EXPECT_TRUE(torch::allclose(y, read(folder.path() / "y_train", {2, 1000}), 1e-3, 1e-3));
  torch::nn::functional::cross_entropy(
      y, torch::tensor({std::int64_t{1}, std::int64_t{5}}),
      torch::nn::functional::CrossEntropyFuncOptions().label_smoothing(0.1))
      .backward();
  const auto named = model->named_parameters();
  const auto near = [&](const std::string& name, const std::string& file) {
    const torch::Tensor mine = named[name].grad();
    const torch::Tensor other = read(folder.path() / file, mine.sizes().vec());
    return ((mine - other).norm() / other.norm()).item<double>();
  };
  EXPECT_LT(near("fc.weight", "g_fc"), 1e-3);
  EXPECT_LT(near("conv1.weight", "g_conv1"), 1e-2);
}

INSTANTIATE_TEST_SUITE_P(Depths, PythonResNetTest, ::testing::Values(18, 50));

const char* const kBertScript = R"(
import sys, os, math, numpy as np, torch
import torch.nn.functional as F
folder = sys.argv[1]
def load(name, *shape):
    return torch.from_numpy(np.fromfile(os.path.join(folder, name), dtype=np.float32)).reshape(shape)
V, L, H, A, I, B, S, P = 50, 2, 128, 2, 512, 3, 8, 16
words = load("words.weight", V, H).requires_grad_()
x = words[load("tokens", B, S).long()] + load("segments.weight", 2, H)[load("segs", B, S).long()]
x = x + load("positions.weight", P, H)[:S]
x = F.layer_norm(x, (H,), load("norm.weight", H), load("norm.bias", H), 1e-12)
lengths = load("lengths", B).long()
padding = torch.arange(S)[None, :] >= lengths[:, None]
for i in range(L):
    p = "layers.%d." % i
    layer = torch.nn.TransformerEncoderLayer(H, A, I, dropout=0.0, activation="gelu",
        layer_norm_eps=1e-12, batch_first=True, norm_first=False)
    layer.load_state_dict({
        "self_attn.in_proj_weight": load(p + "qkv.weight", 3 * H, H),
        "self_attn.in_proj_bias": load(p + "qkv.bias", 3 * H),
        "self_attn.out_proj.weight": load(p + "out.weight", H, H),
        "self_attn.out_proj.bias": load(p + "out.bias", H),
        "linear1.weight": load(p + "up.weight", I, H), "linear1.bias": load(p + "up.bias", I),
        "linear2.weight": load(p + "down.weight", H, I), "linear2.bias": load(p + "down.bias", H),
        "norm1.weight": load(p + "norm1.weight", H), "norm1.bias": load(p + "norm1.bias", H),
        "norm2.weight": load(p + "norm2.weight", H), "norm2.bias": load(p + "norm2.bias", H)})
    layer.train()
    x = layer(x, src_key_padding_mask=padding)
pooled = torch.tanh(F.linear(x[:, 0], load("pooler.weight", H, H), load("pooler.bias", H)))
nsp = F.linear(pooled, load("next.weight", 2, H), load("next.bias", 2))
picked = x.reshape(B * S, H)[load("picked", 4).long()]
t = F.gelu(F.linear(picked, load("transform.weight", H, H), load("transform.bias", H)))
t = F.layer_norm(t, (H,), load("transform_norm.weight", H), load("transform_norm.bias", H), 1e-12)
mlm = F.linear(t, words, load("decoder_bias", V))
mlm.detach().numpy().tofile(os.path.join(folder, "mlm"))
nsp.detach().numpy().tofile(os.path.join(folder, "nsp"))
loss = F.cross_entropy(mlm, torch.tensor([3, 1, 4, 1])) + F.cross_entropy(nsp, torch.tensor([0, 1, 1]))
loss.backward()
words.grad.numpy().tofile(os.path.join(folder, "g_words"))
)";

TEST(PythonBertTest, GivesTheOutputsAndGradientsOfPyTorchsEncoderLayers) {
  const std::string python = needs::python_with("numpy, torch");
  if (python.empty()) GTEST_SKIP() << needs::package("python3-torch");
  torch::manual_seed(8);
  const assay::testing::TemporaryFolder folder;
  BertOptions options = BertOptions::named("tiny");
  options.vocabulary = 50;
  options.positions = 16;
  options.dropout = 0;
  Bert model(options);
  disturb(*model);
  for (const auto& item : model->named_parameters()) write(folder.path(), item.key(), item.value());
  BertInput input;
  input.tokens = torch::randint(0, 50, {3, 8}, torch::kLong);
  input.segments = torch::randint(0, 2, {3, 8}, torch::kLong);
  input.picked = torch::tensor(std::vector<std::int64_t>{1, 4, 9, 20});
  const torch::Tensor lengths = torch::tensor(std::vector<std::int64_t>{8, 5, 7});
  input.mask = torch::zeros({3, 1, 1, 8});
  input.mask[1][0][0].slice(0, 5, 8).fill_(-1e9);
  input.mask[2][0][0].slice(0, 7, 8).fill_(-1e9);
  write(folder.path(), "tokens", input.tokens);
  write(folder.path(), "segs", input.segments);
  write(folder.path(), "picked", input.picked);
  write(folder.path(), "lengths", lengths);
  const CommandResult result = run_python(python, kBertScript, {folder.path().string()});
  ASSERT_TRUE(result.status.ok()) << result.err;

  const BertOutput output = model->forward(input);
  EXPECT_TRUE(torch::allclose(output.words, read(folder.path() / "mlm", {4, 50}), 1e-3, 1e-4));
  EXPECT_TRUE(torch::allclose(output.next, read(folder.path() / "nsp", {3, 2}), 1e-3, 1e-4));
  const torch::Tensor loss =
      torch::cross_entropy_loss(output.words,
                                torch::tensor(std::vector<std::int64_t>{3, 1, 4, 1})) +
      torch::cross_entropy_loss(output.next, torch::tensor(std::vector<std::int64_t>{0, 1, 1}));
  loss.backward();
  const torch::Tensor mine = model->named_parameters()["words.weight"].grad();
  const torch::Tensor other = read(folder.path() / "g_words", {50, 128});
  EXPECT_LT(((mine - other).norm() / other.norm()).item<double>(), 1e-3);
}

// Rotation as a product of complex numbers, attention head by head: nothing as in the model here.
const char* const kLlamaScript = R"(
import sys, os, math, json, numpy as np, torch
import torch.nn.functional as F
folder = sys.argv[1]
o = json.loads(sys.argv[2])
V, L, W, H, K, I, B, S = (o[k] for k in ("V", "L", "W", "H", "K", "I", "B", "S"))
D = W // H
def load(name, *shape):
    t = torch.from_numpy(np.fromfile(os.path.join(folder, name), dtype=np.float32)).reshape(shape)
    return t.double()
weights = {}
def weight(name, *shape):
    weights[name] = load(name + ".weight", *shape).requires_grad_()
    return weights[name]
def norm(x, w): return x * torch.rsqrt((x ** 2).mean(-1, keepdim=True) + 1e-5) * w
frequencies = []
for i in range(D // 2):
    f = 500000.0 ** (-2 * i / D)
    if o["factor"]:
        wave = 2 * math.pi / f
        if wave > 8192: f = f / o["factor"]
        elif wave >= 2048:
            smooth = (8192 / wave - 1) / 3
            f = (1 - smooth) * f / o["factor"] + smooth * f
    frequencies.append(f)
angles = torch.arange(S).double()[:, None] * torch.tensor(frequencies).double()[None, :]
turns = torch.polar(torch.ones_like(angles), angles)
def rotary(x):  # [S, D]
    z = torch.complex(x[:, : D // 2], x[:, D // 2 :]) * turns
    return torch.cat([z.real, z.imag], -1)
tokens = load("tokens", B, S).long()
embedding = weight("model.embed_tokens", V, W)
x = embedding[tokens]
balance = 0
mask = torch.full((S, S), -math.inf).double().triu(1)
for l in range(L):
    p = "model.layers.%d." % l
    y = norm(x, weight(p + "input_layernorm", W))
    q = F.linear(y, weight(p + "self_attn.q_proj", H * D, W))
    k = F.linear(y, weight(p + "self_attn.k_proj", K * D, W))
    v = F.linear(y, weight(p + "self_attn.v_proj", K * D, W))
    if o["qk_norm"]:
        qw, kw = weight(p + "self_attn.q_norm", D), weight(p + "self_attn.k_norm", D)
    out = torch.zeros(B, S, W).double()
    rows = []
    for b in range(B):
        heads = []
        for h in range(H):
            g = h // (H // K)
            qh, kh = q[b, :, h * D : (h + 1) * D], k[b, :, g * D : (g + 1) * D]
            if o["qk_norm"]: qh, kh = norm(qh, qw), norm(kh, kw)
            scores = rotary(qh) @ rotary(kh).T / math.sqrt(D) + mask
            heads.append(torch.softmax(scores, -1) @ v[b, :, g * D : (g + 1) * D])
        rows.append(torch.cat(heads, -1))
    x = x + F.linear(torch.stack(rows), weight(p + "self_attn.o_proj", W, W))
    y = norm(x, weight(p + "post_attention_layernorm", W))
    def mlp(y, gate, up, down):
        gate = F.linear(y, weight(gate, I, W))
        return F.linear(gate * torch.sigmoid(gate) * F.linear(y, weight(up, I, W)), weight(down, W, I))
    if not o["E"]:
        x = x + mlp(y, p + "mlp.gate_proj", p + "mlp.up_proj", p + "mlp.down_proj")
        continue
    # All experts of all tokens; those that are not chosen count 0.
    m = p + "block_sparse_moe."
    chances = torch.softmax(F.linear(y, weight(m + "gate", o["E"], W)), -1)
    limit = chances.sort(-1, descending=True).values[..., o["C"] - 1 : o["C"]]
    chosen = (chances >= limit).double()
    shares = chances * chosen / (chances * chosen).sum(-1, keepdim=True)
    for e in range(o["E"]):
        names = [m + "experts.%d.w%d" % (e, i) for i in (1, 3, 2)]
        x = x + shares[..., e : e + 1] * mlp(y, *names)
    use = chosen[:, :-1].mean(1) / o["C"]
    balance = balance + (o["E"] * use.detach() * chances[:, :-1].mean(1)).sum(1).mean()
y = norm(x, weight("model.norm", W))
logits = F.linear(y, embedding if o["tied"] else weight("lm_head", V, W))
logits.detach().float().numpy().tofile(os.path.join(folder, "logits"))
loss = F.cross_entropy(logits[:, :-1].reshape(-1, V), tokens[:, 1:].reshape(-1))
(loss + o["balance"] * balance).backward()
for name, w in weights.items():
    w.grad.float().numpy().tofile(os.path.join(folder, "g_" + name + ".weight"))
)";

struct LlamaCase {
  const char* name;
  bool tied;
  bool qk_norm;
  double factor;
  std::int64_t experts = 0;
};

class PythonLlamaTest : public ::testing::TestWithParam<LlamaCase> {};

TEST_P(PythonLlamaTest, GivesTheOutputsAndGradientsOfAnotherImplementation) {
  const std::string python = needs::python_with("numpy, torch");
  if (python.empty()) GTEST_SKIP() << needs::package("python3-torch");
  torch::manual_seed(9);
  const assay::testing::TemporaryFolder folder;
  LlamaOptions options;
  options.vocabulary = 50;
  options.layers = 2;
  options.width = 64;
  options.heads = 4;
  options.kv_heads = 2;
  options.inner = 96;
  options.tied = GetParam().tied;
  options.qk_norm = GetParam().qk_norm;
  options.scaling.factor = GetParam().factor;
  options.experts = GetParam().experts;
  options.balance = 0.5;  // so that its gradient shows
  Llama model(options);
  disturb(*model);
  {
    torch::NoGradGuard no_grad;
    for (torch::Tensor& p : model->parameters())
      if (p.dim() > 1) p.mul_(8);  // so that attention is not even
  }
  constexpr std::int64_t kBatch = 2;
  constexpr std::int64_t kLength = 24;
  const torch::Tensor tokens = torch::randint(0, 50, {kBatch, kLength}, torch::kLong);
  write(folder.path(), "tokens", tokens);
  for (const auto& [name, tensor] : model->named_as_hugging_face())
    write(folder.path(), name, tensor);
  const Json shape{{"V", 50},
                   {"L", 2},
                   {"W", 64},
                   {"H", 4},
                   {"K", 2},
                   {"I", 96},
                   {"B", kBatch},
                   {"S", kLength},
                   {"tied", options.tied},
                   {"qk_norm", options.qk_norm},
                   {"factor", options.scaling.factor},
                   {"E", options.experts},
                   {"C", options.chosen},
                   {"balance", options.balance}};
  const CommandResult result =
      run_python(python, kLlamaScript, {folder.path().string(), shape.dump()});
  ASSERT_TRUE(result.status.ok()) << result.err;

  const torch::Tensor other = read(folder.path() / "logits", {kBatch, kLength, 50});
  const torch::Tensor mine = model->logits(tokens).detach();
  EXPECT_LT(((mine - other).norm() / other.norm()).item<double>(), 1e-4);

  static_cast<void>(
      model->train_on(tokens.narrow(1, 0, kLength - 1), tokens.narrow(1, 1, kLength - 1), {}, 1));
  // Gradients under Hugging Face's names: the parameters are made to be them.
  {
    torch::NoGradGuard no_grad;
    for (torch::Tensor& p : model->parameters()) p.copy_(p.grad());
  }
  for (const auto& [name, gradient] : model->named_as_hugging_face()) {
    const torch::Tensor expected = read(folder.path() / ("g_" + name), gradient.sizes().vec());
    EXPECT_LT(((gradient - expected).norm() / expected.norm()).item<double>(), 1e-3) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, PythonLlamaTest,
                         ::testing::Values(LlamaCase{"Tied", true, false, 0},
                                           LlamaCase{"UntiedScaled", false, false, 32},
                                           LlamaCase{"NormedQueriesScaled", true, true, 8},
                                           LlamaCase{"Mixture", false, false, 0, 4}),
                         [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace assay::train
