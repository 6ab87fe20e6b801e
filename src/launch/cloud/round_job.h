#pragma once

#include <functional>
#include <string>

#include "cloud/sync.h"
#include "plan/launchers/job_service_options.h"
#include "plan/plan.h"

namespace assay::launch {

/// A round as a service is asked to run it.
struct RoundJob {
  const plan::CasePlan& plan_case;
  std::string name;  ///< of no other job of any run: the service knows it again by it
  std::string run_id;
  std::string code_hash;  ///< cloud::hash_of its files; empty: not known yet
  // Beginnings of keys in the bucket; all end with "/".
  std::string code;
  std::string output;
  std::string log;
};

/// The name of a round's job, unique: "assay-20261115T101500Z-3f2a-c0-r1", "…-a1" when it is tried
/// again.
[[nodiscard]] std::string job_name(const plan::JobServiceOptions& options, const plan::Plan& plan,
                                   const plan::CasePlan& plan_case, int round, int attempt);

[[nodiscard]] RoundJob round_job(const plan::JobServiceOptions& options, const plan::Plan& plan,
                                 const plan::CasePlan& plan_case, const std::string& name,
                                 const std::string& code_hash);

/// For people, without asking the service: what is uploaded, and for every round what `describe`
/// gives for its job. `code_hash` is shown where the code's place needs it.
[[nodiscard]] Json describe_rounds(const plan::JobServiceOptions& options, const plan::Plan& plan,
                                   const std::string& code_hash,
                                   const std::function<Json(const RoundJob&)>& describe);

/// The code that is uploaded: of its folder what is sent anywhere, without the credentials.
[[nodiscard]] cloud::FolderContent code_of(const plan::JobServiceOptions& options);

/// Throws Error of kind config when `program`, a file of the code's folder, is not uploaded.
void need_uploaded(const plan::JobServiceOptions& options, const std::string& program);

/// The code's hash, or words in its place where it cannot be read: the run says what is wrong.
[[nodiscard]] std::string code_hash_or_words(const plan::JobServiceOptions& options);

}  // namespace assay::launch
