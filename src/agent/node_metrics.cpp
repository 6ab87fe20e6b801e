#include "agent/node_metrics.h"

#include <cmath>
#include <string_view>

#include <fmt/format.h>

#include "telemetry/source_kind.h"

namespace assay::agent {

namespace {

void append_escaped(std::string& out, std::string_view text) {
  for (const char c : text) {
    if (c == '\\' || c == '"') out += '\\';
    if (c == '\n')
      out += "\\n";
    else
      out += c;
  }
}

std::string label(std::string_view name, std::string_view value) {
  std::string out(name);
  out += "=\"";
  append_escaped(out, value);
  return out + '"';
}

// Writes one family after another; a family without samples leaves no trace.
class Page {
 public:
  void family(std::string_view name, std::string_view type, std::string_view help) {
    name_ = name;
    type_ = type;
    help_ = help;
    announced_ = false;
  }

  void sample(std::string_view labels, double value) {
    begin(labels);
    if (std::isnan(value))
      text_ += "NaN";
    else if (std::isinf(value))
      text_ += value > 0 ? "+Inf" : "-Inf";
    else
      fmt::format_to(std::back_inserter(text_), "{}", value);
    text_ += '\n';
  }

  void count(std::string_view labels, std::uint64_t value) {
    begin(labels);
    fmt::format_to(std::back_inserter(text_), "{}\n", value);
  }

  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  void begin(std::string_view labels) {
    const auto to = std::back_inserter(text_);
    if (!announced_) fmt::format_to(to, "# HELP {0} {1}\n# TYPE {0} {2}\n", name_, help_, type_);
    announced_ = true;
    fmt::format_to(to, "{}{{{}}} ", name_, labels);
  }

  std::string text_;
  std::string_view name_, type_, help_;
  bool announced_ = false;
};

constexpr std::string_view to_string(RankMetrics::State state) {
  switch (state) {
    case RankMetrics::State::running:
      return "running";
    case RankMetrics::State::succeeded:
      return "succeeded";
    case RankMetrics::State::failed:
      return "failed";
    case RankMetrics::State::waiting:
      break;
  }
  return "waiting";
}

void render_ranks(Page& page, const RoundMetrics& round, const std::string& common) {
  using State = RankMetrics::State;
  page.family("assay_ranks", "gauge", "Ranks of this node by state.");
  for (const State state : {State::waiting, State::running, State::succeeded, State::failed}) {
    std::uint64_t count = 0;
    for (const RankMetrics& rank : round.ranks) count += rank.state == state ? 1 : 0;
    page.count(common + ',' + label("state", to_string(state)), count);
  }
  std::vector<std::string> labels;
  labels.reserve(round.ranks.size());
  for (const RankMetrics& rank : round.ranks)
    labels.push_back(common + ',' + label("rank", std::to_string(rank.rank)));
  const auto each = [&](std::string_view name, std::string_view type, std::string_view help,
                        auto&& value) {
    page.family(name, type, help);
    for (std::size_t i = 0; i < round.ranks.size(); ++i) {
      const std::optional<double> known = value(round.ranks[i]);
      if (known) page.sample(labels[i], *known);
    }
  };
  const auto number = [](auto value) { return std::optional(static_cast<double>(value)); };
  each("assay_rank_running", "gauge", "1 while the rank's process runs, else 0.",
       [&](const RankMetrics& r) { return number(r.state == State::running); });
  each("assay_rank_steps_total", "counter", "Steps that the rank has logged.",
       [&](const RankMetrics& r) { return number(r.steps); });
  each("assay_rank_step", "gauge", "Number of the newest step.",
       [&](const RankMetrics& r) { return r.step ? number(*r.step) : std::nullopt; });
  each("assay_rank_samples_total", "counter", "Samples that the rank has processed.",
       [](const RankMetrics& r) { return r.samples; });
  each("assay_rank_epochs_total", "counter", "Epochs that the rank has logged.",
       [&](const RankMetrics& r) { return number(r.epochs); });
  each("assay_rank_loss", "gauge", "Loss of the newest step that has one.",
       [](const RankMetrics& r) { return r.loss; });
  each("assay_rank_accuracy", "gauge", "Accuracy of the newest evaluation.",
       [](const RankMetrics& r) { return r.accuracy; });
  each("assay_rank_best_accuracy", "gauge", "Best accuracy of all evaluations.",
       [](const RankMetrics& r) { return r.best_accuracy; });
  each("assay_rank_output_bytes_total", "counter", "Output of the rank.",
       [&](const RankMetrics& r) { return number(r.output_bytes); });
  each("assay_rank_idle_seconds", "gauge", "Time since the running rank's last output.",
       [&](const RankMetrics& r) {
         return r.state == State::running ? std::optional(r.idle_s) : std::nullopt;
       });
  if (!round.automl) return;
  each("assay_automl_trials_total", "counter", "AutoML trials that the worker has trained.",
       [&](const RankMetrics& r) { return number(r.trials); });
}

// Writes one family per column for the sources of one kind, with their labels.
using Labeled = std::vector<std::pair<const SourceMetrics*, std::string>>;
void render_columns(Page& page, telemetry::Family telemetry::ColumnInfo::*family,
                    const Labeled& sources) {
  for (const telemetry::ColumnInfo& column : telemetry::kColumnTable) {
    const auto& [name, help] = column.*family;
    if (name.empty()) continue;
    page.family(name, column.is_counter() ? "counter" : "gauge", help);
    for (const auto& [source, labels] : sources) {
      const double value = source->values[column.column];
      if (std::isfinite(value)) page.sample(labels, value * column.base_factor());
    }
  }
}

void render_sources(Page& page, const RoundMetrics& round, const std::string& common) {
  Labeled node, devices, parts;
  for (const SourceMetrics& source : round.sources) {
    switch (telemetry::source_kind(source.source)) {
      case telemetry::SourceKind::node:
        node.emplace_back(&source, common);
        break;
      case telemetry::SourceKind::device:
        devices.emplace_back(&source, common + ',' + label("device", source.source.substr(3)));
        break;
      default:
        parts.emplace_back(&source, common + ',' + label("source", source.source));
    }
  }
  render_columns(page, &telemetry::ColumnInfo::node, node);
  page.family("assay_node_power_watts", "gauge",
              "Power of the node: its management controller's, else packages and devices.");
  if (round.power_w) page.sample(common, *round.power_w);
  render_columns(page, &telemetry::ColumnInfo::part, parts);
  render_columns(page, &telemetry::ColumnInfo::device, devices);
}

}  // namespace

std::string render_metrics(const AgentMetrics& metrics) {
  Page page;
  const std::string host = label("host", metrics.host);
  page.family("assay_build_info", "gauge", "Always 1; the version of the agent.");
  page.count(host + ',' + label("version", metrics.version), 1);
  page.family("assay_agent_cpu_seconds_total", "counter", "Processor time of the agent itself.");
  page.sample(host, metrics.cpu_s);
  page.family("assay_agent_resident_memory_bytes", "gauge", "Memory of the agent itself.");
  page.sample(host, static_cast<double>(metrics.resident_bytes));
  page.family("assay_agent_http_requests_total", "counter", "Requests that were answered.");
  page.count(host, metrics.requests);
  page.family("assay_agent_http_evicted_total", "counter",
              "Connections that were closed because there were too many.");
  page.count(host, metrics.evicted);
  if (metrics.round) {
    const RoundMetrics& round = *metrics.round;
    const std::string common = host + ',' + label("case", round.case_name) + ',' +
                               label("round", std::to_string(round.round));
    page.family("assay_round_running", "gauge", "1 while the round runs, 0 when it has ended.");
    page.count(common, round.running ? 1 : 0);
    render_ranks(page, round, common);
    render_sources(page, round, common);
  }
  return page.take();
}

}  // namespace assay::agent
