#include "report/experiment_trials.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "core/units.h"
#include "page/table.h"
#include "report/experiment_text.h"
#include "report/html_parts.h"
#include "report/present.h"

namespace assay::report::experiment {

using page::Html;
using page::markup;

namespace {

// A page with more rows opens slowly; the journal has them all.
constexpr std::size_t kMaxRows = 10'000;

std::string hyper_text(const Json& hyper) {
  static constexpr std::array<std::pair<const char*, const char*>, 6> kShort{
      {{"batch_size", "batch"},
       {"learning_rate", "rate"},
       {"weight_decay", "decay"},
       {"label_smoothing", "smoothing"},
       {"kernel_size", "kernel"},
       {"dropout", "dropout"}}};
  std::string out;
  if (!hyper.is_object()) return out;
  for (const auto& [key, name] : kShort) {
    const auto found = hyper.find(key);
    if (found == hyper.end() || !found->is_number() || *found == 0) continue;
    out += fmt::format("{}{} {:.3g}", out.empty() ? "" : " · ", name, found->get<double>());
  }
  return out;
}

// The origin of the initial weights.
std::string inherited_text(const automl::TrialRecord& trial) {
  if (!trial.inherited) return {};
  const automl::InheritedRecord& from = *trial.inherited;
  if (from.tensors == 0)
    return fmt::format("fresh: no weights of trial {} were there", trial.parent);
  return fmt::format("{} of {} tensors by trial {} (sha256 {})", from.tensors, from.of,
                     trial.parent, from.sha256.substr(0, 8));
}

std::string below_text(const automl::TrialRecord& trial) {
  const std::string hyper = hyper_text(trial.hyper);
  const std::string inherited = inherited_text(trial);
  return hyper + (hyper.empty() || inherited.empty() ? "" : " · ") + inherited;
}

Html with_sub(const Html& text, std::string_view below) {
  return text + markup("<span class=\"sub\">{}</span>", below);
}

Html status_cell(const automl::TrialRecord& trial) {
  const Html status = trial.attempts > 1
                          ? markup("{}, attempt {}", to_text(trial.status), trial.attempts)
                          : Html::text(to_text(trial.status));
  return trial.reason.empty() ? status : with_sub(status, trial.reason);
}

page::Row row(const automl::TrialRecord& trial, bool best) {
  const Html accuracy =
      trial.accuracy ? markup("{}<i class=\"meter\" style=\"--share:{:.3f}\"></i>",
                              accuracy_text(*trial.accuracy), std::clamp(*trial.accuracy, 0.0, 1.0))
                     : Html("–");
  const Html worker =
      trial.worker < 0 ? Html("–") : with_sub(markup("{}", trial.worker), trial.host);
  return {
      {(best ? "★ " : "") + std::to_string(trial.id),
       trial.parent < 0 ? "–" : std::to_string(trial.parent),
       with_sub(Html::text(operations_text(trial.operations)), below_text(trial)),
       format_number(static_cast<double>(trial.parameters)),
       show(static_cast<double>(trial.per_sample.aiperf_train), "FLOP").text(),
       std::to_string(trial.epochs),
       accuracy,
       trial.started_s && trial.ended_s ? show(*trial.ended_s - *trial.started_s, "s").text() : "–",
       {worker, "w"},
       status_cell(trial)},
      best                                          ? "best"
      : trial.status == automl::TrialStatus::failed ? "bad"
      : trial.status == automl::TrialStatus::lost   ? "odd"
                                                    : ""};
}

}  // namespace

Html trial_table(const ExperimentView& view) {
  const automl::ExperimentRecord& record = view.record;
  if (record.trials.empty()) return {};
  constexpr auto kRight = page::Align::right;
  page::Table table{{{"Trial", kRight},
                     {"Parent", kRight},
                     {"Operations and hyper-parameters"},
                     {"Parameters", kRight},
                     {"To train a sample", kRight},
                     {"Epochs", kRight},
                     {"Accuracy", kRight},
                     {"Time", kRight},
                     {"Worker"},
                     {"Status"}}};
  const std::size_t shown = std::min(record.trials.size(), kMaxRows);
  for (std::size_t i = 0; i < shown; ++i)
    table.rows.push_back(row(record.trials[i], record.best && *record.best == record.trials[i].id));
  Html out = page::scrolling(page::to_html(table, {.css = "trials"}));
  if (shown < record.trials.size())
    out += html::remark(markup("{} further trials are in <code>automl/journal.jsonl</code>.",
                               record.trials.size() - shown));
  return out;
}

}  // namespace assay::report::experiment
