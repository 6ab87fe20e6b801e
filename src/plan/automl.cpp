#include "plan/automl.h"

#include <algorithm>
#include <filesystem>

#include "config/mapping.h"
#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "plan/suite.h"

namespace assay::plan {

using automl::ExperimentSettings;
using config::Entry;
using config::Mapping;
using config::Node;
using namespace std::chrono_literals;

namespace {

constexpr auto kMaxDuration = std::chrono::hours(24 * 999);  // AAH's own default
constexpr std::int64_t kMany = std::int64_t{1} << 53;

Json read_start(const Node& node) {
  const std::string text = node.nonempty_text();
  static const std::vector<std::string> kNamed{"resnet8", "resnet20", "resnet50"};
  if (std::ranges::find(kNamed, text) != kNamed.end()) return text;
  if (!text.ends_with(".json"))
    node.fail("unknown start model '" + printable(text) + "'" + did_you_mean(text, kNamed),
              "resnet8, resnet20, resnet50, or the .json file of a graph in AIPerf's form");
  std::filesystem::path path(text);
  if (path.is_relative() && node.source() != nullptr && !node.is_override())
    path = std::filesystem::path(node.source()->path).parent_path() / path;
  try {
    Json json = parse_json(read_file(path), path.string());
    (void)automl::graph_from_json(json, path.string());
    return json;
  } catch (const Error& error) {
    node.fail("the start model cannot be used: " + std::string(error.message()), error.where());
  }
}

// The first trial must use the hyper-parameters that are written down, so they must be in the
// space.
void require_in_space(const Node& hyper, const ExperimentSettings& settings) {
  if (settings.space.is_null()) return;
  const automl::Space space = automl::Space::parse(settings.space, "");
  const Json values = to_json(settings.hyper);
  for (const Entry& entry : hyper.entries())
    for (const automl::Parameter& p : space.parameters())
      if (p.name == entry.key && !automl::holds(p, values.at(p.name)))
        entry.value.fail(
            "the first trial's " + entry.key + " is not in `space`: " + entry.value.describe(),
            entry.key == "kernel_size"
                ? "add it to `space`; 0 leaves every kernel as the graph has it"
                : "add it to `space`, or begin with a value that is there");
}

automl::Hyper read_hyper(const Node& node) {
  const Mapping map(node, "hyper", suite_keys().at("automl.hyper"));
  Json json = to_json(automl::Hyper{});
  for (const Entry& entry : node.entries())
    if (!entry.value.is_null()) json[entry.key] = entry.value.json();
  try {
    return automl::hyper_from_json(json, "");
  } catch (const Error& error) {
    node.fail(error.message());
  }
}

std::vector<int> read_epochs(const Node& node) {
  std::vector<int> epochs;
  if (node.is_scalar()) return {static_cast<int>(node.integer(1, 100'000))};
  for (const Node& item : node.items())
    epochs.push_back(static_cast<int>(item.integer(1, 100'000)));
  if (epochs.empty())
    node.fail("the list is empty", "for example [15, 30, 45, 60]: the epochs of round 0, 1, …");
  return epochs;
}

void read_limits(const Node& node, automl::Limits& limits) {
  const Mapping map(node, "limits of automl", suite_keys().at("automl.limits"));
  if (const Node* n = map.find("parameters")) limits.parameters = n->integer(1, kMany);
  if (const Node* n = map.find("operations")) limits.forward_operations = n->integer(1, kMany);
  if (const Node* n = map.find("activations")) limits.activations = n->integer(1, kMany);
  if (const Node* n = map.find("layers")) limits.layers = static_cast<int>(n->integer(1, 100'000));
}

void read_ending(const Mapping& map, ExperimentSettings& settings) {
  if (const Node* n = map.find("max_duration"))
    settings.max_duration = n->duration(1s, kMaxDuration);
  if (const Node* n = map.find("max_trials")) settings.max_trials = n->integer(1, 10'000'000);
  // A requested number of trials is as good an end as the time.
  if (!map.has("max_trials")) settings.min_duration = settings.max_duration;
  if (const Node* n = map.find("min_duration")) {
    settings.min_duration = n->is_off() ? 0s : n->duration(0s, kMaxDuration);
    if (settings.min_duration > settings.max_duration)
      n->fail("min_duration is longer than max_duration");
  }
  if (const Node* n = map.find("trial_limit")) settings.trial_limit = n->duration(1s, kMaxDuration);
  if (const Node* n = map.find("silence")) settings.silence = n->duration(6s, 24h);
  if (const Node* n = map.find("progress")) settings.progress = n->duration(6s, kMaxDuration);
  if (const Node* n = map.find("attempts"))
    settings.attempts = static_cast<int>(n->integer(1, 100));
}

}  // namespace

ExperimentSettings read_automl(const Node& node) {
  const Mapping map(node, "automl", suite_keys().at("automl"));
  ExperimentSettings settings;
  if (const Node* n = map.find("start")) settings.start = read_start(*n);
  if (const Node* n = map.find("classes"))
    settings.classes = static_cast<int>(n->integer(2, 100'000));
  if (const Node* n = map.find("data"))
    for (const Entry& entry : n->entries()) settings.data[entry.key] = entry.value.json();
  settings.precision = map.choice("precision", {"fp32", "tf32", "bf16", "fp16"});
  settings.data["precision"] = settings.precision;
  if (const Node* n = map.find("space")) settings.space = n->is_off() ? Json() : n->json();
  if (const Node* n = map.find("hyper")) settings.hyper = read_hyper(*n);
  if (const Node* n = map.find("epochs")) settings.epochs = read_epochs(*n);
  if (const Node* n = map.find("patience"); n != nullptr && n->is_off()) {
    settings.patience = automl::Patience{0, 0};
  } else if (n != nullptr) {
    const Mapping patience(*n, "patience", suite_keys().at("automl.patience"));
    automl::Patience rule;
    rule.epochs = static_cast<int>(patience.at("epochs").integer(1, 100'000));
    if (const Node* delta = patience.find("min_delta")) {
      rule.min_delta = delta->number();
      if (rule.min_delta < 0) delta->fail("expected a number from 0, got " + delta->describe());
    }
    settings.patience = rule;
  }
  read_ending(map, settings);
  if (const Node* n = map.find("seed"))
    settings.seed = static_cast<std::uint64_t>(n->integer(0, kMany));
  if (const Node* n = map.find("limits")) read_limits(*n, settings.limits);
  if (const Node* n = map.find("candidates"))
    settings.candidates = static_cast<int>(n->integer(1, 100'000));
  if (const Node* n = map.find("inherit")) settings.inherit = n->boolean();
  if (const Node* n = map.find("weights")) settings.weights_bytes = n->size();
  if (const Node* n = map.find("address")) settings.address = n->nonempty_text();
  if (const Node* n = map.find("devices_per_trial"))
    settings.devices_per_trial = static_cast<int>(n->integer(1, 1024));
  try {
    automl::check(settings, "");
  } catch (const Error& error) {
    const Node* space = map.find("space");
    (space == nullptr ? node : *space).fail(error.message(), error.advice());
  }
  if (const Node* n = map.find("hyper")) require_in_space(*n, settings);
  return settings;
}

}  // namespace assay::plan
