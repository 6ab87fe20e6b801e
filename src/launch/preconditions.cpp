#include "launch/preconditions.h"

#include <fmt/format.h>

namespace assay::launch {

namespace {

// What is wrong with the rounds of a case; empty: they completed.
std::string unfinished(const plan::CasePlan& plan_case, const RoundStatuses& finished) {
  // One that is repeated until its result is certain has the rounds that it took.
  const int needed = plan_case.until ? 1 : plan_case.repeats;
  int completed = 0;
  for (int number = plan_case.warmup_rounds + 1; number <= plan_case.rounds(); ++number) {
    const auto found = finished.find({plan_case.name, number});
    if (found == finished.end()) continue;
    if (found->second != RoundStatus::completed)
      return fmt::format("round {} {}", number, to_text(found->second));
    ++completed;
  }
  return completed >= needed ? "" : fmt::format("{} of {} rounds ended", completed, needed);
}

}  // namespace

std::optional<std::string> failed_dependency(const plan::Plan& plan,
                                             const plan::CasePlan& plan_case,
                                             const RoundStatuses& finished,
                                             const std::set<std::string>& skipped) {
  for (const std::string& name : plan_case.after) {
    if (skipped.contains(name)) return fmt::format("it comes after '{}', which was skipped", name);
    const plan::CasePlan* other = plan.find_case(name);
    if (other == nullptr) return fmt::format("it comes after '{}', which is not in the plan", name);
    if (const std::string wrong = unfinished(*other, finished); !wrong.empty())
      return fmt::format("it comes after '{}', which did not complete: {}", name, wrong);
  }
  return std::nullopt;
}

}  // namespace assay::launch
