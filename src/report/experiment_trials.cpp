#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "core/units.h"
#include "report/experiment_parts.h"
#include "report/markup.h"
#include "report/present.h"

namespace assay::report::experiment {

namespace {

// A page of more rows does not open well; the journal has them all.
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

std::string status_cell(const automl::TrialRecord& trial) {
  std::string out = escape_markup(trial.status);
  if (trial.attempts > 1) out += fmt::format(", attempt {}", trial.attempts);
  if (!trial.reason.empty())
    out += "<span class=\"sub\">" + escape_markup(trial.reason) + "</span>";
  return out;
}

std::string row(const automl::TrialRecord& trial, bool best) {
  const auto time = trial.started_s && trial.ended_s
                        ? show(*trial.ended_s - *trial.started_s, "s").text()
                        : std::string("–");
  const std::string accuracy =
      trial.accuracy
          ? fmt::format("{}<i class=\"meter\" style=\"--share:{:.3f}\"></i>",
                        accuracy_text(*trial.accuracy), std::clamp(*trial.accuracy, 0.0, 1.0))
          : std::string("–");
  return fmt::format(
      "<tr{}><td class=\"n\">{}{}</td><td class=\"n\">{}</td><td>{}<span class=\"sub\">{}</span>"
      "</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td "
      "class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"w\">{}</td><td>{}</td></tr>\n",
      best                       ? " class=\"best\""
      : trial.status == "failed" ? " class=\"bad\""
      : trial.status == "lost"   ? " class=\"odd\""
                                 : "",
      best ? "★ " : "", trial.id, trial.parent < 0 ? "–" : fmt::format("{}", trial.parent),
      escape_markup(operations_text(trial.operations)), escape_markup(hyper_text(trial.hyper)),
      escape_markup(format_number(static_cast<double>(trial.parameters))),
      escape_markup(show(static_cast<double>(trial.per_sample.aiperf_train), "FLOP").text()),
      trial.epochs, accuracy, escape_markup(time),
      trial.worker < 0
          ? std::string("–")
          : fmt::format("{}<span class=\"sub\">{}</span>", trial.worker, escape_markup(trial.host)),
      status_cell(trial));
}

}  // namespace

std::string operations_text(const Json& operations) {
  if (!operations.is_array()) return dump_line(operations);
  if (operations.empty()) return "start model";
  std::string out;
  for (const Json& one : operations) {
    if (!out.empty()) out += ", ";
    if (!one.is_array() || one.size() != 3 || !one[0].is_string()) {
      out += dump_line(one);
      continue;
    }
    const std::string kind = one[0].get<std::string>();
    const std::string layer = dump_line(one[1]);
    const std::string other = dump_line(one[2]);
    if (kind == "deeper")
      out += "deeper after " + layer;
    else if (kind == "wider")
      out += "wider " + layer + " (+" + other + ")";
    else if (kind == "add_skip")
      out += "add " + layer + " → " + other;
    else if (kind == "concat_skip")
      out += "concat " + layer + " → " + other;
    else
      out += dump_line(one);
  }
  return out;
}

std::string trial_table(const ExperimentView& view) {
  const automl::ExperimentRecord& record = view.record;
  if (record.trials.empty()) return {};
  std::string out =
      "<div class=\"scroll\"><table class=\"trials\"><thead><tr><th class=\"n\">Trial</th><th "
      "class=\"n\">Parent</th><th>Operations and hyper-parameters</th><th "
      "class=\"n\">Parameters</th><th class=\"n\">To train a sample</th><th "
      "class=\"n\">Epochs</th><th class=\"n\">Accuracy</th><th class=\"n\">Time</th><th>Worker</th>"
      "<th>Status</th></tr></thead><tbody>\n";
  const std::size_t shown = std::min(record.trials.size(), kMaxRows);
  for (std::size_t i = 0; i < shown; ++i)
    out += row(record.trials[i], record.best && *record.best == record.trials[i].id);
  out += "</tbody></table></div>";
  if (shown < record.trials.size())
    out += fmt::format(
        "<p class=\"more\">{} further trials are in <code>automl/journal.jsonl</code>.</p>",
        record.trials.size() - shown);
  return out;
}

}  // namespace assay::report::experiment
