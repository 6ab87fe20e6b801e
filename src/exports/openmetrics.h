#pragma once

#include <string>

#include "judge/result.h"

namespace assay::exports {

/// The verdicts and results of a run as text that Prometheus reads, also as OpenMetrics: for
/// node_exporter's textfile collector or a Pushgateway. One family for each metric, named
/// assay_result_NAME with units in full ("assay_result_energy_joules"), its statistics over the
/// rounds by the label "statistic". No timestamps: these are the newest results.
[[nodiscard]] std::string render_openmetrics(const judge::RunResult& result);

/// "energy_j" → "energy_joules", "tokens_per_s" → "tokens_per_second"; what Prometheus does not
/// allow becomes '_', and "/" "_per_".
[[nodiscard]] std::string prometheus_name(std::string_view metric);

}  // namespace assay::exports
