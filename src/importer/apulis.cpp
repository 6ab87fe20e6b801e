#include "importer/apulis.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "config/node.h"
#include "config/yaml.h"
#include "core/error.h"
#include "core/json.h"
#include "core/literal_text.h"
#include "core/parse_number.h"
#include "core/secrets.h"
#include "core/text.h"
#include "core/version.h"
#include "importer/json_places.h"

namespace assay::importer {

namespace {

// A command without the blanks and comments at its end, as a shell reads them: '#' within quotes or
// a word is text.
std::string_view without_last_comments(std::string_view command) {
  std::size_t end = 0;
  char quote = '\0';
  for (std::size_t i = 0; i < command.size(); ++i) {
    const char c = command[i];
    const bool begins_word =
        i == 0 || std::string_view(" \t\r\n;&|(").find(command[i - 1]) != std::string_view::npos;
    if (quote == '\0' && c == '#' && begins_word) {
      i = std::min(command.find('\n', i), command.size());
      continue;
    }
    if (std::string_view(" \t\r\n").find(c) == std::string_view::npos) end = i + 1;
    if (c == '\\' && quote != '\'')
      end = std::min(++i + 1, command.size());
    else if (quote != '\0')
      quote = c == quote ? '\0' : quote;
    else if (c == '"' || c == '\'')
      quote = c;
  }
  return command.substr(0, end);
}

using config::Node;

/// Fields about owner, time and display, and fields that are read together with others.
// clang-format off
constexpr auto kSilent = std::to_array<std::string_view>({
    "cluster", "containerUserId", "dataset", "description", "enabledataPath", "enabledatapath",
    "enablejobpath", "enableworkpath", "familyToken", "gid", "hyperparameterendvalue",
    "hyperparameterstartvalue", "hyperparameterstep", "isParent", "jobGroup", "jobId", "jobType",
    "job_token", "jobtrainingtype", "numps", "numpsworker", "resourcegpu", "team", "track",
    "uid", "userId", "userName"});
// clang-format on

/// Text in a form that YAML reads unchanged: a JSON string.
std::string as_scalar(const std::string& text) {
  return dump_line(Json(text));
}

bool is_variable(std::string_view name) {
  return !name.empty() && !(name[0] >= '0' && name[0] <= '9') &&
         std::ranges::all_of(name, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '_';
         });
}

class ApulisReader {
 public:
  explicit ApulisReader(std::string file) : file_(std::move(file)) {}

  ApulisImport read(std::string_view text) {
    Node root = parse_json_with_places(text, file_, "a job of Apulis");
    if (const Node* params = root.find("jobParams"); params != nullptr) {
      if (!params->is_mapping())
        params->fail("jobParams is not an object",
                     "as the database keeps it, it is Base64: decode it (base64 -d) first");
      root = *params;
    }
    if (root.find("cmd") == nullptr && root.find("jobName") == nullptr)
      root.fail("not a job of Apulis: it has neither 'jobName' nor 'cmd'",
                "give what POST /apis/PostJob takes, or a job's detail with its jobParams");
    shape(root);
    hyperparameter(root);
    for (const config::Entry& entry : root.entries()) field(entry);
    if (command_.empty())
      root.fail("the job has no command ('cmd')", "a case needs something to run");
    finish(root);
    return {render(), std::move(diagnostics_)};
  }

 private:
  void report(Severity severity, const config::Entry& entry, std::string message) {
    diagnostics_.push_back({file_, entry.line, entry.column, severity, std::move(message)});
  }
  void warn(const config::Entry& entry, std::string message) {
    report(Severity::warning, entry, std::move(message));
  }
  void note(const config::Entry& entry, std::string message) {
    report(Severity::note, entry, std::move(message));
  }

  /// The form sends numbers as numbers or as text.
  static int number(const Node& node, int least, int most) {
    const auto value = parse_number<int>(trim(node.text()), least, most);
    if (!value)
      node.fail(fmt::format("expected a whole number from {} to {}, not {}", least, most,
                            node.describe()));
    return *value;
  }
  static bool truth(const Node& node) {
    const std::string text = to_lower(trim(node.text()));
    if (text == "true" || text == "1") return true;
    if (text != "false" && text != "0" && !text.empty())
      node.fail("expected true or false, not " + node.describe());
    return false;
  }

  void shape(const Node& root) {
    const auto given = [&](const char* key) { return root.find(key); };
    std::string type = "RegularJob";
    if (const Node* node = given("jobtrainingtype"); node != nullptr && !node->is_null())
      type = node->text();
    if (type != "RegularJob" && type != "PSDistJob")
      root.find("jobtrainingtype")
          ->fail("not a kind of job that can be imported: " + given("jobtrainingtype")->describe(),
                 "RegularJob or PSDistJob; InferenceJob serves a model, and Apulis itself refuses "
                 "MPIDistJob");
    distributed_ = type == "PSDistJob";
    if (const Node* node = given("resourcegpu"); node != nullptr && !node->is_null())
      devices_ = number(*node, 0, 4096);
    if (!distributed_) return;
    const Node* workers = given("numpsworker");
    if (workers == nullptr || workers->is_null())
      root.fail("a PSDistJob needs 'numpsworker', its number of nodes");
    nodes_ = number(*workers, 1, 100'000);
  }

  /// Apulis starts a job for every value of a variable; a sweep has a case for each.
  void hyperparameter(const Node& root) {
    const Node* name = root.find("hyperparametername");
    if (name == nullptr || name->is_null() || name->text().empty()) return;
    if (!is_variable(name->text()))
      name->fail("not a valid name of a variable: " + name->describe());
    const auto given = [&](const char* key) {
      const Node* node = root.find(key);
      const auto value = node == nullptr || node->is_null()
                             ? std::nullopt
                             : parse_number<double>(trim(node->text()), -1e15, 1e15);
      if (!value)
        (node == nullptr ? *name : *node).fail(fmt::format("'{}' should be a number", key));
      return *value;
    };
    const double first = given("hyperparameterstartvalue");
    const double last = given("hyperparameterendvalue");
    const double step = given("hyperparameterstep");
    constexpr int kMaxPoints = 1000;
    const double steps = step > 0 ? (last - first) / step : -1;
    if (!(steps >= 0 && steps < kMaxPoints))
      name->fail(
          fmt::format("from {} to {} by {} are not 1 to {} values", first, last, step, kMaxPoints));
    sweep_name_ = name->text();
    // Includes the last value even if it is only nearly reached.
    for (int i = 0; i <= static_cast<int>(steps + 1e-6); ++i)
      sweep_values_.push_back(fmt::format("{:.10g}", first + i * step));
  }

  void field(const config::Entry& entry) {
    const std::string& key = entry.key;
    const Node& value = entry.value;
    if (value.is_null() || (value.is_scalar() && value.text().empty())) return;
    if (key == "jobName") {
      name_ = value.text();
    } else if (key == "image") {
      image_ = std::string(trim(value.text()));
    } else if (key == "cmd") {
      command_ = value.text();
    } else if (key == "gpuType") {
      device_type(entry);
    } else if (key == "frameworkType") {
      env_["aiframework"] = value.text();
      if (is_variable(value.text()) && value.text().size() <= 60)
        framework_ = value.text();
      else
        warn(entry, "not a name of a framework: " + value.describe());
    } else if (key == "codePath" || key == "outputPath") {
      env_[key == "codePath" ? "CODE_PATH" : "OUTPUT_PATH"] = value.text();
    } else if (key == "env") {
      variables(entry);
    } else if (key == "mountpoints") {
      mounts(entry);
    } else if (key == "hyperparametername") {
      note(entry, fmt::format("a sweep over {} in {}", counted(sweep_values_.size(), "value"),
                              sweep_name_));
    } else if (key == "hostNetwork" || key == "isPrivileged") {
      if (truth(value) && key == "isPrivileged")
        warn(entry,
             "privileged containers are not taken over; where the job needs one, add "
             "`options: [--privileged]` to `container`");
    } else if (key == "plugins") {
      if (!value.is_mapping() || std::ranges::any_of(value.entries(), [](const auto& plugin) {
            return !plugin.value.is_null() &&
                   !(plugin.value.is_sequence() && plugin.value.items().empty());
          }))
        warn(entry,
             "plugins hold keys and passwords, which are never copied; log in to the "
             "registry on the nodes, and mount the data there");
    } else {
      left_out(entry);
    }
  }

  void left_out(const config::Entry& entry) {
    static const std::map<std::string, std::string> kReasons{
        {"masterCmd", "a case has one command: 'cmd'"},
        {"workerCmd", "a case has one command: 'cmd'"},
        {"vcName", "the team is not a suite's matter"},
        {"preemptionAllowed", "whether a job may be preempted is not a suite's matter"},
        {"jobPriority", "the priority is not a suite's matter"},
        {"interactivePorts", "a suite has no endpoints"},
        {"endpoints", "a suite has no endpoints"},
        {"workPath", "where the platform keeps it is not known: mount it with `container.mounts`"},
        {"dataPath", "where the platform keeps it is not known: mount it with `container.mounts`"},
        {"jobPath", "the run directory takes its place"},
        {"logDir", "Assay starts no second job for TensorBoard"},
        {"nodeSelector", "name the nodes under `cluster.hosts`"},
        {"sku", "name the nodes under `cluster.hosts`"},
        {"useGPUTopology", "a case gets the devices of its nodes in their order"},
    };
    const std::string& key = entry.key;
    if (const auto reason = kReasons.find(key); reason != kReasons.end()) {
      if (entry.value.is_scalar() && to_lower(entry.value.text()) == "false") return;
      return warn(entry, fmt::format("'{}' is left out: {}", key, reason->second));
    }
    if (std::ranges::find(kSilent, key) != kSilent.end()) return;
    std::vector<std::string> known{"jobName",       "image",   "cmd",         "gpuType",
                                   "frameworkType", "env",     "mountpoints", "codePath",
                                   "outputPath",    "plugins", "hostNetwork", "isPrivileged"};
    known.insert(known.end(), kSilent.begin(), kSilent.end());
    for (const auto& [name, reason] : kReasons) known.push_back(name);
    warn(entry, fmt::format("'{}' is not a field of a job{}; left out",
                            ellipsize(printable(key), 80), did_you_mean(key, known)));
  }

  void device_type(const config::Entry& entry) {
    const std::string type = to_lower(entry.value.text());
    if (type.find("nvidia") != std::string::npos)
      vendor_ = "nvidia";
    else if (type.find("huawei") != std::string::npos || type.find("npu") != std::string::npos)
      vendor_ = "ascend";
    else
      warn(entry, "whose devices " + entry.value.describe() +
                      " are is not known: set `vendor` (`assay list vendors`)");
  }

  void variables(const config::Entry& list) {
    if (!list.value.is_sequence()) list.value.fail("expected a list of {name, value}");
    for (const Node& item : list.value.items()) {
      const Node* name = item.is_mapping() ? item.find("name") : nullptr;
      const Node* value = item.is_mapping() ? item.find("value") : nullptr;
      if (name == nullptr || value == nullptr) item.fail("expected {name, value}");
      const config::Entry at{"env", item.line(), item.column(), item};
      const std::string key(trim(name->text()));
      if (!is_variable(key)) name->fail("not a valid name of a variable: " + name->describe());
      const std::string text = value->is_null() ? "" : value->text();
      if (without_secret(key, text) != text) {
        warn(at, fmt::format("the value of {} looks like a secret and is not copied: set the "
                             "variable where `assay run` is started, or on the nodes",
                             key));
        continue;
      }
      if (!env_.emplace(key, text).second) {
        warn(at, fmt::format("{} is set twice; the last value is taken", key));
        env_[key] = text;
      }
    }
  }

  void mounts(const config::Entry& list) {
    if (!list.value.is_sequence()) list.value.fail("expected a list of mounts");
    for (const Node& item : list.value.items()) {
      if (!item.is_mapping()) item.fail("expected a mount with containerPath and hostPath");
      const config::Entry at{"mountpoints", item.line(), item.column(), item};
      const auto text = [&](const char* key) {
        const Node* node = item.find(key);
        return node == nullptr || node->is_null() ? std::string() : node->text();
      };
      if (const Node* enabled = item.find("enabled"); enabled != nullptr && !truth(*enabled))
        continue;
      std::string source = text("hostPath");
      const std::string target = text("containerPath");
      if (source.empty()) {
        warn(at, fmt::format("the mount at '{}' has no hostPath (a claim of Kubernetes?) and is "
                             "left out",
                             ellipsize(printable(target), 80)));
        continue;
      }
      if (const std::string below = text("subPath"); !below.empty()) source += "/" + below;
      for (const std::string& path : {source, target})
        if (!path.starts_with('/') || path.find_first_of(":\n") != std::string::npos ||
            ("/" + path + "/").find("/../") != std::string::npos)
          item.fail("not a path that can be mounted: '" + ellipsize(printable(path), 80) + "'");
      const Node* read_only = item.find("readOnly");
      mounts_.push_back(source + ":" + target +
                        (read_only != nullptr && truth(*read_only) ? ":ro" : ""));
    }
  }

  /// Handles settings that depend on several fields.
  void finish(const Node& root) {
    const auto at = [&](const char* key) {
      for (const config::Entry& entry : root.entries())
        if (entry.key == key) return entry;
      return config::Entry{key, root.line(), root.column(), root};
    };
    if (name_.empty()) name_ = "apulis-job";
    without_sleep(at("cmd"));
    for (const char* launcher : {"horovodrun", "mpirun", "mpiexec"})
      if (command_.find(launcher) != std::string::npos) head_ = true;
    if (distributed_ && head_)
      note(at("cmd"), "the command starts the processes on all nodes itself: `launch: head`");
    else if (distributed_)
      note(at("cmd"), "the command runs once on each node: `launch: per-node`");
    if (nodes_ > 1)
      warn(at("numpsworker"), fmt::format("the suite needs {} nodes: add them as `cluster` "
                                          "(`assay import nodes` can write it)",
                                          nodes_));
    if (image_.empty())
      note(at("jobName"), "there is no image: the command runs without container");
    if (image_.empty() && !mounts_.empty())
      warn(at("mountpoints"), "without an image nothing is mounted");
    if (image_.starts_with('-'))
      at("image").value.fail("not an image: " + at("image").value.describe());
    if (devices_ == 0 && !vendor_.empty()) vendor_ = "cpu";
  }

  /// Apulis's endpoints are kept alive by a sleep, which would keep a run from ending.
  void without_sleep(const config::Entry& entry) {
    constexpr std::string_view kSleep = "sleep infinity";
    std::string_view text = without_last_comments(command_);
    while (!text.empty() && text.back() == ';') text = trim(text.substr(0, text.size() - 1));
    if (!text.ends_with(kSleep)) return;
    text.remove_suffix(kSleep.size());
    std::string_view before = trim(text);
    if (before.empty())
      entry.value.fail("the command does nothing but sleep", "a case needs something to run");
    const std::string_view between = text.substr(text.find(before) + before.size());
    bool own_line = between.find('\n') != std::string_view::npos;
    if (own_line && before.ends_with('\\')) {  // its line goes on in the next one
      own_line = false;
      before = trim(before.substr(0, before.size() - 1));
    }
    // A line after '&', '|' or '||' is a part of what stands before it, or waits for it.
    if (before.ends_with("&&"))
      before = trim(before.substr(0, before.size() - 2));
    else if (before.ends_with(';'))
      before = trim(before.substr(0, before.size() - 1));
    else if (!own_line || before.ends_with('&') || before.ends_with('|')) {
      if (command_.find('\n') != std::string::npos)
        warn(entry, "the command ends with 'sleep infinity' and will not end by itself");
      return;
    }
    command_ = std::string(before);
    note(entry,
         "'sleep infinity' at the end of the command is left out: the case is over when "
         "its training is");
  }

  [[nodiscard]] std::string rendered_sweep() const {
    if (sweep_name_.empty()) return {};
    std::string out = "    sweep:\n      env." + sweep_name_ + ": [";
    for (std::size_t i = 0; i < sweep_values_.size(); ++i)
      out += (i == 0 ? "'" : ", '") + sweep_values_[i] + "'";
    return out + "]\n";
  }

  [[nodiscard]] std::string render() const {
    std::string out = fmt::format("# Written by assay {} import apulis, from {}.\n",
                                  version_string(), printable(file_));
    out += "name: " + as_scalar(printable(name_)) + "\n";
    if (!vendor_.empty()) out += "vendor: " + vendor_ + "\n";
    if (!image_.empty()) {
      out += "container:\n  image: " + as_scalar(image_) + "\n";
      if (!mounts_.empty()) out += "  mounts:\n";
      for (const std::string& mount : mounts_) out += "    - " + as_scalar(mount) + "\n";
    }
    std::string flavors = "torchrun, dlws";
    if (head_) flavors += ", mpi, horovod";
    if (vendor_ == "ascend") flavors += ", hccl";
    out += fmt::format(
        "cases:\n  - name: main\n    nodes: {}\n    procs: {}\n    launch: {}\n"
        "    rendezvous: [{}]\n",
        nodes_, std::max(1, devices_), head_ ? "head" : "per-node", flavors);
    if (!framework_.empty()) out += "    framework: " + as_scalar(framework_) + "\n";
    out += "    shell: true\n    command: " + as_scalar(without_placeholders(command_)) + "\n";
    if (!env_.empty()) out += "    env:\n";
    for (const auto& [key, value] : env_)
      out += "      " + key + ": " + as_scalar(without_placeholders(value)) + "\n";
    return out + rendered_sweep();
  }

  std::string file_;
  std::vector<Diagnostic> diagnostics_;
  std::string name_;
  std::string vendor_;
  std::string image_;
  std::string command_;
  std::string framework_;
  std::map<std::string, std::string> env_;
  std::vector<std::string> mounts_;
  std::string sweep_name_;
  std::vector<std::string> sweep_values_;
  bool distributed_ = false;
  bool head_ = false;
  int nodes_ = 1;
  int devices_ = 0;
};

}  // namespace

ApulisImport import_apulis_text(std::string_view text, const std::string& file) {
  return ApulisReader(file).read(text);
}

ApulisImport import_apulis(const std::filesystem::path& file) {
  return import_apulis_text(config::read_yaml_text(file), file.string());
}

}  // namespace assay::importer
