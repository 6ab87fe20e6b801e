#include "plan/suite_baseline.h"

#include <filesystem>

#include "baseline/baseline.h"
#include "config/yaml.h"
#include "core/error.h"
#include "core/sha256.h"

namespace assay::plan {

PlanBaseline read_baseline(const config::Node& node) {
  PlanBaseline out;
  out.file = node.nonempty_text();
  std::filesystem::path path(out.file);
  if (path.is_relative() && node.source() != nullptr && !node.is_override())
    path = std::filesystem::path(node.source()->path).parent_path() / path;
  try {
    out.text = config::read_yaml_text(path);
  } catch (const Error& error) {
    node.fail("the baseline cannot be read: " + error.message(), error.where());
  }
  (void)baseline::parse(out.text, path.string());
  out.sha256 = sha256(out.text);
  return out;
}

}  // namespace assay::plan
