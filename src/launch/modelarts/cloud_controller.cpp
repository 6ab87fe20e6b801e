#include "launch/modelarts/cloud_controller.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "cloud/modelarts.h"
#include "cloud/obs.h"
#include "core/error.h"
#include "core/files.h"
#include "core/host.h"
#include "core/version.h"
#include "http/client.h"
#include "launch/modelarts/cloud_job.h"
#include "launch/modelarts/cloud_service.h"

namespace assay::launch {

namespace {

void check_code(const CloudSettings& settings, const plan::Plan& plan) {
  for (const plan::CasePlan& plan_case : plan.cases) {
    const std::filesystem::path boot = settings.code / plan_case.command.at(0);
    std::error_code ec;
    if (!std::filesystem::is_regular_file(boot, ec))
      throw Error(ErrorKind::config, "there is no boot file '" + plan_case.command.at(0) + "'",
                  settings.code.string(),
                  "the first word of the case's command is a file in cluster.modelarts.code");
    cloud::check(job_spec(plan, plan_case, job_name(settings, plan, plan_case, 1, 0)));
  }
}

/// The flavor's devices decide how many ranks an instance has.
Json check_flavor(CloudService& service, const plan::Plan& plan) {
  const std::string wanted = plan.cluster.options.value("flavor", "");
  if (wanted.empty()) return Json::object();
  std::string known;
  for (const cloud::Flavor& flavor : service.flavors()) {
    known += (known.empty() ? "" : ", ") + flavor.id;
    if (flavor.id != wanted) continue;
    for (const plan::CasePlan& plan_case : plan.cases)
      if (plan_case.procs != std::max(1, flavor.devices))
        throw Error(ErrorKind::config,
                    fmt::format("the case '{}' has procs: {}, but the flavor '{}' has {} devices",
                                plan_case.name, plan_case.procs, wanted, flavor.devices),
                    plan.suite_file,
                    fmt::format("procs: {}: one rank for every device of an instance",
                                std::max(1, flavor.devices)));
    return {{"flavor", flavor.id},
            {"name", flavor.name},
            {"devices", flavor.devices},
            {"product", flavor.product}};
  }
  throw Error(ErrorKind::config, "there is no flavor '" + wanted + "'", plan.suite_file,
              "there are: " + known);
}

void describe_instances(const store::RunDir& run, const Json& flavor) {
  if (std::filesystem::exists(run.system_file())) return;
  int instances = 1;
  for (const plan::CasePlan& plan_case : run.plan().cases)
    instances = std::max(instances, plan_case.nodes);
  Json nodes = Json::array();
  for (int node = 0; node < instances; ++node)
    nodes.push_back({{"node", node}, {"host", fmt::format("worker-{}", node)}, {"cloud", flavor}});
  write_system(run, "modelarts", std::move(nodes));
}

}  // namespace

CloudController::CloudController(store::RunDir run, Observer& observer)
    : run_(std::move(run)), observer_(observer) {}

std::string CloudController::execute() {
  const store::RunLock lock(run_.path());
  const plan::Plan& plan = run_.plan();
  const CloudSettings settings = cloud_settings(plan.cluster);
  const StopSignals signals;
  const bool resumed = std::filesystem::exists(run_.journal_file());
  std::map<std::pair<std::string, int>, std::string> finished;
  if (resumed) finished = finished_rounds(store::Journal::read(run_.journal_file()));
  store::Journal journal(run_.journal_file());
  journal.append(resumed ? "run_resume" : "run_start", {{"run", plan.run_id},
                                                        {"host", host_name()},
                                                        {"pid", ::getpid()},
                                                        {"assay", version_string()}});
  check_code(settings, plan);

  http::Client client;
  cloud::FixedCredentials credentials(read_credentials(settings));
  cloud::ModelArtsService service(client, credentials, settings.endpoint, settings.project);
  const std::unique_ptr<CloudService> jobs =
      settings.v1 ? make_service_v1(service, settings.job_name, settings.engine)
                  : make_service_v2(service);
  cloud::ObsOptions obs;
  obs.endpoint = settings.obs_endpoint;
  cloud::ObsBucket bucket(client, credentials, obs, settings.bucket);
  // The first words with the services, without patience: what is wrong in the suite shows here.
  bucket.check(signals.asked());
  describe_instances(run_, check_flavor(*jobs, plan));

  const CloudContext context{settings, run_, *jobs, bucket, journal, observer_, signals};
  int total = 0;
  int done = 0;
  for (const plan::CasePlan& plan_case : plan.cases) total += plan_case.repeats;
  bool all_completed = true;
  for (const plan::CasePlan& plan_case : plan.cases) {
    bool startable = true;
    for (int round = 1; round <= plan_case.repeats; ++round, ++done) {
      if (const auto before = finished.find({plan_case.name, round}); before != finished.end()) {
        all_completed &= before->second == "completed";
        continue;
      }
      if (signals.asked().stop_requested() || !startable) continue;
      observer_.round_started(plan_case, round, done, total);
      RoundOutcome outcome = CloudJob(context, plan_case, round).run();
      for (int retry = 1; retry <= plan.cluster.retries && outcome.status == "lost"; ++retry) {
        if (signals.asked().stop_requested()) break;
        journal.append("round_retry", {{"case", plan_case.name},
                                       {"round", round},
                                       {"retry", retry},
                                       {"reason", outcome.reason}});
        outcome = CloudJob(context, plan_case, round).run();
      }
      observer_.round_ended(plan_case, round, outcome);
      all_completed &= outcome.status == "completed";
      startable = outcome.status != "launch_failed";
    }
  }
  const std::string status = signals.asked().stop_requested() ? "interrupted"
                             : all_completed                  ? "completed"
                                                              : "failed";
  journal.append("run_end", {{"status", status}});
  journal.sync();
  return status;
}

}  // namespace assay::launch
