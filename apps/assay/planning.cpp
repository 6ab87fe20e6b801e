#include "planning.h"

#include "catalog/catalog.h"
#include "core/host.h"
#include "paths.h"
#include "plan/make_plan.h"

namespace assay::app {

plan::Plan make_plan(const PlanRequest& request) {
  const catalog::Catalog catalog = catalog::load_catalog(catalog::find_conf_dir());
  plan::PlanOptions options;
  options.overrides = request.set;
  options.only = request.only;
  if (request.repeat > 0) options.repeat = request.repeat;
  options.challenge = request.challenge;
  options.bindir = program_folder();
  options.run_id = new_run_id();
  return plan::make_plan(plan::load_suite(find_suite(request.suite, catalog.conf_dir)), catalog,
                         options);
}

}  // namespace assay::app
