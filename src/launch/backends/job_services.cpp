#include "launch/backends/job_services.h"

#include <variant>

#include "core/error.h"

namespace assay::launch {

namespace {

// `of` gets the options of the plan's launcher if it submits jobs.
template <class Result, class Of>
Result of_service(const plan::Plan& plan, Of of) {
  return std::visit(
      [&]([[maybe_unused]] const auto& options) -> Result {
        if constexpr (requires { options.describe_jobs(plan); })
          return of(options);
        else
          throw Error(ErrorKind::internal, "a launcher that submits no jobs");
      },
      plan.cluster.options);
}

}  // namespace

void use_job_services() {
  static constexpr JobServices kServices{
      .make_backend =
          [](const BackendContext& context) {
            return of_service<std::unique_ptr<Backend>>(
                context.run.plan(),
                [&](const auto& options) { return options.make_backend(context); });
          },
      .describe_jobs =
          [](const plan::Plan& plan) {
            return of_service<Json>(
                plan, [&](const auto& options) { return options.describe_jobs(plan); });
          },
      .check_jobs =
          [](const plan::Plan& plan, const std::function<void(const std::string&)>& waiting) {
            return of_service<Json>(
                plan, [&](const auto& options) { return options.check_jobs(plan, waiting); });
          }};
  use_services(kServices);
}

}  // namespace assay::launch
