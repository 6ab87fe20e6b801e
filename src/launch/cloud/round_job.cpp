#include "launch/cloud/round_job.h"

#include <fmt/format.h>

#include "core/error.h"

namespace assay::launch {

std::string job_name(const plan::JobServiceOptions& options, const plan::Plan& plan,
                     const plan::CasePlan& plan_case, int round, int attempt) {
  std::size_t index = 0;
  while (index < plan.cases.size() && plan.cases[index].name != plan_case.name) ++index;
  std::string id = plan.run_id;
  if (id.starts_with("run")) id.erase(0, 3);
  const std::string again = attempt > 0 ? fmt::format("-a{}", attempt) : "";
  return fmt::format("{}-{}-c{}-r{}{}", options.job_name, id, index, round, again);
}

RoundJob round_job(const plan::JobServiceOptions& options, const plan::Plan& plan,
                   const plan::CasePlan& plan_case, const std::string& name,
                   const std::string& code_hash) {
  const std::string own = options.round_prefix(plan.run_id, name);
  return {plan_case,    name,        plan.run_id, code_hash, options.code_prefix(code_hash),
          own + "out/", own + "log/"};
}

cloud::FolderContent code_of(const plan::JobServiceOptions& options) {
  return cloud::content_of(options.code, options.credentials);
}

void need_uploaded(const plan::JobServiceOptions& options, const std::string& program) {
  const std::string name = std::filesystem::path(program).lexically_normal().generic_string();
  if (!code_of(options).files.contains(name))
    throw Error(ErrorKind::config, "the program '" + program + "' is not uploaded",
                options.code.string(),
                fmt::format("write !{} into the folder's .assayignore, and the same of the folders "
                            "that it lies in",
                            name));
}

std::string code_hash_or_words(const plan::JobServiceOptions& options) {
  try {
    return cloud::hash_of(code_of(options).files);
  } catch (const Error&) {
    return "SHA256-OF-THE-CODE";
  }
}

Json describe_rounds(const plan::JobServiceOptions& options, const plan::Plan& plan,
                     const std::string& code_hash,
                     const std::function<Json(const RoundJob&)>& describe) {
  Json jobs = Json::array();
  for (const plan::CasePlan& plan_case : plan.cases)
    for (int round = 1; round <= plan_case.rounds(); ++round) {
      Json job{{"case", plan_case.name}, {"round", round}};
      job.update(describe(round_job(options, plan, plan_case,
                                    job_name(options, plan, plan_case, round, 0), code_hash)));
      jobs.push_back(std::move(job));
    }
  return {{"upload",
           {{"folder", options.code.string()},
            {"to", "obs://" + options.bucket + "/" + options.code_prefix(code_hash)}}},
          {"jobs", std::move(jobs)}};
}

}  // namespace assay::launch
