#include "judge/challenge_answer.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/json_access.h"
#include "core/json_fields.h"
#include "core/regular_file.h"
#include "core/text.h"
#include "core/time.h"

namespace assay::judge {

namespace {

constexpr std::size_t kMaxChallengeFaults = 20;

std::string seed_text(const Json& config) {
  const auto seed = integer_at(config, "seed");
  return seed ? std::to_string(*seed) : "none";
}

}  // namespace

ChallengeAnswer::ChallengeAnswer(const plan::Plan& plan) : challenge_(plan.challenge) {
  if (!challenge_) return;
  const auto found = std::ranges::find(plan.cases, challenge_->case_name, &plan::CasePlan::name);
  if (found == plan.cases.end()) {
    faults_.push_back("the plan has no case '" + challenge_->case_name + "'");
    return;
  }
  const std::string seed = found->automl ? std::to_string(found->automl->seed)  //
                                         : seed_text(found->config);
  if (seed != std::to_string(challenge_->seed))
    faults_.push_back(fmt::format("the seed of the case '{}' is {}, not {}", found->name, seed,
                                  challenge_->seed));
  if (found->automl || found->config_use == plan::ConfigUse::applied) seed_ = "applied";
}

void ChallengeAnswer::see(const store::RunDir& run, const plan::CasePlan& case_plan,
                          const RoundEvidence& round) {
  if (!challenge_) return;
  if (round.start)
    began_ns_ = std::min(began_ns_.value_or(round.start->wall_ns), round.start->wall_ns);
  if (case_plan.name != challenge_->case_name || case_plan.automl) return;
  for (const NodeEvidence& node : round.nodes) {
    const auto file = run.node_dir(case_plan.name, round.round, node.host, node.node);
    const Json config = parse_json_or_null(read_regular_file_or_empty(file / "config.json"));
    if (integer_at(config, "seed") == challenge_->seed || faults_.size() >= kMaxChallengeFaults)
      continue;
    faults_.push_back(fmt::format("round {}, node {}: the seed in config.json is {}, not {}",
                                  round.round, node.node, seed_text(config), challenge_->seed));
  }
}

Json ChallengeAnswer::json() const {
  if (!challenge_) return nullptr;
  return {{"challenge", fields_to_json(*challenge_)},
          {"began", began_ns_ ? Json(iso_utc(*began_ns_, true)) : Json()},
          {"seed", seed_},
          {"faults", faults_}};
}

}  // namespace assay::judge
