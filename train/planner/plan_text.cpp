#include "train/planner/plan_text.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/units.h"

namespace assay::train::planner {

namespace {

constexpr std::size_t kShown = 5;

struct Part {
  const char* name;
  double MemoryPlan::*bytes;
};
constexpr Part kParts[] = {
    {"weights", &MemoryPlan::weights},     {"gradients", &MemoryPlan::gradients},
    {"optimizer", &MemoryPlan::optimizer}, {"activations", &MemoryPlan::activations},
    {"logits", &MemoryPlan::logits},       {"buffers", &MemoryPlan::buffers},
    {"runtime", &MemoryPlan::runtime}};

std::string seconds(double value) {
  return value < 1 ? fmt::format("{:.1f} ms", 1e3 * value) : fmt::format("{:.2f} s", value);
}

std::string billions(double value) {
  return value < 1e9 ? fmt::format("{:.1f} M", value / 1e6) : fmt::format("{:.2f} B", value / 1e9);
}

std::string head_of(const PlanReport& report) {
  const LlamaOptions& model = report.work.model;
  const Plan& best = report.plans.front();
  return fmt::format(
      "{}: {} parameters{}, {} layers, width {}, {} heads ({} of keys and values), inner {}, "
      "vocabulary {}\n{} devices of {}, sequences of {}, {} a device at a time, {} a step ({:.2f} "
      "M "
      "tokens), numbers {}\n\n",
      report.model, billions(static_cast<double>(model.parameters())),
      model.experts == 0 ? std::string()
                         : fmt::format(" ({} of a token: {} of {} experts)",
                                       billions(static_cast<double>(model.active_parameters())),
                                       model.chosen, model.experts),
      model.layers, model.width, model.heads, model.kv_heads, model.inner, model.vocabulary,
      report.devices, format_bytes(report.cluster.memory), report.work.sequence,
      report.work.micro_batch, report.work.sequences(best.mesh), best.step.tokens / 1e6,
      assay::to_text(report.work.numbers));
}

std::string memory_text(const PlanReport& report) {
  const TrainingWork& work = report.work;
  const Plan& best = report.plans.front();
  std::string out = "memory of the device that needs most:\n";
  for (const Part& part : kParts)
    out += fmt::format("  {:<12} {:>11}\n", part.name, format_bytes(best.memory.*part.bytes));
  out += fmt::format("  {:<12} {:>11}  of {}\n", "all", format_bytes(best.memory.total()),
                     format_bytes(report.cluster.memory));
  out += "activations by what is computed again:\n";
  for (const Keep keep : enum_values<Keep>())
    out += fmt::format("  {:<12} {:>11}\n", assay::to_text(keep),
                       format_bytes(memory_of(work, best.mesh, keep).activations));
  return out;
}

std::string step_text(const PlanReport& report) {
  const StepPlan& step = report.plans.front().step;
  const Cluster& cluster = report.cluster;
  std::string out = "a step of a device:\n";
  out += fmt::format(
      "  compute      {:>10}  {:.1f} TFLOP of the model at {:.0f} TFLOP/s × {:.2f}\n",
      seconds(step.compute_s), step.flops / 1e12, cluster.flops / 1e12, cluster.efficiency);
  const auto line = [&](const char* name, double time, double bytes, const char* note) {
    if (bytes > 0)
      out += fmt::format("  {:<12} {:>10}  {} sent, {}\n", name, seconds(time), format_bytes(bytes),
                         note);
  };
  line("data", step.data_s, step.data_bytes, "beside compute");
  line("tensor", step.tensor_s, step.tensor_bytes, "not beside compute");
  line("expert", step.expert_s, step.expert_bytes, "not beside compute");
  line("pipeline", step.pipeline_s, step.pipeline_bytes, "beside compute");
  if (step.bubble_s > 0)
    out += fmt::format("  bubble       {:>10}  waiting for other stages (1F1B)\n",
                       seconds(step.bubble_s));
  out += fmt::format("expected: {} a step, {} tokens/s, MFU {:.3f}; bound by {}\n",
                     seconds(step.step_s()), format_number(step.tokens / step.step_s()),
                     step.mfu(cluster), step.network_bound() ? "the network" : "compute");
  return out;
}

std::string table_text(const PlanReport& report) {
  std::string out = fmt::format("{:<42} {:<11} {:>11} {:>10} {:>6}\n", "mesh", "recompute",
                                "memory", "step", "MFU");
  const std::size_t shown = std::min(kShown, report.plans.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const Plan& plan = report.plans[i];
    out += fmt::format("{:<42} {:<11} {:>11} {:>10} {:>6.3f}{}\n", plan.mesh.text(),
                       assay::to_text(plan.keep), format_bytes(plan.memory.total()),
                       seconds(plan.step.step_s()), plan.step.mfu(report.cluster),
                       plan.fits ? "" : "  does not fit");
  }
  return out;
}

Json plan_json(const Plan& plan, const Cluster& cluster) {
  Json memory;
  for (const Part& part : kParts) memory[part.name] = plan.memory.*part.bytes;
  memory["total"] = plan.memory.total();
  const StepPlan& step = plan.step;
  return {{"mesh",
           {{"data", plan.mesh.data},
            {"tensor", plan.mesh.tensor},
            {"pipeline", plan.mesh.pipeline},
            {"expert", plan.mesh.expert},
            {"zero", plan.mesh.zero}}},
          {"recompute", assay::to_text(plan.keep)},
          {"fits", plan.fits},
          {"memory_bytes", memory},
          {"tokens_per_step", step.tokens},
          {"flops_per_device", step.flops},
          {"sent_bytes",
           {{"data", step.data_bytes},
            {"tensor", step.tensor_bytes},
            {"expert", step.expert_bytes},
            {"pipeline", step.pipeline_bytes}}},
          {"seconds",
           {{"compute", step.compute_s},
            {"data", step.data_s},
            {"tensor", step.tensor_s},
            {"expert", step.expert_s},
            {"pipeline", step.pipeline_s},
            {"bubble", step.bubble_s},
            {"step", step.step_s()}}},
          {"tokens_per_s", step.tokens / step.step_s()},
          {"mfu", step.mfu(cluster)},
          {"bound", step.network_bound() ? "network" : "compute"}};
}

}  // namespace

std::string to_text(const PlanReport& report) {
  const Plan& best = report.plans.front();
  std::string out = head_of(report);
  if (best.fits) {
    out += fmt::format("fits: {}, recompute {}\n", best.mesh.text(), assay::to_text(best.keep));
  } else {
    out += fmt::format("does not fit: the nearest, {}, recompute {}, needs {} of {}\n",
                       best.mesh.text(), assay::to_text(best.keep),
                       format_bytes(best.memory.total()), format_bytes(report.cluster.memory));
    out += report.would_fit > report.devices
               ? fmt::format("{} such devices would do", report.would_fit)
               : fmt::format("devices of {} would do", format_bytes(best.memory.total()));
    out += report.shorter_fits ? "; or a shorter --sequence\n" : "\n";
  }
  out += memory_text(report) + step_text(report);
  if (report.plans.size() > 1) out += "\n" + table_text(report);
  return out;
}

Json to_json(const PlanReport& report) {
  Json plans = Json::array();
  for (std::size_t i = 0; i < std::min(kShown, report.plans.size()); ++i)
    plans.push_back(plan_json(report.plans[i], report.cluster));
  Json out{{"model", report.model},
           {"parameters", report.work.model.parameters()},
           {"active_parameters", report.work.model.active_parameters()},
           {"devices", report.devices},
           {"memory_bytes", report.cluster.memory},
           {"sequence", report.work.sequence},
           {"micro_batch", report.work.micro_batch},
           {"global_batch", report.work.sequences(report.plans.front().mesh)},
           {"numbers", assay::to_text(report.work.numbers)},
           {"fits", report.plans.front().fits},
           {"plans", plans}};
  if (!report.plans.front().fits && report.would_fit > 0)
    out["devices_that_fit"] = report.would_fit;
  return out;
}

}  // namespace assay::train::planner
