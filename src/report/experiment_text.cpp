#include "report/experiment_text.h"

#include <fmt/format.h>

namespace assay::report::experiment {

std::string operations_text(const Json& operations) {
  if (!operations.is_array()) return dump_line(operations);
  if (operations.empty()) return "start model";
  std::string out;
  for (const Json& one : operations) {
    if (!out.empty()) out += ", ";
    if (!one.is_array() || one.size() != 3 || !one[0].is_string()) {
      out += dump_line(one);
      continue;
    }
    const std::string kind = one[0].get<std::string>();
    const std::string layer = dump_line(one[1]);
    const std::string other = dump_line(one[2]);
    if (kind == "deeper")
      out += "deeper after " + layer;
    else if (kind == "wider")
      out += "wider " + layer + " (+" + other + ")";
    else if (kind == "add_skip")
      out += "add " + layer + " → " + other;
    else if (kind == "concat_skip")
      out += "concat " + layer + " → " + other;
    else
      out += dump_line(one);
  }
  return out;
}

std::string accuracy_text(double accuracy) {
  return fmt::format("{:.2f} %", accuracy * 100);
}

}  // namespace assay::report::experiment
