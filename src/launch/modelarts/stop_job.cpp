#include "launch/modelarts/stop_job.h"

#include <ranges>

#include <fmt/format.h>

#include "launch/modelarts/cloud_connection.h"
#include "launch/modelarts/job_state.h"

namespace assay::launch {

namespace {

std::string stop_one(CloudService& service, const JobState& state) {
  const cloud::TrainingJob job = service.get(state.id, {});
  const std::size_t slash = state.id.find('/');  // JOB/VERSION in the interface v1
  const std::string line = fmt::format(
      "jobname:{} jobid:{} preversionid:{} jobstatus:{} ", state.name, state.id.substr(0, slash),
      slash == std::string::npos ? "None" : state.id.substr(slash + 1), job.phase_text);
  if (cloud::has_ended(job.phase)) return line + "no need stop\n";
  service.stop(state.id, {});
  return line + "stop status:{'is_success': True}\n";
}

}  // namespace

std::string stop_cloud_jobs(const store::RunDir& run) {
  const plan::Plan& plan = run.plan();
  CloudConnection connection(std::get<plan::ModelArtsOptions>(plan.cluster.options));
  std::string out;
  for (const plan::CasePlan& plan_case : plan.cases | std::views::reverse)
    for (int round = plan_case.rounds(); round >= 1; --round)
      if (const auto state = load_job_state(run.round_dir(plan_case.name, round));
          state && !state->id.empty())
        out += stop_one(*connection.jobs, *state);
  return out.empty() ? "find no match version return\n" : out;
}

}  // namespace assay::launch
