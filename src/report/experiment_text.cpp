#include "report/experiment_text.h"

#include <fmt/format.h>

namespace assay::report::experiment {

std::string operations_text(const Json& operations) {
  if (!operations.is_array()) return dump_line(operations);
  if (operations.empty()) return "start model";
  std::string out;
  for (const Json& operation : operations) {
    if (!out.empty()) out += ", ";
    if (!operation.is_array() || operation.size() != 3 || !operation[0].is_string()) {
      out += dump_line(operation);
      continue;
    }
    const std::string kind = operation[0].get<std::string>();
    const std::string layer = dump_line(operation[1]);
    const std::string other = dump_line(operation[2]);
    if (kind == "deeper")
      out += "deeper after " + layer;
    else if (kind == "wider")
      out += "wider " + layer + " (+" + other + ")";
    else if (kind == "add_skip")
      out += "add " + layer + " → " + other;
    else if (kind == "concat_skip")
      out += "concat " + layer + " → " + other;
    else
      out += dump_line(operation);
  }
  return out;
}

std::string accuracy_text(double accuracy) {
  return fmt::format("{:.2f} %", accuracy * 100);
}

}  // namespace assay::report::experiment
