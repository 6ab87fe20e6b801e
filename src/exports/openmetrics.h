#pragma once

#include <string>

#include "judge/result.h"

namespace assay::exports {

/// A run's verdicts and results as text for Prometheus, valid as OpenMetrics too: for
/// node_exporter's textfile collector or a Pushgateway. One family per metric, named
/// assay_result_NAME with full units ("assay_result_energy_joules"), with its statistics over
/// rounds in the label "statistic". No timestamps: these are the newest results.
[[nodiscard]] std::string render_openmetrics(const judge::RunResult& result);

/// "energy_j" → "energy_joules", "tokens_per_s" → "tokens_per_second"; "/" becomes "_per_", and
/// anything else that Prometheus does not allow '_'.
[[nodiscard]] std::string prometheus_name(std::string_view metric);

}  // namespace assay::exports
