#pragma once

#include <string>
#include <vector>

#include "core/json.h"
#include "core/time.h"
#include "plan/plan.h"

namespace assay::report {

/// The addresses of a suite's agents for Prometheus.
struct ScrapeTargets {
  std::vector<std::string> addresses;  ///< "n1:9400", in host order
  std::string problem;                 ///< why some may be unreachable, or empty
};

/// `hosts` may be names of `cluster` or others; `listen` is the suite's telemetry.prometheus.
[[nodiscard]] ScrapeTargets scrape_targets(const plan::Cluster& cluster,
                                           const std::vector<std::string>& hosts,
                                           const std::string& listen);

/// A prometheus.yml that reads the targets every `interval`, in whole seconds, at least one.
[[nodiscard]] std::string render_prometheus_config(const std::string& suite,
                                                   const ScrapeTargets& targets,
                                                   Nanoseconds interval);

/// A dashboard for Grafana 8 and later over the agents' metrics (docs/telemetry.md), with the
/// variables datasource, case and host.
[[nodiscard]] Json grafana_dashboard(const std::string& suite);

}  // namespace assay::report
