#include <map>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "automl/experiment_settings.h"
#include "automl/operations.h"
#include "automl/trained_graph.h"
#include "commands/base/commands.h"
#include "commands/base/known_commands.h"
#include "commands/base/terminal.h"
#include "core/enum_names.h"
#include "core/error.h"
#include "core/files.h"
#include "page/table.h"
#include "page/text_width.h"

namespace assay::commands {

namespace {

using automl::Graph;
using automl::Layer;
using automl::LayerKind;
using automl::Operations;

struct OpsOptions {
  std::string model;
  std::string format = "console";
  int classes = 10;
  int kernel_size = 0;
  double dropout = 0;
  bool by_kind = false;
};

Graph read_model(const OpsOptions& options) {
  automl::ExperimentSettings settings;
  settings.classes = options.classes;
  settings.start = options.model;
  if (options.model.ends_with(".json"))
    settings.start = parse_json(read_file(options.model), options.model);
  return automl::trained_graph(settings.start_graph(options.model), options.kernel_size,
                               options.dropout, options.model);
}

std::string shape_text(const automl::Shape& shape) {
  return shape.flat ? std::to_string(shape.channels)
                    : fmt::format("{}×{}×{}", shape.height, shape.width, shape.channels);
}

// Both counts for a layer, for all layers of a kind, or for the model.
struct OperationCount {
  std::int64_t layers = 0;
  std::int64_t parameters = 0;
  Operations aiperf;
  Operations exact;
  OperationCount& operator+=(const OperationCount& other) {
    layers += other.layers;
    parameters += other.parameters;
    aiperf += other.aiperf;
    exact += other.exact;
    return *this;
  }
};

OperationCount count_of(const Graph& graph, int id) {
  return {1, automl::parameters(graph.layers()[static_cast<std::size_t>(id)]),
          automl::aiperf_operations(graph, id), automl::exact_operations(graph, id)};
}

// Work that belongs to no layer: adding the gradients of a node that several layers read.
OperationCount sums_at_nodes(const Graph& graph, const OperationCount& layers) {
  OperationCount sums;
  const Operations whole = automl::exact_operations(graph);
  sums.exact = {whole.forward - layers.exact.forward, whole.backward - layers.exact.backward};
  return sums;
}

Json operations_json(const OperationCount& count) {
  return {{"parameters", count.parameters},
          {"aiperf", {{"forward", count.aiperf.forward}, {"backward", count.aiperf.backward}}},
          {"exact", {{"forward", count.exact.forward}, {"backward", count.exact.backward}}}};
}

// With grouped thousands: 7,806,583,495.
std::string grouped_digits(std::int64_t value) {
  std::string text = std::to_string(value);
  for (std::ptrdiff_t at = static_cast<std::ptrdiff_t>(text.size()) - 3; at > 0; at -= 3)
    text.insert(static_cast<std::size_t>(at), ",");
  return text;
}

std::vector<page::Cell> number_cells(const OperationCount& count) {
  return {grouped_digits(count.parameters), grouped_digits(count.aiperf.forward),
          grouped_digits(count.aiperf.backward), grouped_digits(count.exact.forward),
          grouped_digits(count.exact.backward)};
}

void print_operations(const page::Table& table) {
  const std::size_t width = terminal().interactive ? terminal().width : 10'000;
  for (const std::string& line : page::text_lines(table))
    fmt::print("{}\n", page::cut_to(line, width));
}

int show_operations(const OpsOptions& options) {
  const Graph graph = read_model(options);
  const auto layers = graph.layers();
  OperationCount total;
  std::map<LayerKind, OperationCount> kinds;
  Json list = Json::array();
  page::Table table{{{options.by_kind ? "LAYERS" : "LAYER", page::Align::right},
                     {"KIND"},
                     {options.by_kind ? "" : "SHAPE"},
                     {"PARAMETERS", page::Align::right},
                     {"AIPERF FORWARD", page::Align::right},
                     {"BACKWARD", page::Align::right},
                     {"EXACT FORWARD", page::Align::right},
                     {"BACKWARD", page::Align::right}}};
  const auto add_row = [&](std::vector<page::Cell> cells, const OperationCount& count) {
    for (page::Cell& cell : number_cells(count)) cells.push_back(std::move(cell));
    table.rows.push_back({std::move(cells)});
  };
  for (const int id : graph.order()) {
    const Layer& layer = layers[static_cast<std::size_t>(id)];
    const OperationCount count = count_of(graph, id);
    total += count;
    kinds[layer.kind] += count;
    const std::string in = shape_text(graph.shapes()[static_cast<std::size_t>(layer.inputs[0])]);
    const std::string out = shape_text(graph.shapes()[static_cast<std::size_t>(layer.output)]);
    Json entry{{"layer", id}, {"kind", to_text(layer.kind)}, {"input", in}, {"output", out}};
    entry.update(operations_json(count));
    list.push_back(std::move(entry));
    if (!options.by_kind)
      add_row({std::to_string(id), to_text(layer.kind), in + " → " + out}, count);
  }
  if (options.by_kind)
    for (const auto& [kind, count] : kinds)
      add_row({std::to_string(count.layers), to_text(kind), ""}, count);
  const OperationCount sums = sums_at_nodes(graph, total);
  if (sums.exact.backward > 0)
    add_row({"", "(gradients added where several layers read)", ""}, sums);
  total += sums;
  add_row({std::to_string(total.layers), "all, for one sample", ""}, total);
  const std::int64_t inference = automl::exact_inference(graph);
  if (options.format == "json") {
    Json out{{"model", options.model},
             {"layers", std::move(list)},
             {"sums_at_nodes", operations_json(sums)}};
    out["total"] = operations_json(total);
    out["total"]["exact"]["inference"] = inference;
    fmt::print("{}\n", out.dump(2));
    return 0;
  }
  print_operations(table);
  tell(fmt::format(
      "\nTo train one sample: {} by AIPerf's count, {} exactly. To validate one: {} and {}.\n",
      grouped_digits(total.aiperf.forward + total.aiperf.backward),
      grouped_digits(total.exact.forward + total.exact.backward),
      grouped_digits(total.aiperf.forward), grouped_digits(inference)));
  return 0;
}

}  // namespace

void add_ops(CLI::App& app, Action& action) {
  const auto options = std::make_shared<OpsOptions>();
  CLI::App* command = add_known(app, "ops");
  command
      ->add_option("model", options->model,
                   "resnet8, resnet20 or resnet50, or the .json file of a graph in AIPerf's form")
      ->required();
  command->add_option("--classes", options->classes, "Classes of resnet8 and resnet20")
      ->check(CLI::Range(2, 100'000));
  command->add_option("--kernel-size", options->kernel_size,
                      "With this kernel size, as a trial with it; 0: as the graph has it");
  command->add_option("--dropout", options->dropout, "With this dropout, as a trial with it");
  command->add_flag("--by-kind", options->by_kind, "One line for each kind of layer");
  command->add_option("--format", options->format, "console or json")
      ->check(CLI::IsMember({"console", "json"}));
  command->footer(
      "Both counts are per sample. AIPerf's is that of its profiler, so that scores compare; the\n"
      "exact one is what a straightforward program executes (docs/automl.md).\n\n"
      "Examples:\n  assay ops resnet50 --by-kind\n  assay ops resnet20 --classes 100\n"
      "  assay ops results/latest/logs/search_round1/graphs/3.json --format json");
  command->callback(
      [options, &action] { action = [options] { return show_operations(*options); }; });
}

}  // namespace assay::commands
