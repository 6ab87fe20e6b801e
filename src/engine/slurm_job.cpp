#include "engine/slurm_job.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/error.h"
#include "core/processors.h"
#include "core/text.h"
#include "jobs/submission.h"
#include "slurm/slurm_arguments.h"

namespace assay::engine {

namespace {

// The platform ends a job at its time, with a grace. Slurm's limit is there in case it cannot.
constexpr Nanoseconds kTimeBeyond = std::chrono::minutes(2);

/// "--gres=gpu:h200:2", or so many processors where the job's devices are processors.
std::string devices_option(int count, const std::string& type,
                           const std::vector<slurm::Node>& nodes) {
  const bool any_has_devices =
      std::ranges::any_of(nodes, [](const slurm::Node& node) { return node.devices > 0; });
  if (are_processors(type) || (type.empty() && !any_has_devices))
    return fmt::format("--cpus-per-task={}", count);
  for (const slurm::Node& node : nodes) {
    if (node.devices == 0) continue;
    if (type.empty() || (node.device_type.empty() && node.device_kind == type))
      return fmt::format("--gres={}:{}", node.device_kind, count);
    if (node.device_type == type)
      return fmt::format("--gres={}:{}:{}", node.device_kind, type, count);
  }
  throw Error(ErrorKind::environment, "no node of Slurm has devices of type " + printable(type));
}

}  // namespace

std::vector<std::string> sbatch_args(const Order& order, const SlurmTarget& target,
                                     const std::vector<slurm::Node>& nodes) {
  const jobs::Submission& submission = order.submission;
  const ExecutionFolder folder(order.folder);
  slurm::AllocationRequest request{.name = fmt::format("assay-{}", order.execution.job),
                                   .nodes = submission.nodes,
                                   .exclusive = submission.whole_nodes};
  request.plain = {
      {"partition", target.partition}, {"account", target.account}, {"qos", target.qos}};
  int devices = jobs::devices_per_node(submission);
  if (!order.placement.empty()) {
    std::vector<std::string> names;
    for (const jobs::NodeShare& share : order.placement) names.push_back(share.node);
    request.plain.emplace_back("nodelist", join(names, ","));
    request.nodes = static_cast<int>(names.size());
    devices = order.placement.front().devices;
  }
  if (devices > 0) request.extra.push_back(devices_option(devices, submission.device_type, nodes));
  if (submission.time)
    request.plain.emplace_back(
        "time",
        std::to_string(
            std::chrono::ceil<std::chrono::minutes>(submission.time->value + kTimeBeyond).count()));
  // Anybody may ask to come later; more is for Slurm's QOS to give.
  const int priority = submission.priority.value_or(jobs::kDefaultPriority);
  if (priority < jobs::kDefaultPriority)
    request.plain.emplace_back("nice", std::to_string(jobs::kDefaultPriority - priority));
  std::vector<std::string> args{
      "--no-requeue",
      // The controller has a log of its own; this one could not be opened where the folder is not.
      "--output=/dev/null", "--chdir=" + folder.work().string()};
  for (std::string& option : slurm::allocation_options(request)) args.push_back(std::move(option));
  args.push_back(batch_script_file(folder).string());
  return args;
}

std::filesystem::path batch_script_file(const ExecutionFolder& folder) {
  return folder.path() / "batch.sh";
}

std::string batch_script(const ExecutionFolder& folder, const std::filesystem::path& assay) {
  return fmt::format(R"(#!/bin/sh
# One execution of a job of `assay serve`, within its allocation.
folder={}
assay={}
cd "$folder/work" 2> /dev/null || exit {}
[ -x "$assay" ] || exit {}
exec >> "$folder/controller.log" 2>&1
controller=
early=
trap 'if [ -n "$controller" ]; then kill -s TERM "$controller"; else early=1; fi 2> /dev/null' TERM
"$assay" job-controller "$folder" &
controller=$!
[ -z "$early" ] || kill -s TERM "$controller"
wait "$controller"
code=$?
# A signal ends the waiting, not the controller.
while kill -0 "$controller" 2> /dev/null; do
  wait "$controller"
  code=$?
done
[ -e "$folder/end.json" ] || "$assay" job-controller "$folder" --sweep
exit "$code"
)",
                     shell_quote(folder.path().string()), shell_quote(assay.string()),
                     kNoFolderCode, kNoProgramCode);
}

}  // namespace assay::engine
