#include <algorithm>
#include <cstdio>
#include <functional>
#include <optional>

#include <fmt/format.h>

#include "arguments.h"
#include "core/error.h"
#include "core/json.h"
#include "core/text.h"
#include "core/units.h"
#include "train/planner/plan_text.h"
#include "train_commands.h"

namespace assay::train {

namespace {

using namespace planner;

constexpr std::int64_t kLeastSequence = 8;  // in tokens

const CommandHelp& plan_help() {
  static const CommandHelp help{
      "plan",
      "MODEL",
      "Says whether a training fits the memory of so many devices, what of it needs how much, "
      "what\n"
      "a step sends, and what bounds it. Without --mesh it tries all of them and shows the best.\n"
      "MODEL is llama-1b, llama-8b, llama-70b, moe-4b, ...",
      {{"--devices", "N", "default 1"},
       {"--memory", "SIZE", "of a device (default 80G)"},
       {"--mesh", "MESH", "data=8,tensor=4,pipeline=2,expert=1,zero=3"},
       {"--sequence", "TOKENS", "of a sequence (default 8192)"},
       {"--micro-batch", "N", "sequences of a device at a time (default 1)"},
       {"--batch", "N", "sequences of a step (default: about 4 M tokens)"},
       {"--recompute", "WHAT", "none, selective or full; default: the best that fits"},
       {"--numbers", "HOW", "mixed (bf16, optimizer in fp32; default), bf16 or fp32"},
       {"--flops", "F", "of a device, in TFLOP/s (default 989.4)"},
       {"--efficiency", "SHARE", "of them that products reach (default 0.6)"},
       {"--node", "N", "devices of a node (default 8)"},
       {"--node-bandwidth", "B", "GB/s of a device within its node (default 400)"},
       {"--network-bandwidth", "B", "GB/s of a device between nodes (default 45)"},
       {"--format", "FORMAT", "text or json"}},
      {"assay-train plan llama-70b --devices 64 --memory 80G",
       "assay-train plan llama-8b --devices 8 --mesh data=8,zero=3 --recompute full",
       "assay-train plan moe-4b --devices 8 --mesh data=8,expert=8",
       "assay-train plan llama-70b --devices 512 --network-bandwidth 25 --format json"}};
  return help;
}

LlamaOptions model_of(const std::string& name) {
  std::vector<std::string> known;
  for (const std::string& size : LlamaOptions::sizes())
    known.push_back(size.starts_with("moe-") ? size : "llama-" + size);
  for (std::size_t i = 0; i < known.size(); ++i)
    if (name == known[i]) return LlamaOptions::named(LlamaOptions::sizes()[i]);
  throw Error(
      ErrorKind::usage,
      fmt::format("there is no plan for '{}'{}", printable(name), did_you_mean(name, known)), {},
      "known models: " + join(known, ", "));
}

Cluster cluster_of(const Arguments& arguments) {
  Cluster cluster;
  const std::string memory = arguments.text("--memory", "80G");
  const auto bytes = parse_size(memory);
  if (!bytes || *bytes == 0)
    arguments.wrong(fmt::format("--memory: not a valid size: '{}'", printable(memory)));
  cluster.memory = static_cast<double>(*bytes);
  cluster.flops = 1e12 * arguments.number("--flops", cluster.flops / 1e12, 0.001, 1e9);
  cluster.efficiency = arguments.number("--efficiency", cluster.efficiency, 0.01, 1);
  cluster.per_node = arguments.integer("--node", cluster.per_node, 1, 1024);
  cluster.node_bandwidth =
      1e9 * arguments.number("--node-bandwidth", cluster.node_bandwidth / 1e9, 0.001, 1e6);
  cluster.network_bandwidth =
      1e9 * arguments.number("--network-bandwidth", cluster.network_bandwidth / 1e9, 0.001, 1e6);
  return cluster;
}

TrainingWork work_of(const Arguments& arguments, std::int64_t devices) {
  constexpr std::int64_t tokens = 4 << 20;
  TrainingWork work;
  work.model = model_of(arguments.operands()[0]);
  work.sequence = arguments.integer("--sequence", 8192, kLeastSequence, 1 << 24);
  work.micro_batch = arguments.integer("--micro-batch", 1, 1, 1 << 20);
  const std::int64_t least = devices * work.micro_batch;
  const std::int64_t wanted = tokens / work.sequence;
  work.global_batch = arguments.integer(
      "--batch", std::max<std::int64_t>(1, wanted / least) * least, 1, std::int64_t{1} << 40);
  work.numbers = *parse_enum<Numbers>(arguments.choice("--numbers", enum_texts<Numbers>()));
  return work;
}

}  // namespace

int run_plan(const std::vector<std::string>& given) {
  if (wants_help(plan_help(), given)) return 0;
  const Arguments arguments(plan_help(), given);
  if (arguments.operands().size() != 1) arguments.wrong("which model? One at a time");
  PlanReport report;
  report.model = arguments.operands()[0];
  report.devices = arguments.integer("--devices", 1, 1, 1'000'000);
  report.cluster = cluster_of(arguments);
  report.work = work_of(arguments, report.devices);
  std::optional<Keep> keep;
  if (arguments.has("--recompute"))
    keep = parse_enum<Keep>(arguments.choice("--recompute", enum_texts<Keep>()));
  std::optional<Mesh> mesh;
  if (arguments.has("--mesh")) {
    mesh = parse_mesh(arguments.text("--mesh"), report.devices);
    require_mesh(*mesh, report.work.model, report.devices);
    require_sequence(*mesh, report.work.sequence);
    require_batch(report.work, *mesh);
  }
  const auto plans_of = [&](const TrainingWork& work) {
    std::vector<Plan> plans;
    if (!mesh) {
      plans = all_plans(work, report.devices, report.cluster);
    } else {
      for (const Keep each : enum_values<Keep>())
        plans.push_back(plan_of(work, *mesh, each, report.cluster));
      std::ranges::stable_sort(plans, std::greater{}, &Plan::fits);
      if (!plans.front().fits) std::ranges::reverse(plans);
    }
    if (keep) std::erase_if(plans, [&](const Plan& plan) { return plan.keep != *keep; });
    return plans;
  };
  report.plans = plans_of(report.work);
  if (report.plans.empty())
    throw Error(ErrorKind::config,
                fmt::format("no mesh of {} devices can share a batch of {} sequences",
                            report.devices, report.work.global_batch),
                "batch",
                fmt::format("use a multiple of {}", report.devices * report.work.micro_batch));
  if (!report.plans.front().fits) {
    // A batch that was not requested follows the devices and the sequence.
    TrainingWork other = report.work;
    if (!arguments.has("--batch")) other.global_batch = 0;
    report.would_fit = devices_that_fit(other, report.devices, report.cluster, keep);
    other.sequence = kLeastSequence;
    const std::vector<Plan> shorter = plans_of(other);
    report.shorter_fits = !shorter.empty() && shorter.front().fits;
  }
  const bool json = arguments.choice("--format", {"text", "json"}) == "json";
  const std::string out = json ? dump_pretty(to_json(report)) : to_text(report);
  std::fputs(out.c_str(), stdout);
  return report.plans.front().fits ? 0 : exit_code(ErrorKind::environment);
}

}  // namespace assay::train
