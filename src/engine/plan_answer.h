#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/error.h"
#include "engine/engine.h"

namespace assay::engine {

/// What `assay job-controller FOLDER --plan` prints, a line of JSON: one of the two is set.
struct PlanAnswer {
  /// Why it cannot be planned, as an Error has it.
  struct Fault {
    std::string message{};
    std::string where{};
    std::string advice{};

    static void fields(auto& self, auto&& field) {
      field("message", self.message);
      field.optional("where", self.where);
      field.optional("advice", self.advice);
    }
  };

  std::optional<Planned> planned{};
  std::optional<Fault> fault{};

  static void fields(auto& self, auto&& field) {
    field.optional("planned", self.planned);
    field.optional("fault", self.fault);
  }
};

/// Without the end of the line.
[[nodiscard]] std::string plan_answer_line(const PlanAnswer& answer);

/// Nothing when `text` is not such a line.
[[nodiscard]] std::optional<PlanAnswer> parse_plan_answer(std::string_view text);

}  // namespace assay::engine
