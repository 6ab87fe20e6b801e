// Any bytes as a suite: either a plan that survives its JSON, or an Error of kind config.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "core/error.h"
#include "plan/make_plan.h"

namespace {

assay::catalog::Catalog small_catalog() {
  assay::catalog::Catalog catalog;
  assay::catalog::Vendor cpu;
  cpu.name = "cpu";
  catalog.vendors = {cpu};
  return catalog;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const assay::catalog::Catalog catalog = small_catalog();
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const assay::plan::Suite suite = assay::plan::parse_suite(text, "fuzz.yaml");
    assay::plan::PlanOptions options;
    // The bytes serve as a setting too, for the path and value grammar of --set.
    if (size % 4 == 0) options.overrides = {std::string(text.substr(0, 80))};
    const assay::plan::Plan plan = assay::plan::make_plan(suite, catalog, options);
    (void)assay::plan::render_text(plan);
    const assay::Json json = assay::plan::to_json(plan);
    if (assay::plan::to_json(assay::plan::plan_from_json(json, "fuzz")) != json) std::abort();
  } catch (const assay::Error& e) {
    if (e.kind() != assay::ErrorKind::config) std::abort();
  }
  return 0;
}
