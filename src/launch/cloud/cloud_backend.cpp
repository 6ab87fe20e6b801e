#include "launch/cloud/cloud_backend.h"

#include <algorithm>
#include <filesystem>

#include <asio/post.hpp>
#include <fmt/format.h>

#include "core/error.h"
#include "core/text.h"
#include "launch/cloud/cloud_job.h"
#include "launch/cloud/cloud_job_spec.h"
#include "launch/cloud/retry_while_unreachable.h"
#include "launch/run_on_thread.h"

namespace assay::launch {

namespace {

void check_code(const plan::ModelArtsOptions& options, const plan::Plan& plan) {
  for (const plan::CasePlan& plan_case : plan.cases) {
    const std::filesystem::path boot = options.code / plan_case.command.at(0);
    std::error_code ec;
    if (!std::filesystem::is_regular_file(boot, ec))
      throw Error(ErrorKind::config, "there is no boot file '" + plan_case.command.at(0) + "'",
                  options.code.string(),
                  "the first word of the case's command is a file in cluster.modelarts.code");
    // The code is not read yet; its hash is as long as this.
    cloud::check(
        job_spec(plan, plan_case, job_name(options, plan, plan_case, 1, 0), std::string(64, '0')));
  }
}

void check_engine(CloudService& service, const plan::Plan& plan, const std::string& wanted,
                  const std::stop_token& stop) {
  if (wanted.starts_with("image:")) return;  // of one's own: the service does not list them
  const std::vector<std::string> known = service.engines(stop);
  if (std::ranges::find(known, wanted) == known.end())
    throw Error(ErrorKind::config, "there is no engine '" + wanted + "'", plan.suite_file,
                "there are: " + join(known, ", "));
}

/// The flavor's devices decide how many ranks an instance has.
Json check_flavor(CloudService& service, const plan::Plan& plan, const std::string& wanted,
                  const std::stop_token& stop) {
  if (wanted.empty()) return Json::object();
  std::string known;
  for (const cloud::Flavor& flavor : service.flavors(stop)) {
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

}  // namespace

Json check_cloud(CloudConnection& cloud, const plan::Plan& plan,
                 const plan::ModelArtsOptions& options, const std::stop_token& stop,
                 const std::function<void(const std::string&)>& waiting) {
  check_code(options, plan);
  // A service that does not answer at all is taken for a mistake in the suite, and shows at once.
  RetryWhileUnreachable retry(options.wait, options.poll, std::chrono::seconds(30), stop, waiting,
                              Patience::with_a_busy_service);
  try {
    retry("looking at the bucket", [&] { cloud.bucket.check(stop); });
    retry("looking for the engine", [&] { check_engine(*cloud.jobs, plan, options.engine, stop); });
    return retry("looking for the flavor",
                 [&] { return check_flavor(*cloud.jobs, plan, options.flavor, stop); });
  } catch (const Interrupted&) {
    throw Error(ErrorKind::environment, "interrupted before anything was uploaded",
                options.endpoint, "go on with --resume");
  }
}

CloudBackend::CloudBackend(const BackendContext& context, const plan::ModelArtsOptions& options,
                           MakeJobs make_jobs)
    : context_(context), options_(options), make_jobs_(std::move(make_jobs)) {}

asio::awaitable<void> CloudBackend::prepare() {
  const plan::Plan& plan = context_.run.plan();
  connection_ = std::make_unique<CloudConnection>(options_, make_jobs_);
  flavor_ = co_await run_on_thread([&] {
    return check_cloud(
        *connection_, plan, options_, asked_.get_token(), [this](const std::string& text) {
          asio::post(context_.loop, [this, text] { context_.observer.waiting(text); });
        });
  });
}

asio::awaitable<Json> CloudBackend::describe() {
  int instances = 1;
  for (const plan::CasePlan& plan_case : context_.run.plan().cases)
    instances = std::max(instances, plan_case.nodes);
  Json nodes = Json::array();
  for (int node = 0; node < instances; ++node)
    nodes.push_back({{"node", node}, {"host", fmt::format("worker-{}", node)}, {"cloud", flavor_}});
  co_return nodes;
}

asio::awaitable<void> CloudBackend::prepare_round(const RoundTask& /*task*/) {
  co_return;
}

asio::awaitable<RoundOutcome> CloudBackend::run_round(const RoundTask& task) {
  const auto on_loop = [this](auto call) { asio::post(context_.loop, std::move(call)); };
  const CloudJob::Context job{
      options_,
      context_.run,
      *connection_,
      context_.journal,
      [&](const std::string& text) { on_loop([this, text] { context_.observer.waiting(text); }); },
      [&](const std::string& text) { on_loop([this, text] { context_.observer.warning(text); }); },
      [&](const RoundProgress& progress) {
        on_loop([&task, progress] { task.on_progress(progress); });
      },
      asked_.get_token(),
      at_once_.get_token()};
  co_return co_await run_on_thread(
      [&] { return CloudJob(job, task.plan_case, task.number).run(); });
}

void CloudBackend::interrupt(int times) {
  asked_.request_stop();
  if (times > 1) at_once_.request_stop();
}

asio::awaitable<void> CloudBackend::close() {
  co_return;
}

}  // namespace assay::launch
