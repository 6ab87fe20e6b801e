#include "report/experiment_family.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "automl/lineage.h"
#include "report/experiment_text.h"
#include "report/html_parts.h"

namespace assay::report::experiment {

using page::Html;
using page::markup;

namespace {

using automl::ExperimentRecord;
using automl::TrialRecord;

constexpr std::size_t kMaxModels = 300;
constexpr double kRow = 30;
constexpr double kWidth = 1040;  // of the drawing, unless there are many generations
constexpr double kMargin = 24;

struct Placed {
  int generation = 0;
  double row = 0;
  bool parent = false;
};

const TrialRecord& trial_of(const ExperimentRecord& record, std::int64_t id) {
  return record.trials[static_cast<std::size_t>(id)];
}

// All models, or if there are too many, the most accurate ones with their ancestors.
std::set<std::int64_t> chosen(const ExperimentRecord& record) {
  std::set<std::int64_t> out;
  std::vector<std::int64_t> order;
  for (const TrialRecord& trial : record.trials)
    if (trial.started_s) order.push_back(trial.id);
  if (order.size() > kMaxModels)
    std::ranges::stable_sort(order, [&](std::int64_t a, std::int64_t b) {
      return trial_of(record, a).accuracy.value_or(-1) > trial_of(record, b).accuracy.value_or(-1);
    });
  for (const std::int64_t id : order) {
    if (out.size() >= kMaxModels) break;
    for (const std::int64_t ancestor : automl::lineage_of(record, id)) out.insert(ancestor);
  }
  return out;
}

// A tidy tree: each leaf has a row, and a parent is in the middle of its children. Children have
// larger ids than their parents, so a single pass from the last to the first knows them all.
std::map<std::int64_t, Placed> layout(const ExperimentRecord& record,
                                      const std::set<std::int64_t>& ids, double& rows) {
  std::map<std::int64_t, std::vector<std::int64_t>> children;
  std::map<std::int64_t, Placed> placed;
  std::vector<std::int64_t> roots;
  for (const std::int64_t id : ids) {
    const std::int64_t parent = trial_of(record, id).parent;
    if (parent >= 0 && parent < id) {
      children[parent].push_back(id);
      placed[parent].parent = true;
      placed[id].generation = placed[parent].generation + 1;
    } else {
      roots.push_back(id);
      placed[id].generation = 0;
    }
  }
  rows = 0;
  // Depth first without recursion: a line of thousands of generations must not overflow the stack.
  std::vector<std::pair<std::int64_t, std::size_t>> stack;
  for (const std::int64_t root : roots) {
    stack.emplace_back(root, 0);
    while (!stack.empty()) {
      const std::int64_t id = stack.back().first;
      const auto& below = children[id];
      if (stack.back().second < below.size()) {
        const std::int64_t next = below[stack.back().second++];
        stack.emplace_back(next, 0);
        continue;
      }
      placed[id].row =
          below.empty() ? rows++ : (placed[below.front()].row + placed[below.back()].row) / 2;
      stack.pop_back();
    }
  }
  return placed;
}

std::string_view operation_class(const TrialRecord& trial) {
  if (!trial.operations.is_array() || trial.operations.empty()) return "f-several";
  const Json& first = trial.operations[0];
  if (trial.operations.size() > 1 || !first.is_array() || first.empty()) return "f-several";
  if (first[0] == "deeper") return "f-deeper";
  if (first[0] == "wider") return "f-wider";
  if (first[0] == "add_skip") return "f-add";
  return first[0] == "concat_skip" ? "f-concat" : "f-several";
}

constexpr const char* kLegend =
    "<ul class=\"legend\"><li><i class=\"f-deeper\"></i>deeper</li><li><i "
    "class=\"f-wider\"></i>wider</li><li><i class=\"f-add\"></i>skip by add</li><li><i "
    "class=\"f-concat\"></i>skip by concat</li><li><i class=\"f-several\"></i>several</li></ul>";

}  // namespace

Html family(const ExperimentView& view) {
  const ExperimentRecord& record = view.record;
  const std::set<std::int64_t> ids = chosen(record);
  if (ids.empty()) return {};
  double rows = 0;
  const std::map<std::int64_t, Placed> placed = layout(record, ids, rows);
  int generations = 1;
  double low = 1;
  double high = 0;
  for (const auto& [id, place] : placed) {
    generations = std::max(generations, place.generation);
    if (const auto accuracy = trial_of(record, id).accuracy) {
      low = std::min(low, *accuracy);
      high = std::max(high, *accuracy);
    }
  }
  std::set<std::int64_t> line;
  if (record.best)
    for (const std::int64_t id : automl::lineage_of(record, *record.best)) line.insert(id);
  const double step = std::max(110.0, (kWidth - kMargin - 140) / generations);
  const double width = std::max(kWidth, kMargin + step * generations + 140);
  const auto x_of = [&](const Placed& at) { return kMargin + step * at.generation; };
  const auto y_of = [&](const Placed& at) { return kMargin + kRow * at.row; };

  Html edges;
  Html dots;
  for (const auto& [id, at] : placed) {
    const TrialRecord& trial = trial_of(record, id);
    const double x = x_of(at);
    const double y = y_of(at);
    if (const auto parent = placed.find(trial.parent); at.generation > 0) {
      const double px = x_of(parent->second);
      const double py = y_of(parent->second);
      edges += markup(
          "<path class=\"edge {}{}\" d=\"M{:.1f} {:.1f}C{:.1f} {:.1f} {:.1f} {:.1f} {:.1f} "
          "{:.1f}\"/>",
          operation_class(trial), line.contains(id) ? " line" : "", px, py, px + step * 0.45, py,
          x - step * 0.55, y, x, y);
    }
    const bool best = record.best && *record.best == id;
    const double share = trial.accuracy && high > low ? (*trial.accuracy - low) / (high - low) : 0;
    const std::string accuracy =
        trial.accuracy ? accuracy_text(*trial.accuracy) : std::string(to_text(trial.status));
    // Lines leave a parent on the right, so its name is above it.
    const double text_x = at.parent ? (at.generation == 0 ? x - 8 : x) : x + (best ? 14 : 11);
    const double text_y = at.parent ? y - (best ? 13 : 10) : y + 4;
    dots += markup(
        "<g class=\"model{}{}\"><title>trial {}: {}; {}</title>{}<circle class=\"back\" "
        "cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"6\"/><circle class=\"dot\" cx=\"{:.1f}\" cy=\"{:.1f}\" "
        "r=\"6\" fill-opacity=\"{:.2f}\"/><text x=\"{:.1f}\" y=\"{:.1f}\" "
        "text-anchor=\"{}\"><tspan "
        "class=\"id\">{}</tspan> {}</text></g>",
        best ? " best" : "", trial.status == automl::TrialStatus::failed ? " failed" : "", id,
        operations_text(trial.operations), accuracy,
        best ? markup("<circle class=\"halo\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"10\"/>", x, y)
             : Html(),
        x, y, x, y, trial.accuracy ? 0.12 + 0.88 * share : 0.0, text_x, text_y,
        at.parent && at.generation > 0 ? "middle" : "start", id, accuracy);
  }
  const double height = 2 * kMargin + kRow * std::max(0.0, rows - 1);
  Html out = markup(
      "<div class=\"scroll\"><svg class=\"frame family\" role=\"img\" aria-label=\"Family tree of "
      "{} models in {} generations\" viewBox=\"0 0 {:.0f} {:.0f}\" width=\"{:.0f}\" "
      "height=\"{:.0f}\">{}{}</svg></div>{}",
      ids.size(), generations + 1, width, height, width, height, edges, dots, Html(kLegend));
  if (ids.size() < record.trials.size() && ids.size() >= kMaxModels)
    out += html::remark(
        markup("The most accurate of {} models, with their ancestors.", record.trials.size()));
  return out;
}

}  // namespace assay::report::experiment
