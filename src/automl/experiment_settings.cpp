#include "automl/experiment_settings.h"

#include <algorithm>
#include <cmath>

#include "automl/start_models.h"
#include "automl/trained_graph.h"
#include "core/error.h"
#include "core/json_fields.h"
#include "core/text.h"

namespace assay::automl {

namespace {

// The ends of every range and every option, one parameter away from the others' first.
std::vector<Point> corners(const Space& space) {
  Point first;
  for (const Parameter& p : space.parameters())
    first[p.name] = p.kind == Parameter::Kind::choice ? 0 : p.low;
  std::vector<Point> points{first};
  for (const Parameter& p : space.parameters()) {
    const bool is_choice = p.kind == Parameter::Kind::choice;
    const std::size_t steps = is_choice ? p.options.size() : 2;
    for (std::size_t i = 1; i < steps; ++i) {
      Point point = first;
      point[p.name] = is_choice ? static_cast<double>(i) : settle(p, p.high);
      points.push_back(std::move(point));
    }
  }
  return points;
}

}  // namespace

static void decode_json(const Json& json, Hyper& to, const std::string& where) {
  to = hyper_from_json(json, where);
}

Json ExperimentSettings::default_space() {
  return {{"batch_size", {{"type", "choice"}, {"options", {32, 64, 128}}}},
          {"learning_rate", {{"type", "loguniform"}, {"low", 0.005}, {"high", 0.2}}},
          {"weight_decay", {{"type", "loguniform"}, {"low", 1e-5}, {"high", 1e-3}}},
          {"label_smoothing", {{"type", "uniform"}, {"low", 0.0}, {"high", 0.1}}},
          {"kernel_size", {{"type", "choice"}, {"options", {0, 5}}}},
          {"dropout", {{"type", "uniform"}, {"low", 0.0}, {"high", 0.2}}}};
}

const std::vector<std::string>& hyper_names() {
  static const std::vector<std::string> names{"batch_size",      "learning_rate", "weight_decay",
                                              "label_smoothing", "kernel_size",   "dropout"};
  return names;
}

Graph ExperimentSettings::start_graph(const std::string& where) const {
  if (start.is_object()) return graph_from_json(start, where + ": start");
  if (start == "resnet50") return resnet50();
  if (start == "resnet20") return resnet20(classes);
  if (start == "resnet8") return basic_resnet({32, 32, 3}, 3, 1, 16, classes);
  throw Error(ErrorKind::config, "unknown start model " + dump_line(start), where,
              "resnet8, resnet20, resnet50, or a graph file");
}

int ExperimentSettings::epochs_of_round(std::int64_t round) const {
  return epochs[std::min<std::size_t>(static_cast<std::size_t>(round), epochs.size() - 1)];
}

Patience ExperimentSettings::patience_of_trial(std::int64_t round) const {
  return patience ? *patience
                  : patience_of_round(static_cast<int>(std::min<std::int64_t>(round, 1000)));
}

Hyper ExperimentSettings::at(const Space& parameters, const Point& point) const {
  Json json = to_json(hyper);
  const Json values = parameters.values(point);
  for (const auto& [name, value] : values.items()) {
    if ((name == "batch_size" || name == "kernel_size") && value.is_number_float())
      json[name] = static_cast<std::int64_t>(std::llround(value.get<double>()));
    else
      json[name] = value;
  }
  return hyper_from_json(json, "space");
}

void check(const ExperimentSettings& settings, const std::string& where) {
  const auto wrong = [&](const std::string& what, const std::string& advice) {
    throw Error(ErrorKind::config, what, where, advice);
  };
  const Graph start = settings.start_graph(where);
  if (!within(start, settings.limits))
    wrong("the start model exceeds the limits of the experiment",
          "raise limits, or start with a smaller model");
  if (settings.epochs.empty()) wrong("'epochs' is empty", "for example [15, 30, 45, 60]");
  if (settings.space.is_null()) {
    (void)trained_graph(start, settings.hyper.kernel_size, settings.hyper.dropout, where);
    return;
  }
  const Space space = Space::parse(settings.space, where + ": space");
  for (const Parameter& p : space.parameters())
    if (std::ranges::find(hyper_names(), p.name) == hyper_names().end())
      wrong("the space has an unknown parameter '" + p.name + "'" +
                did_you_mean(p.name, hyper_names()),
            "known: " + join(hyper_names(), ", "));
  for (const Point& point : corners(space)) {
    try {
      const Hyper hyper = settings.at(space, point);
      (void)trained_graph(start, hyper.kernel_size, hyper.dropout, where);
    } catch (const Error& error) {
      wrong("the space holds values that cannot be trained with: " + error.message(),
            "correct the range or the options");
    }
  }
}

Json to_json(const ExperimentSettings& settings) {
  return fields_to_json(settings);
}

ExperimentSettings settings_from_json(const Json& json, const std::string& where) {
  auto settings = fields_from_json<ExperimentSettings>(json, where);
  if (settings.epochs.empty() || settings.workers < 1 || settings.attempts < 1 ||
      settings.devices_per_trial < 1)
    throw Error(ErrorKind::config, "the experiment's settings make no sense", where);
  return settings;
}

}  // namespace assay::automl
