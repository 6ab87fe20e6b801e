#include "plan/overrides.h"

#include <algorithm>
#include <set>

#include <fnmatch.h>

#include "config/yaml.h"
#include "core/text.h"
#include "plan/case_key.h"
#include "plan/sweep.h"

namespace assay::plan {

using config::Entry;
using config::Node;
using config::Source;

bool glob_matches(const std::string& pattern, const std::string& text) {
  return ::fnmatch(pattern.c_str(), text.c_str(), 0) == 0;
}

bool is_glob(const std::string& pattern) {
  return pattern.find_first_of("*?[") != std::string::npos;
}

namespace {

// Splits a case-level path, but only the part with a known structure: names of config keys and
// variables may contain dots.
std::vector<std::string> split_path(const std::string& path) {
  std::vector<std::string> parts;
  std::string_view rest = path;
  for (;;) {
    const auto dot = rest.find('.');
    const bool opaque = !parts.empty() && (parts.back() == "config" || parts.back() == "env" ||
                                           parts.back() == "sweep");
    if (dot == std::string_view::npos || opaque) {
      parts.emplace_back(rest);
      return parts;
    }
    parts.emplace_back(rest.substr(0, dot));
    rest.remove_prefix(dot + 1);
  }
}

struct Setting {
  std::string path;
  Node value;
};

// Lists, mappings and quoted text are YAML; anything else is taken literally, so that nothing on a
// command line needs double quoting.
Setting parse_setting(const std::string& text) {
  const Source source{"--set " + text, "--set " + text, true};
  const auto shared = std::make_shared<const Source>(source);
  const auto equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    throw Error(ErrorKind::config, "expected key=value", source.path,
                "for example: --set telemetry.interval=0.5s");
  const std::string value(trim(std::string_view(text).substr(equals + 1)));
  if (!value.empty() && std::string_view("[{\"'").find(value[0]) != std::string_view::npos) {
    const Node node = config::parse_yaml(value, source);
    return {text.substr(0, equals), node};
  }
  return {text.substr(0, equals), Node::scalar(value, !value.empty(), shared, 0, 0)};
}

class Applier {
 public:
  Applier(const Suite& suite, const catalog::Catalog& catalog)
      : root_(suite.root), source_(suite.root.source()) {
    const Node* cases = suite.root.find("cases");
    for (std::size_t i = 0; i < suite.cases.size(); ++i) {
      const Node& node = cases->items()[i];
      workloads_.push_back(
          suite.cases[i].command.empty() ? catalog.find_workload(suite.cases[i].model) : nullptr);
      const std::string sweep = sweep_name(suite.cases[i], workloads_.back());
      names_.push_back(sweep.empty() ? suite.cases[i].name : sweep);
      cases_.push_back(node.is_mapping()
                           ? node
                           : Node::mapping({Entry{"case", node.line(), node.column(), node}},
                                           node.source(), node.line(), node.column()));
    }
  }

  void apply(const std::string& text) {
    const Setting setting = parse_setting(text);
    const std::string head(split(setting.path, '.').front());
    if (head == "cases") {
      apply_to_selected(setting);
    } else if (is_top_key(head)) {
      root_ = root_.with(split_path(setting.path), setting.value);
    } else if (is_shared_case_key(head)) {
      std::vector<std::size_t> all(cases_.size());
      for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
      apply_to(all, split_path(setting.path), setting.value, true);
    } else {
      setting.value.fail("unknown setting '" + printable(ellipsize(head, 60)) + "'" +
                             did_you_mean(head, known_heads()),
                         "settings begin with: " + join(known_heads(), ", "));
    }
  }

  [[nodiscard]] Node root() const {
    return root_.with({"cases"}, Node::sequence(cases_, source_, 0, 0));
  }

 private:
  static bool is_top_key(const std::string& key) {
    return std::ranges::find(suite_keys().at(""), key) != suite_keys().at("").end();
  }
  static bool is_case_key(const std::string& key) {
    return std::ranges::find(suite_keys().at("case"), key) != suite_keys().at("case").end();
  }
  static bool is_shared_case_key(const std::string& key) {
    return is_case_key(key) && key != "case" && key != "name";
  }
  static std::vector<std::string> known_heads() {
    std::vector<std::string> heads = suite_keys().at("");
    for (const std::string& key : suite_keys().at("case"))
      if (is_shared_case_key(key)) heads.push_back(key);
    return heads;
  }

  // cases.NAME.PATH: the name may contain dots, so this tries every dot; the first match wins.
  void apply_to_selected(const Setting& setting) {
    const std::string rest =
        setting.path.size() > 6 ? setting.path.substr(6) : std::string();  // after "cases."
    std::string pattern = rest;
    for (auto dot = rest.find('.'); dot != std::string::npos; dot = rest.find('.', dot + 1)) {
      const std::string candidate = rest.substr(0, dot);
      const std::string path = rest.substr(dot + 1);
      const std::vector<std::size_t> selected = matching(candidate);
      if (selected.empty()) continue;
      pattern = candidate;
      const std::string key(split(path, '.').front());
      if (!is_case_key(key)) continue;
      apply_to(selected, split_path(path), setting.value, is_glob(candidate));
      return;
    }
    if (!matching(pattern).empty()) {
      const std::string tail = rest.substr(std::min(rest.size(), pattern.size() + 1));
      const std::string key = tail.substr(0, tail.find('.'));
      setting.value.fail(
          "unknown key '" + key + "' of a case" + did_you_mean(key, suite_keys().at("case")),
          "keys of a case: " + join(suite_keys().at("case"), ", "));
    }
    pattern = rest.substr(0, rest.rfind('.'));
    setting.value.fail(
        "no case is named as in '" + setting.path + "'" + did_you_mean(pattern, names_),
        "cases: " + join(names_, ", ") + "; write cases.NAME.KEY=VALUE");
  }

  [[nodiscard]] std::vector<std::size_t> matching(const std::string& pattern) const {
    std::vector<std::size_t> out;
    for (std::size_t i = 0; i < names_.size(); ++i)
      if (names_[i] == pattern || (is_glob(pattern) && glob_matches(pattern, names_[i])))
        out.push_back(i);
    return out;
  }

  void apply_to(std::vector<std::size_t> selected, const std::vector<std::string>& path,
                const Node& value, bool only_where_known) {
    if (path[0] == "config" && path.size() == 1) value.fail("name the key, as in config.size=256");
    if (path[0] == "config" && only_where_known) selected = having(selected, path[1], value);
    for (const std::size_t i : selected) cases_[i] = cases_[i].with(path, value);
  }

  [[nodiscard]] std::vector<std::size_t> having(const std::vector<std::size_t>& selected,
                                                const std::string& key, const Node& value) const {
    std::vector<std::size_t> out;
    std::set<std::string> known;
    const auto has = [&](const Node* config) {
      if (config == nullptr || !config->is_mapping()) return false;
      for (const Entry& entry : config->entries()) known.insert(entry.key);
      return config->find(key) != nullptr;
    };
    for (const std::size_t i : selected) {
      const Node* sweep = cases_[i].find("sweep");
      const bool swept =
          sweep != nullptr && sweep->is_mapping() && sweep->find("config." + key) != nullptr;
      const bool own = has(cases_[i].find("config")) || swept;
      const bool inherited = workloads_[i] != nullptr && has(&workloads_[i]->config);
      if (own || inherited) out.push_back(i);
    }
    if (out.empty()) refuse_declared(selected, key, value);
    if (out.empty()) config::require_known(value, "config key", key, {known.begin(), known.end()});
    return out;
  }

  // A command that reads the value from its own file would not see a new one.
  void refuse_declared(const std::vector<std::size_t>& selected, const std::string& key,
                       const Node& value) const {
    for (const std::size_t i : selected) {
      const Node* declared = cases_[i].find("declared");
      const Node* said = declared == nullptr ? nullptr : declared->find(key);
      if (said == nullptr) continue;
      value.fail("config." + key + " has no way to the command of the case '" + names_[i] +
                     "', which reads it from files of its own (declared at " + said->where() + ")",
                 "change it in those files; or let the command read config.json, whose path is "
                 "{config}");
    }
  }

  Node root_;
  std::shared_ptr<const Source> source_;
  std::vector<std::string> names_;
  std::vector<const catalog::Workload*> workloads_;
  std::vector<Node> cases_;
};

}  // namespace

Node apply_overrides(const Suite& suite, const catalog::Catalog& catalog,
                     const std::vector<std::string>& overrides) {
  if (overrides.empty()) return suite.root;
  Applier applier(suite, catalog);
  for (const std::string& text : overrides) applier.apply(text);
  return applier.root();
}

}  // namespace assay::plan
