#include "plan/sweep.h"

#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>

#include "core/sha256.h"
#include "core/text.h"
#include "plan/case_key.h"
#include "plan/sweep_constraints.h"

namespace assay::plan {

using catalog::Workload;
using config::Entry;
using config::Node;

namespace {

// "batch_size" for "config.batch_size"; the whole key if another axis would have the same label.
std::vector<std::string> labels_of(const std::vector<WrittenDimension>& dimensions) {
  std::vector<std::string> labels;
  for (const WrittenDimension& one : dimensions) {
    const auto shared =
        std::ranges::count(dimensions, one.path.back(),
                           [](const WrittenDimension& other) { return other.path.back(); });
    labels.push_back(shared > 1 ? one.key : one.path.back());
  }
  return labels;
}

Node without(const Node& mapping, const std::string& key) {
  std::vector<Entry> entries = mapping.entries();
  std::erase_if(entries, [&](const Entry& entry) { return entry.key == key; });
  return Node::mapping(std::move(entries), mapping.source(), mapping.line(), mapping.column());
}

Node scalar_at(const Node& place, std::string text) {
  return Node::scalar(std::move(text), true, place.source(), place.line(), place.column());
}

// A case key fixes all fields at once, so where one of them varies, the others are written out.
Node without_case_key(const Node& case_node) {
  const Node* key_node = case_node.find("case");
  const CaseKey key = parse_case_key(*key_node);
  Node out = case_node;
  const auto put = [&](const char* field, const std::string& value) {
    const Node* given = case_node.find(field);
    if (given == nullptr || !given->is_override())
      out = out.with({field}, scalar_at(*key_node, value));
  };
  put("model", key.model);
  put("framework", key.framework);
  put("hardware", key.hardware);
  put("nodes", std::to_string(key.nodes));
  put("procs", std::to_string(key.procs));
  put("repeats", std::to_string(key.repeats));
  return without(out, "case");
}

bool varies_case_key(const std::vector<WrittenDimension>& dimensions) {
  static constexpr std::array<const char*, 5> kFields{"model", "framework", "hardware", "nodes",
                                                      "procs"};
  return std::ranges::any_of(dimensions, [](const WrittenDimension& one) {
    return std::ranges::find(kFields, one.key) != kFields.end();
  });
}

// Iterates over the grid: an index into each axis's values; the last one changes fastest.
class Grid {
 public:
  explicit Grid(const std::vector<WrittenDimension>& dimensions) : dimensions_(dimensions) {}

  [[nodiscard]] std::size_t size() const {
    std::size_t points = 1;
    for (const WrittenDimension& one : dimensions_) {
      points *= one.values.size();
      if (points > kMaxGridPoints)
        dimensions_.front().place.fail(
            fmt::format("the grid has more than {} points", kMaxGridPoints),
            "take values away, or make two sweeps of it");
    }
    return points;
  }

  [[nodiscard]] std::vector<std::size_t> at(std::size_t number) const {
    std::vector<std::size_t> place(dimensions_.size());
    for (std::size_t i = dimensions_.size(); i-- > 0;) {
      place[i] = number % dimensions_[i].values.size();
      number /= dimensions_[i].values.size();
    }
    return place;
  }

 private:
  const std::vector<WrittenDimension>& dimensions_;
};

// The names for a constraint: an axis by label or key, or a value that is the same at every point.
std::optional<Node> fixed_value(const SuiteCase& wanted, const std::string& name) {
  if (name == "nodes") return scalar_at(wanted.node, std::to_string(wanted.nodes));
  if (name == "procs") return scalar_at(wanted.node, std::to_string(wanted.procs));
  for (const std::string& key : {name, "config." + name, "env." + name})
    if (const Node* value = node_of_path(wanted.node, path_of(key));
        value != nullptr && value->is_scalar())
      return *value;
  return std::nullopt;
}

class SweepExpansion {
 public:
  SweepExpansion(const SuiteCase& wanted, std::vector<WrittenDimension> dimensions,
                 std::string name)
      : wanted_(wanted),
        dimensions_(std::move(dimensions)),
        labels_(labels_of(dimensions_)),
        constraints_(constraints_node(wanted.node)) {
    sweep.name = std::move(name);
    sweep.origin = wanted.node.origin();
    for (std::size_t i = 0; i < dimensions_.size(); ++i) {
      SweepDimension dimension{dimensions_[i].key, labels_[i], {}};
      for (const Node& value : dimensions_[i].values) dimension.values.push_back(value.json());
      sweep.dimensions.push_back(std::move(dimension));
    }
  }

  void expand() {
    const Grid grid(dimensions_);
    Node base = without(wanted_.node, "sweep");
    if (base.find("case") != nullptr && varies_case_key(dimensions_)) base = without_case_key(base);
    // Otherwise its own name would be taken for the workload's.
    if (base.find("case") == nullptr && base.find("model") == nullptr)
      base = base.with({"model"}, scalar_at(wanted_.node, wanted_.model));
    const std::size_t all = grid.size();
    for (std::size_t number = 0; number < all; ++number) {
      const std::vector<std::size_t> place = grid.at(number);
      if (!allowed(place)) {
        ++sweep.excluded;
        continue;
      }
      if (nodes.size() == kMaxSweepPoints)
        dimensions_.front().place.fail(
            fmt::format("the sweep '{}' has more than {} points: its grid has {}",
                        printable(sweep.name), kMaxSweepPoints, all),
            "take values away, leave points out with 'where' or 'exclude', or make two sweeps");
      add(base, place);
    }
    constraints_.require_use();
    if (nodes.empty())
      wanted_.node.fail("no point is left of the sweep '" + printable(sweep.name) +
                            "': 'where' and 'exclude' leave out all " + counted(all, "point"),
                        "a point is run where every 'where' holds and no 'exclude' fits");
  }

  Sweep sweep;
  std::vector<Node> nodes;
  std::vector<SweepPoint> points;

 private:
  static Node constraints_node(const Node& case_node) {
    const Node* sweep = case_node.find("sweep");
    return sweep == nullptr ? Node() : *sweep;
  }

  [[nodiscard]] bool allowed(const std::vector<std::size_t>& place) {
    const auto value_of = [&](const std::string& name) -> std::optional<Node> {
      for (std::size_t i = 0; i < dimensions_.size(); ++i)
        if (labels_[i] == name || dimensions_[i].key == name)
          return dimensions_[i].values[place[i]];
      return fixed_value(wanted_, name);
    };
    return constraints_.allows(value_of, labels_);
  }

  void add(const Node& base, const std::vector<std::size_t>& place) {
    Node node = base;
    SweepPoint point{sweep.name, {}};
    std::vector<std::string> parts;
    for (std::size_t i = 0; i < dimensions_.size(); ++i) {
      const Node& value = dimensions_[i].values[place[i]];
      node = node.with(dimensions_[i].path, value);
      point.values.push_back(sweep.dimensions[i].values[place[i]]);
      parts.push_back(labels_[i] + "=" + point_value_text(value));
    }
    std::string name = sweep.name + "@" + join(parts, ",");
    if (name.size() > kMaxNameBytes)
      name = sweep.name.substr(0, kMaxNameBytes - 20) + "@" + sha256(name).substr(0, 12);
    const Node* own = wanted_.node.find("name");
    nodes.push_back(node.with({"name"}, scalar_at(own == nullptr ? wanted_.node : *own, name)));
    points.push_back(std::move(point));
  }

  const SuiteCase& wanted_;
  std::vector<WrittenDimension> dimensions_;
  std::vector<std::string> labels_;
  SweepConstraints constraints_;
};

const Workload* workload_for(const SuiteCase& wanted, const catalog::Catalog& catalog) {
  return wanted.command.empty() && !wanted.automl ? catalog.find_workload(wanted.model) : nullptr;
}

}  // namespace

Node first_point(const Node& case_node) {
  const std::vector<WrittenDimension> dimensions = sweep_dimensions(case_node, nullptr);
  if (dimensions.empty()) return case_node;
  Node out = case_node.find("case") != nullptr && varies_case_key(dimensions)
                 ? without_case_key(case_node)
                 : case_node;
  for (const WrittenDimension& one : dimensions) out = out.with(one.path, one.values.front());
  return out;
}

std::string sweep_name(const SuiteCase& wanted, const Workload* workload) {
  const std::vector<WrittenDimension> dimensions = sweep_dimensions(wanted.node, workload);
  if (dimensions.empty()) {
    const Node* sweep = wanted.node.is_mapping() ? wanted.node.find("sweep") : nullptr;
    // When --set replaced every axis of a sweep, its only case keeps the plain name.
    if (sweep != nullptr && sweep->is_mapping() && !sweep->entries().empty() &&
        std::ranges::all_of(sweep->entries(),
                            [](const Entry& entry) { return is_constraint(entry.key); }))
      sweep->fail("the sweep has no axis", kSweepForm);
    return {};
  }
  const Node* name = wanted.node.find("name");
  return name != nullptr && !name->is_null() ? wanted.name : wanted.model;
}

std::string point_value_text(const Node& value) {
  constexpr std::size_t kMaxBytes = 40;
  const std::string whole = value.is_scalar() ? value.text() : dump_line(value.json());
  std::string text = printable(whole);
  for (char& c : text)
    if (c == '/' || c == ' ' || c == '\n' || c == '\t' || c == ',' || c == '=') c = '_';
  if (text.size() > kMaxBytes) {
    std::size_t end = kMaxBytes;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
    text.resize(end);
  }
  // Gives two values that read alike different names, independently of the other values.
  return text == whole && !text.empty() ? text : text + "~" + sha256(whole).substr(0, 6);
}

Suite expand_sweeps(const Suite& suite, const catalog::Catalog& catalog) {
  std::vector<Node> nodes;
  std::vector<std::optional<SweepPoint>> points;
  std::vector<Sweep> sweeps;
  std::map<std::string, std::string> places;
  for (const SuiteCase& wanted : suite.cases) {
    const Workload* workload = workload_for(wanted, catalog);
    const std::string name = sweep_name(wanted, workload);
    if (name.empty()) {
      const bool emptied = wanted.node.is_mapping() && wanted.node.find("sweep") != nullptr;
      nodes.push_back(emptied ? without(wanted.node, "sweep") : wanted.node);
      points.emplace_back();
      continue;
    }
    const auto [first, fresh] = places.try_emplace(name, wanted.node.where());
    if (!fresh)
      wanted.node.fail(
          "the sweep '" + printable(name) + "' exists twice, first at " + first->second,
          "give one of them another 'name'");
    SweepExpansion expansion(wanted, sweep_dimensions(wanted.node, workload), name);
    expansion.expand();
    for (std::size_t i = 0; i < expansion.nodes.size(); ++i) {
      nodes.push_back(std::move(expansion.nodes[i]));
      points.emplace_back(std::move(expansion.points[i]));
    }
    sweeps.push_back(std::move(expansion.sweep));
  }
  if (sweeps.empty() && std::ranges::none_of(suite.cases, [](const SuiteCase& wanted) {
        return wanted.node.is_mapping() && wanted.node.find("sweep") != nullptr;
      }))
    return suite;
  const Node& listed = *suite.root.find("cases");
  Suite out =
      read_suite(suite.root.with({"cases"}, Node::sequence(std::move(nodes), listed.source(),
                                                           listed.line(), listed.column())));
  out.file = suite.file;
  out.sha256 = suite.sha256;
  for (std::size_t i = 0; i < points.size(); ++i) out.cases[i].point = std::move(points[i]);
  for (const Sweep& sweep : sweeps)
    if (std::ranges::find(out.cases, sweep.name, &SuiteCase::name) != out.cases.end())
      throw Error(ErrorKind::config,
                  "a case and a sweep are both named '" + printable(sweep.name) + "'", sweep.origin,
                  "give one of them another 'name'");
  out.sweeps = std::move(sweeps);
  return out;
}

}  // namespace assay::plan
