#pragma once

#include <string>
#include <vector>

#include "core/json.h"
#include "core/time.h"
#include "plan/plan.h"

namespace assay::report {

/// Where Prometheus finds the agents of a suite.
struct ScrapeTargets {
  std::vector<std::string> addresses;  ///< "n1:9400", in the order of the hosts
  std::string problem;                 ///< why some of them may not be reachable, or ""
};

/// `hosts` are names of `cluster`, or others; `listen` is the suite's telemetry.prometheus.
[[nodiscard]] ScrapeTargets scrape_targets(const plan::Cluster& cluster,
                                           const std::vector<std::string>& hosts,
                                           const std::string& listen);

/// prometheus.yml that reads the targets every `interval`, in whole seconds and at least one.
[[nodiscard]] std::string render_prometheus_config(const std::string& suite,
                                                   const ScrapeTargets& targets,
                                                   Nanoseconds interval);

/// A dashboard for Grafana 8 and later over the agents' metrics (docs/telemetry.md). Its variables
/// are datasource, case and host.
[[nodiscard]] Json grafana_dashboard(const std::string& suite);

}  // namespace assay::report
