#include "launch/modelarts/stop_job.h"

#include <ranges>

#include <fmt/format.h>

#include "launch/cloud/cloud_connection.h"
#include "launch/cloud/cloud_job_state.h"
#include "launch/modelarts/modelarts_jobs.h"

namespace assay::launch {

namespace {

std::string stop_one(ModelArtsJobs& service, const std::string& name,
                     const cloud::TrainingJob& job) {
  const std::size_t slash = job.id.find('/');  // JOB/VERSION in the interface v1
  const std::string line = fmt::format(
      "jobname:{} jobid:{} preversionid:{} jobstatus:{} ", name, job.id.substr(0, slash),
      slash == std::string::npos ? "None" : job.id.substr(slash + 1), job.phase_text);
  if (cloud::has_ended(job.phase)) return line + "no need stop\n";
  service.stop(job.id, {});
  return line + "stop status:{'is_success': True}\n";
}

/// The services of a package's configuration.
struct Connection {
  explicit Connection(const plan::ModelArtsOptions& options)
      : client(read_transfer_settings(options.credentials).client),
        credentials(credential_source(options.credentials)),
        jobs(make_modelarts_jobs(options, client, *credentials)) {}

  http::Client client;
  std::unique_ptr<cloud::CredentialSource> credentials;
  std::unique_ptr<ModelArtsJobs> jobs;
};

}  // namespace

std::string stop_cloud_jobs(const store::RunDir& run) {
  const plan::Plan& plan = run.plan();
  const auto& options = std::get<plan::ModelArtsOptions>(plan.cluster.options);
  Connection connection(options);
  std::string out;
  for (const plan::CasePlan& plan_case : plan.cases | std::views::reverse)
    for (int round = plan_case.rounds(); round >= 1; --round)
      if (const auto state = load_job_state(run.round_dir(plan_case.name, round));
          state && !state->id.empty())
        out += stop_one(*connection.jobs, options.v1() ? options.job_name : state->name,
                        connection.jobs->get(state->id, {}));
  return out;
}

std::string stop_newest_job(const plan::ModelArtsOptions& options) {
  Connection connection(options);
  const auto job = connection.jobs->newest(options.job_name, {});
  if (!job) return "find no match version return\n";
  return stop_one(*connection.jobs, options.v1() ? options.job_name : job->name, *job);
}

}  // namespace assay::launch
