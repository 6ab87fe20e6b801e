#include "tester/board.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "core/processors.h"
#include "core/text.h"
#include "judge/case_identity.h"
#include "report/html_system.h"

namespace assay::tester {

namespace {

constexpr std::size_t kMaxText = 200;

std::string shortened(const std::string& text) {
  return ellipsize(text, kMaxText);
}

// How a headline becomes the cost of one result. Energy is a metric per result, or a power over the
// same steps.
struct ResultOf {
  std::string_view headline;
  std::string_view what;
  std::string_view energy;
  std::string_view power;
};
constexpr std::array<ResultOf, 6> kResults{{
    {"steady_throughput", "sample", "energy_per_sample_j", ""},
    {"steady_tokens_per_s", "token", "", "steady_power_w"},
    {"p_whole", "sample", "", "mean_power_w"},
    {"tokens_per_s", "token", "", "mean_power_w"},
    {"time_to_target", "target", "energy_to_target_j", ""},
    {"e2e_time", "run", "", ""},
}};

PerResult per_result(const judge::CaseResult& result, const judge::Summary& headline) {
  const auto* const known = std::ranges::find(kResults, headline.info.name, &ResultOf::headline);
  if (known == kResults.end() || !(headline.median > 0)) return {};
  PerResult out{std::string(known->what),
                headline.info.unit == "s" ? headline.median : 1 / headline.median};
  const auto take = [&](std::string_view name, double factor) {
    const judge::Summary* found = name.empty() ? nullptr : report::find_summary(result, name);
    if (found == nullptr || !(found->median > 0)) return;
    out.energy_j = found->median * factor;
    out.energy_origin = found->origin;
  };
  take(known->energy, 1);
  take(known->power, out.seconds);
  return out;
}

// The model is part of the case's name.
std::string work_text(const judge::CaseResult& result) {
  std::vector<std::string> parts;
  for (const auto& [key, value] : judge::work_of(result.configuration))
    if (key != "model") parts.push_back(key.substr(key.find('.') + 1) + " " + value);
  return join(parts, ", ");
}

// A case is no better than the run as a whole, with its seal, journal and machine.
judge::Validity verdict_of(const judge::RunResult& run, const judge::CaseResult& one) {
  judge::Validity out = one.validity;
  for (const judge::Finding& finding : run.findings) {
    if (finding.severity == judge::Severity::invalid) return judge::Validity::invalid;
    if (finding.severity == judge::Severity::incomplete && out == judge::Validity::valid)
      out = judge::Validity::incomplete;
  }
  return out;
}

}  // namespace

BoardRun board_run(const judge::RunResult& result) {
  BoardRun out{.run_id = shortened(result.run_id),
               .public_key = result.seal.public_key,
               .fingerprint = result.seal.fingerprint,
               .machine = shortened(report::html::machine_line(result.system)),
               .entries = {}};
  for (const judge::CaseResult& one : result.cases) {
    if (one.skipped) continue;
    BoardEntry entry;
    entry.suite = shortened(result.suite);
    entry.case_name = shortened(judge::case_identity(one));
    entry.work = shortened(work_text(one));
    entry.model = shortened(one.model);
    entry.framework = shortened(one.framework);
    entry.hardware = shortened(judge::hardware_kind(result.system, one.nodes));
    if (entry.hardware.empty()) entry.hardware = "unknown";
    entry.nodes = one.nodes;
    entry.procs = one.procs;
    entry.devices = are_processors(to_lower(one.hardware)) ? 0 : one.nodes * one.procs;
    entry.verdict = verdict_of(result, one);
    entry.relaxed = one.relaxed();
    if (const judge::Summary* headline = report::find_summary(one, one.headline)) {
      entry.metric = headline->info;
      entry.metric.description.clear();
      entry.value = headline->median;
      entry.rounds = headline->n;
      if (const auto spread = report::spread_of(one, *headline)) {
        entry.half = spread->half;
        entry.half_kind = spread->kind;
      }
      entry.per = per_result(one, *headline);
    }
    out.entries.push_back(std::move(entry));
  }
  return out;
}

std::vector<bool> pareto_front(std::span<const ParetoPoint> points, Better better) {
  const double sign = better == Better::lower ? 1 : -1;
  std::vector<std::size_t> order(points.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto key = [&](std::size_t i) {
    return std::pair(sign * points[i].value, points[i].energy_j);
  };
  std::ranges::sort(order, {}, key);
  std::vector<bool> out(points.size(), false);
  // Starting with the fastest: a point is on the front if it needs less than all faster ones.
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::size_t at = order[i];
    if (!std::isfinite(points[at].value) || !std::isfinite(points[at].energy_j)) continue;
    const bool same = i > 0 && out[order[i - 1]] && key(at) == key(order[i - 1]);
    if (points[at].energy_j < least || same) out[at] = true;
    least = std::min(least, points[at].energy_j);
  }
  return out;
}

}  // namespace assay::tester
