#include "launch/modelarts/modelarts_backend.h"

#include <algorithm>
#include <filesystem>

#include <asio/post.hpp>
#include <fmt/format.h>

#include "core/error.h"
#include "launch/modelarts/cloud_job.h"
#include "launch/modelarts/cloud_job_spec.h"
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

/// The flavor's devices decide how many ranks an instance has.
Json check_flavor(CloudService& service, const plan::Plan& plan, const std::string& wanted) {
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

}  // namespace

ModelArtsBackend::ModelArtsBackend(const BackendContext& context,
                                   const plan::ModelArtsOptions& options)
    : context_(context), options_(options) {}

asio::awaitable<void> ModelArtsBackend::prepare() {
  const plan::Plan& plan = context_.run.plan();
  check_code(options_, plan);
  connection_ = std::make_unique<CloudConnection>(options_);
  // The first requests to the services, without patience: what is wrong in the suite shows here.
  flavor_ = co_await run_on_thread([&] {
    connection_->bucket.check(asked_.get_token());
    return check_flavor(*connection_->jobs, plan, options_.flavor);
  });
}

asio::awaitable<Json> ModelArtsBackend::describe() {
  int instances = 1;
  for (const plan::CasePlan& plan_case : context_.run.plan().cases)
    instances = std::max(instances, plan_case.nodes);
  Json nodes = Json::array();
  for (int node = 0; node < instances; ++node)
    nodes.push_back({{"node", node}, {"host", fmt::format("worker-{}", node)}, {"cloud", flavor_}});
  co_return nodes;
}

asio::awaitable<void> ModelArtsBackend::prepare_round(const RoundTask& /*task*/) {
  co_return;
}

asio::awaitable<RoundOutcome> ModelArtsBackend::run_round(const RoundTask& task) {
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

void ModelArtsBackend::interrupt(int times) {
  asked_.request_stop();
  if (times > 1) at_once_.request_stop();
}

asio::awaitable<void> ModelArtsBackend::close() {
  co_return;
}

}  // namespace assay::launch

std::unique_ptr<assay::launch::Backend> assay::plan::ModelArtsOptions::make_backend(
    const launch::BackendContext& context) const {
  return std::make_unique<launch::ModelArtsBackend>(context, *this);
}

assay::Json assay::plan::ModelArtsOptions::describe_jobs(const Plan& plan) const {
  return launch::describe_cloud_execution(plan);
}
