#include "engine/plan_answer.h"

#include "core/json_access.h"
#include "core/json_fields.h"

namespace assay::engine {

std::string plan_answer_line(const PlanAnswer& answer) {
  return dump_line(fields_to_json(answer));
}

std::optional<PlanAnswer> parse_plan_answer(std::string_view text) {
  try {
    auto answer = fields_from_json<PlanAnswer>(parse_json_or_null(std::string(text)), "the plan");
    if (answer.planned.has_value() == answer.fault.has_value()) return std::nullopt;
    return answer;
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace assay::engine
