#include "train/planner/training_plan.h"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "core/error.h"

namespace assay::train::planner {

namespace {

// Tokens in the loss at a time: train/models never holds a whole batch's logits.
constexpr std::int64_t kLossTokens = 2048;
// A CUDA context, its libraries' workspaces, and unused parts of the allocator's blocks.
constexpr double kRuntime = 2.0 * (1LL << 30);
constexpr double kBucketBytes = 32.0 * (1LL << 20);

double share(std::int64_t ranks) noexcept {
  return static_cast<double>(ranks - 1) / static_cast<double>(ranks);
}

// For one block: the device's part of its experts.
std::int64_t expert_parameters(const LlamaOptions& model, const Mesh& mesh) noexcept {
  return 3 * model.width * model.inner * model.experts / mesh.tensor / mesh.expert;
}

// For one block without its experts, including what every tensor-parallel device has in full.
std::int64_t common_parameters(const LlamaOptions& model, const Mesh& mesh) noexcept {
  const std::int64_t whole =
      2 * model.width + (model.qk_norm ? 2 * model.head() : 0) + model.experts * model.width;
  const std::int64_t experts = 3 * model.width * model.inner * model.experts;
  return (model.block_parameters() - experts - whole) / mesh.tensor + whole;
}

std::int64_t block_parameters(const LlamaOptions& model, const Mesh& mesh) noexcept {
  return common_parameters(model, mesh) + expert_parameters(model, mesh);
}

// The MLPs that a token passes.
double mlps_of(const LlamaOptions& model) noexcept {
  return model.experts == 0 ? 1 : static_cast<double>(model.chosen);
}

// A device's parameters by who else has them: all data devices, or, for shared experts, only some
// of them.
struct SharedParameters {
  double common = 0;
  double experts = 0;
};
SharedParameters shared_parameters(const LlamaOptions& model, const Mesh& mesh) noexcept {
  SharedParameters local{static_cast<double>(local_parameters(model, mesh)), 0};
  if (mesh.expert == 1) return local;
  local.experts =
      static_cast<double>(model.layers / mesh.pipeline * expert_parameters(model, mesh));
  local.common -= local.experts;
  return local;
}

// If devices share experts, ZeRO 1 divides gradients too.
int zero_of(const Mesh& mesh) noexcept {
  return mesh.expert > 1 && mesh.zero == 1 ? 2 : mesh.zero;
}

double tokens_of(const TrainingWork& work) noexcept {
  return static_cast<double>(work.sequence * work.micro_batch);
}

}  // namespace

NumberBytes bytes_of(Numbers numbers) noexcept {
  switch (numbers) {
    case Numbers::mixed:
      return {2, 4, 8, 4, 2};
    case Numbers::bf16:
      return {2, 2, 4, 0, 2};
    case Numbers::fp32:
      break;
  }
  return {4, 4, 8, 0, 4};
}

std::int64_t TrainingWork::micro_batches(const Mesh& mesh) const noexcept {
  return global_batch == 0 ? mesh.pipeline : global_batch / (mesh.data * micro_batch);
}

std::int64_t TrainingWork::sequences(const Mesh& mesh) const noexcept {
  return micro_batches(mesh) * mesh.data * micro_batch;
}

void require_batch(const TrainingWork& work, const Mesh& mesh) {
  const std::int64_t least = mesh.data * work.micro_batch;
  if (work.global_batch % least != 0)
    throw Error(ErrorKind::config,
                fmt::format("a batch of {} sequences cannot be shared by data {} × {} at a time",
                            work.global_batch, mesh.data, work.micro_batch),
                "batch", fmt::format("use a multiple of {}", least));
}

std::int64_t local_parameters(const LlamaOptions& model, const Mesh& mesh) noexcept {
  const std::int64_t blocks = model.layers / mesh.pipeline * block_parameters(model, mesh);
  const std::int64_t embedding = model.embedding_parameters() / mesh.tensor;
  // With several stages, the first and the last have one matrix each: a tied one is in both.
  const std::int64_t ends = mesh.pipeline > 1 || model.tied ? embedding : 2 * embedding;
  return blocks + ends + model.width;
}

double kept_per_token(const LlamaOptions& model, const Mesh& mesh, Keep keep,
                      Numbers numbers) noexcept {
  // In units of the model's width: the stream and the pending addition at the start of the block;
  // at each norm the sum and the result, and attention's output. For attention: queries, keys and
  // values, and the first two rotated. Then gate and up, and their product.
  const auto width = static_cast<double>(model.width);
  const auto qkv = static_cast<double>(model.qkv());
  const auto turned = static_cast<double>((model.heads + model.kv_heads) * model.head());
  // For a mixture, all of this for each chosen expert, plus its rows before and after.
  const double mlps = mlps_of(model);
  const double inner = static_cast<double>(model.inner) * mlps;
  double elements = 2 * width;
  if (model.experts > 0 && keep != Keep::inputs) elements += 2 * width * mlps;
  if (keep == Keep::all) elements += 5 * width + qkv + turned + 3 * inner;
  if (keep == Keep::selective) elements += 3 * width + qkv + 2 * inner;
  return elements * static_cast<double>(bytes_of(numbers).activation) /
         static_cast<double>(mesh.tensor);
}

MemoryPlan memory_of(const TrainingWork& work, const Mesh& mesh, Keep keep) noexcept {
  const NumberBytes bytes = bytes_of(work.numbers);
  const SharedParameters local = shared_parameters(work.model, mesh);
  const int zero = zero_of(mesh);
  const auto of_parameters = [&](std::int64_t each, int stage) {
    const bool parts = zero >= stage;
    return static_cast<double>(each) *
           (local.common / static_cast<double>(parts ? mesh.data : 1) +
            local.experts / static_cast<double>(parts ? mesh.data / mesh.expert : 1));
  };
  MemoryPlan memory;
  // ZeRO 1 divides only the moments: all ranks update from complete weights.
  memory.optimizer = of_parameters(bytes.moments, 1) + of_parameters(bytes.master, 2);
  memory.gradients = of_parameters(bytes.gradient, 2);
  // Gradients without further additions are kept in the products' type: not the embedding's, nor
  // those of experts, nor any that follow these in memory.
  if (work.numbers == Numbers::mixed && mesh.devices() == 1 && work.micro_batches(mesh) == 1 &&
      work.model.experts == 0)
    memory.gradients -= static_cast<double>(bytes.gradient - bytes.activation) *
                        (local.common - static_cast<double>(work.model.embedding_parameters()));
  memory.weights = of_parameters(bytes.weight, 3);
  // 1F1B: the first stage starts as many micro-batches as there are stages before its first
  // backward.
  const auto in_flight = static_cast<double>(std::min(mesh.pipeline, work.micro_batches(mesh)));
  const auto layers = static_cast<double>(work.model.layers / mesh.pipeline);
  const double tokens = tokens_of(work);
  memory.activations =
      layers * in_flight * tokens * kept_per_token(work.model, mesh, keep, work.numbers);
  // The block being recomputed keeps everything.
  if (keep != Keep::all)
    memory.activations += tokens * (kept_per_token(work.model, mesh, Keep::all, work.numbers) -
                                    kept_per_token(work.model, mesh, keep, work.numbers));
  // Logits and their gradient, in fp32 and in the products' type.
  memory.logits = std::min(tokens, static_cast<double>(kLossTokens)) *
                  static_cast<double>(work.model.vocabulary / mesh.tensor) *
                  static_cast<double>(4 + bytes.activation);
  const auto block = static_cast<double>(block_parameters(work.model, mesh));
  if (mesh.data > 1) memory.buffers = 2 * kBucketBytes;
  // The computing block, the next one in transit, and a block's gradients in transit.
  if (mesh.data > 1 && mesh.zero >= 2)
    memory.buffers += block * static_cast<double>(bytes.gradient);
  if (mesh.data > 1 && mesh.zero == 3)
    memory.buffers +=
        2 * block * static_cast<double>(bytes.weight) +
        static_cast<double>(work.model.embedding_parameters() / mesh.tensor * bytes.weight);
  memory.runtime = kRuntime;
  return memory;
}

double StepPlan::step_s() const noexcept {
  return std::max(compute_s + tensor_s + expert_s + bubble_s, std::max(data_s, pipeline_s));
}

bool StepPlan::network_bound() const noexcept {
  const double exposed = tensor_s + expert_s;
  return exposed > compute_s || std::max(data_s, pipeline_s) > compute_s + exposed + bubble_s;
}

double StepPlan::mfu(const Cluster& cluster) const noexcept {
  return flops / step_s() / cluster.flops;
}

StepPlan step_of(const TrainingWork& work, const Mesh& mesh, Keep keep,
                 const Cluster& cluster) noexcept {
  const NumberBytes bytes = bytes_of(work.numbers);
  const auto micro = static_cast<double>(work.micro_batches(mesh));
  const auto devices_a_replica = static_cast<double>(mesh.tensor * mesh.pipeline);
  StepPlan step;
  step.tokens = static_cast<double>(work.sequences(mesh) * work.sequence);
  step.flops = work.model.flops_per_token(work.sequence) * step.tokens /
               static_cast<double>(mesh.data) / devices_a_replica;
  // Forward is a third of it; recomputation is the blocks' forward, or almost nothing.
  const double again = keep == Keep::inputs ? 1.0 / 3 : 0;
  step.compute_s = step.flops * (1 + again) / (cluster.flops * cluster.efficiency);

  const auto layers = static_cast<double>(work.model.layers / mesh.pipeline);
  // The bytes that devices with the same parameters send each other.
  const auto sent = [&](double parameters, std::int64_t devices) {
    const double gradients = parameters * static_cast<double>(bytes.gradient);
    const double weights = parameters * static_cast<double>(bytes.weight);
    switch (zero_of(mesh)) {
      case 0:
        return share(devices) * 2 * gradients;
      case 1:
        return share(devices) * (gradients + weights);
      // Shares of gradients and weights are gathered and scattered in each micro-batch.
      case 2:
        return share(devices) * (micro * gradients + weights);
      default:
        return share(devices) * micro * (gradients + 2 * weights);
    }
  };
  const SharedParameters local = shared_parameters(work.model, mesh);
  step.data_bytes = sent(local.common, mesh.data) + sent(local.experts, mesh.data / mesh.expert);

  // With sequence parallelism, forward gathers before and scatters after attention and the MLP;
  // backward does the same, and gathers again for the weights' gradients.
  const double block = tokens_of(work) * static_cast<double>(work.model.width) *
                       static_cast<double>(bytes.activation);
  const double passes = keep == Keep::inputs ? 14 : 10;
  step.tensor_bytes = share(mesh.tensor) * layers * micro * passes * block;
  // A token's row goes to each of its experts and back, and so does its gradient.
  step.expert_bytes = share(mesh.expert) * layers * micro * (keep == Keep::inputs ? 6 : 4) *
                      mlps_of(work.model) * block;
  if (mesh.pipeline > 1) step.pipeline_bytes = 2 * micro * block / static_cast<double>(mesh.tensor);

  const auto bandwidth = [&](std::int64_t span) {
    return span <= cluster.per_node ? cluster.node_bandwidth : cluster.network_bandwidth;
  };
  step.tensor_s = step.tensor_bytes / bandwidth(mesh.tensor);
  step.expert_s = step.expert_bytes / bandwidth(mesh.tensor * mesh.expert);
  step.data_s = mesh.data > 1 ? step.data_bytes / bandwidth(mesh.tensor * mesh.data) : 0;
  step.pipeline_s = mesh.pipeline > 1 ? step.pipeline_bytes / bandwidth(mesh.devices()) : 0;
  step.bubble_s = (step.compute_s + step.tensor_s + step.expert_s) *
                  static_cast<double>(mesh.pipeline - 1) / micro;
  return step;
}

Plan plan_of(const TrainingWork& work, const Mesh& mesh, Keep keep,
             const Cluster& cluster) noexcept {
  Plan plan{mesh, keep, memory_of(work, mesh, keep), step_of(work, mesh, keep, cluster), false};
  plan.fits = plan.memory.total() <= cluster.memory;
  return plan;
}

namespace {

// Visits, in no particular order, the meshes of this many devices that divide the model, the batch
// and a sequence, until `visit` returns false.
template <class Visit>
void each_mesh(const TrainingWork& work, std::int64_t devices, const Cluster& cluster,
               const Visit& visit) {
  const auto try_mesh = [&](Mesh mesh) {
    const bool divides =
        work.global_batch == 0 || work.global_batch % (mesh.data * work.micro_batch) == 0;
    if (!divides) return true;
    for (mesh.zero = 0; mesh.zero <= (mesh.data > 1 ? 3 : 0); ++mesh.zero)
      if (zero_of(mesh) == mesh.zero && !visit(mesh)) return false;
    return true;
  };
  const LlamaOptions& model = work.model;
  for (std::int64_t tensor = 1; tensor <= std::min(cluster.per_node, model.kv_heads); ++tensor) {
    const bool shares = devices % tensor == 0 && model.heads % tensor == 0 &&
                        model.kv_heads % tensor == 0 && model.inner % tensor == 0 &&
                        model.vocabulary % tensor == 0 && work.sequence % tensor == 0;
    if (!shares) continue;
    for (std::int64_t pipeline = 1; pipeline <= model.layers; ++pipeline) {
      if (devices % (tensor * pipeline) != 0 || model.layers % pipeline != 0) continue;
      const std::int64_t data = devices / (tensor * pipeline);
      if (!try_mesh({data, tensor, pipeline, 0})) return;
      for (std::int64_t expert = 2; expert <= std::min(data, model.experts); ++expert)
        if (data % expert == 0 && model.experts % expert == 0 &&
            !try_mesh({data, tensor, pipeline, 0, expert}))
          return;
    }
  }
}

bool fits(const TrainingWork& work, std::int64_t devices, const Cluster& cluster,
          std::optional<Keep> wanted) {
  bool found = false;
  each_mesh(work, devices, cluster, [&](const Mesh& mesh) {
    for (const Keep keep : enum_values<Keep>())
      if ((!wanted || keep == *wanted) && memory_of(work, mesh, keep).total() <= cluster.memory)
        found = true;
    return !found;
  });
  return found;
}

}  // namespace

std::vector<Plan> all_plans(const TrainingWork& work, std::int64_t devices,
                            const Cluster& cluster) {
  std::vector<Plan> plans;
  each_mesh(work, devices, cluster, [&](const Mesh& mesh) {
    for (const Keep keep : enum_values<Keep>()) plans.push_back(plan_of(work, mesh, keep, cluster));
    return true;
  });
  const auto order = [](const Plan& plan) {
    // If none fits, the smallest is first. Steps are compared per token, because batches differ.
    const double cost = plan.fits ? plan.step.step_s() / plan.step.tokens : plan.memory.total();
    return std::tuple(!plan.fits, cost, plan.mesh.tensor, plan.mesh.pipeline, plan.mesh.zero,
                      plan.keep);
  };
  std::ranges::sort(plans, {}, order);
  return plans;
}

std::int64_t devices_that_fit(const TrainingWork& work, std::int64_t devices,
                              const Cluster& cluster, std::optional<Keep> keep) {
  constexpr std::int64_t most = 65'536;
  for (; devices <= most; ++devices)
    if (fits(work, devices, cluster, keep)) return devices;
  return 0;
}

}  // namespace assay::train::planner
