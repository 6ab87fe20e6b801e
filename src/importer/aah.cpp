#include "importer/aah.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "config/node.h"
#include "config/yaml.h"
#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "core/units.h"
#include "importer/aah_space.h"
#include "importer/aah_trial.h"

namespace assay::importer {

namespace {

using config::Node;

constexpr int kMaxWorkers = 100'000;
constexpr const char* kCifarFolder = "/userhome/cifar-10-batches-bin";

// AAH's guide shows its file with remarks after continued lines and with "\#" for comments, neither
// of which YAML accepts. Keeps the line numbers.
std::string without_remarks(std::string_view text) {
  std::string out;
  for (std::string_view line : split(text, '\n')) {
    char quote = 0;
    std::size_t end = line.size();
    for (std::size_t i = 0; i < line.size(); ++i) {
      const char c = line[i];
      if (quote != 0) {
        if (c == quote) quote = 0;
      } else if (c == '\'' || c == '"') {
        quote = c;
      } else if (c == '#' && (i == 0 || line[i - 1] == ' ' || line[i - 1] == '\t' ||
                              (line[i - 1] == '\\' && trim(line.substr(0, i - 1)).empty()))) {
        end = i > 0 && line[i - 1] == '\\' ? i - 1 : i;
        break;
      }
    }
    std::string kept(line.substr(0, end));
    std::ranges::replace(kept, '\t', ' ');
    while (!kept.empty() && (kept.back() == ' ' || kept.back() == '\r')) kept.pop_back();
    out += kept + "\n";
  }
  return out;
}

std::string in_quotes(std::string_view text) {
  std::string out = "'";
  for (const char c : printable(text))
    out += c == '\'' ? "''" : std::string(1, c == '\n' ? ' ' : c);
  return out + "'";
}

class Importer {
 public:
  // `folder` is the file's; empty without one.
  Importer(std::string file, std::filesystem::path folder)
      : file_(std::move(file)), folder_(std::move(folder)) {}

  AahImport read(std::string_view text) {
    const Node root = config::parse_yaml(without_remarks(text), {file_, file_, false});
    for (const config::Entry& entry : root.entries()) top(entry);
    if (!seen_trial_)
      throw Error(ErrorKind::config, "there is no 'trial' with its command", file_,
                  "is this the config.yml of an AAH experiment?");
    read_space();
    return {render(), std::move(diagnostics_)};
  }

 private:
  void report(Severity severity, int line, int column, std::string message) {
    diagnostics_.push_back({file_, line, column, severity, std::move(message)});
  }
  void warn(const config::Entry& entry, std::string message) {
    report(Severity::warning, entry.line, entry.column, std::move(message));
  }
  void note(const config::Entry& entry, std::string message) {
    report(Severity::note, entry.line, entry.column, std::move(message));
  }
  void unknown(const config::Entry& entry, const std::string& where,
               const std::vector<std::string>& known) {
    warn(entry, fmt::format("'{}' is not a key of {}{}; left out", printable(entry.key), where,
                            did_you_mean(entry.key, known)));
  }

  void top(const config::Entry& entry) {
    static const std::vector<std::string> kKnown{
        "authorName",      "experimentName", "trialConcurrency",
        "maxExecDuration", "maxTrialNum",    "trainingServicePlatform",
        "useAnnotation",   "logLevel",       "logDir",
        "nniManagerIp",    "debug",          "multiPhase",
        "multiThread",     "versionCheck",   "searchSpacePath",
        "tuner",           "trial"};
    const std::string& key = entry.key;
    const Node& value = entry.value;
    if (key == "authorName") {
      author_ = value.text();
    } else if (key == "experimentName") {
      name_ = value.nonempty_text();
    } else if (key == "trialConcurrency") {
      concurrency_ = static_cast<int>(value.integer(1, kMaxWorkers));
      concurrency_line_ = entry.line;
      concurrency_column_ = entry.column;
    } else if (key == "maxExecDuration") {
      duration(value);
    } else if (key == "maxTrialNum") {
      max_trials_ = value.integer(1, 10'000'000);
    } else if (key == "trainingServicePlatform") {
      if (value.text() != "local")
        warn(entry, "only 'local' is what AAH runs with; the launcher comes from the command");
    } else if (key == "useAnnotation" || key == "multiPhase" || key == "multiThread") {
      if (value.boolean()) warn(entry, "'" + key + "' has no meaning in a suite; left out");
    } else if (key == "searchSpacePath") {
      space_file_ = value.nonempty_text();
    } else if (key == "nniManagerIp") {
      address(entry, value.text());
    } else if (key == "logLevel" || key == "logDir" || key == "debug" || key == "versionCheck") {
      note(entry, "'" + key + "' has no place in a suite");
    } else if (key == "tuner") {
      tuner(value);
    } else if (key == "trial") {
      trial(value);
    } else {
      unknown(entry, "AAH's config.yml", kKnown);
    }
  }

  // AAH reads search_space.json beside its script, even if config.yml does not name it.
  void read_space() {
    if (folder_.empty()) return;
    const std::filesystem::path path =
        folder_ / (space_file_.empty() ? std::string("search_space.json") : space_file_);
    if (space_file_.empty() && !std::filesystem::is_regular_file(path)) return;
    const std::string where = path.string();
    space_ = read_aah_space(parse_json(read_file(path), where), where);
    for (const std::string& remark : space_.remarks)
      diagnostics_.push_back({where, 0, 0, Severity::warning, remark});
  }

  void duration(const Node& value) {
    const std::string text = value.nonempty_text();
    const bool has_unit = std::string_view("smhd").find(text.back()) != std::string_view::npos;
    const auto parsed = has_unit ? parse_duration(text) : std::nullopt;
    if (!parsed || parsed->count() <= 0)
      value.fail("not a duration: " + value.describe(), "a number with s, m, h or d, as 24h");
    duration_ = text;
  }

  void tuner(const Node& value) {
    static const std::vector<std::string> kArguments{"optimize_mode", "task", "input_width",
                                                     "input_channel", "n_output_node"};
    for (const config::Entry& entry : value.entries()) {
      if (entry.key == "builtinTunerName") {
        if (entry.value.text() != "NetworkMorphism")
          entry.value.fail("AAH searches with NetworkMorphism, not " + entry.value.describe());
      } else if (entry.key == "classArgs") {
        for (const config::Entry& argument : entry.value.entries()) {
          if (argument.key == "optimize_mode") {
            if (argument.value.text() != "maximize")
              argument.value.fail("an accuracy is maximised, not " + argument.value.describe());
          } else if (argument.key == "task") {
            if (argument.value.text() != "cv")
              argument.value.fail("only the task 'cv' can be trained, not " +
                                  argument.value.describe());
          } else if (argument.key == "input_width") {
            width_ = static_cast<int>(argument.value.integer(1, 100'000));
            width_node_ = argument.value;
          } else if (argument.key == "input_channel") {
            if (argument.value.integer() != 3)
              argument.value.fail("images have 3 channels, not " + argument.value.describe());
          } else if (argument.key == "n_output_node") {
            classes_ = static_cast<int>(argument.value.integer(2, 100'000));
          } else {
            unknown(argument, "the tuner's classArgs", kArguments);
          }
        }
      } else if (entry.key == "gpuNum" || entry.key == "gpuIndices") {
        note(entry, "the search runs on the controller's CPU: '" + entry.key + "' is left out");
      } else {
        unknown(entry, "tuner", {"builtinTunerName", "classArgs"});
      }
    }
  }

  void trial(const Node& value) {
    seen_trial_ = true;
    for (const config::Entry& entry : value.entries()) {
      if (entry.key == "command")
        command(entry);
      else if (entry.key == "codeDir")
        note(entry, "Assay brings its own trainer: 'codeDir' is left out");
      else if (entry.key == "gpuNum") {
        if (entry.value.integer() != 0)
          note(entry, "the devices come from CUDA_VISIBLE_DEVICES: 'gpuNum' is left out");
      } else {
        unknown(entry, "trial", {"command", "codeDir", "gpuNum"});
      }
    }
  }

  void command(const config::Entry& entry) {
    trial_ = read_aah_command(entry, [&](Severity severity, std::string message) {
      report(severity, entry.line, entry.column, std::move(message));
    });
    if (!trial_.address.empty()) address(entry, trial_.address);
  }

  void address(const config::Entry& entry, const std::string& text) {
    if (text == "127.0.0.1" || text == "localhost") return;
    address_ = text;
    note(entry,
         "the address " + printable(text) + " is where workers will look for the controller");
  }

  // A trial uses all devices of a slave node, so several at once need as many machines. AAH's file
  // does not say how it reached them.
  [[nodiscard]] bool needs_machines() const {
    return !trial_.slurm && trial_.devices > 0 && concurrency_ > 1;
  }

  [[nodiscard]] std::string cluster() {
    if (trial_.slurm) return "cluster: {launcher: slurm}\n";
    if (!needs_machines()) return "";
    report(Severity::warning, concurrency_line_, concurrency_column_,
           fmt::format("{} trials at once, each with all {} of a machine of its own: name {} "
                       "machines as cluster.hosts, or set launcher: slurm",
                       concurrency_, counted(static_cast<std::size_t>(trial_.devices), "device"),
                       concurrency_));
    return fmt::format("cluster: {{launcher: ssh, hosts: []}} # name {} machines\n", concurrency_);
  }

  [[nodiscard]] std::string data() const {
    if (trial_.cifar)
      return fmt::format("{{data: cifar10, path: {}}}",
                         in_quotes(trial_.train_dir.empty() ? kCifarFolder : trial_.train_dir));
    if (trial_.train_dir.empty()) return "{data: glyphs}";
    namespace fs = std::filesystem;
    const auto parent = [](const std::string& dir) {
      fs::path path = fs::path(dir).lexically_normal();
      if (path.filename().empty()) path = path.parent_path();
      return path.parent_path();
    };
    return fmt::format("{{data: tfrecord, path: {}, final_lr_fraction: {}}}",
                       in_quotes(parent(trial_.train_dir).string()),
                       trial_.final_lr / trial_.initial_lr);
  }

  // Both tfrecord folders must be side by side, with the expected names.
  void check_folders() {
    namespace fs = std::filesystem;
    static const std::vector<std::string> kTrain{"train", "train_tfrecord"};
    static const std::vector<std::string> kVal{"validation", "val", "validation_tfrecord",
                                               "val_tfrecord"};
    const auto clean = [](const std::string& dir) {
      const fs::path path = fs::path(dir).lexically_normal();
      return path.filename().empty() ? path.parent_path() : path;
    };
    const fs::path train = clean(trial_.train_dir);
    const fs::path val = clean(trial_.val_dir.empty() ? trial_.train_dir : trial_.val_dir);
    const bool known =
        std::ranges::count(kTrain, train.filename().string()) > 0 &&
        (trial_.val_dir.empty() || std::ranges::count(kVal, val.filename().string()) > 0);
    if (train.parent_path() != val.parent_path() || !known)
      report(Severity::warning, 0, 0,
             "the folders of --train_data_dir and --val_data_dir have to lie side by side, as "
             "train or train_tfrecord and validation or validation_tfrecord (docs/data.md): link "
             "them so");
  }

  std::string render() {
    if (trial_.cifar) {
      if (width_ != 32 || classes_ != 10)
        report(
            Severity::note, 0, 0,
            fmt::format("the script trains on CIFAR-10: 32×32 images of 10 classes, not {} and {} "
                        "as classArgs say",
                        width_, classes_));
      width_ = 32;
      classes_ = 10;
    }
    const bool imagenet = width_ == 224;
    if (width_ != 224 && width_ != 32)
      width_node_.fail(fmt::format("there is no start model for images of {} pixels", width_),
                       "224 (ResNet-50) or 32 (ResNet-20)");
    if (imagenet && classes_ != 1000)
      width_node_.fail("ResNet-50 has 1000 classes, not " + std::to_string(classes_));
    if (trial_.slave && *trial_.slave != concurrency_)
      report(Severity::warning, 0, 0,
             fmt::format("--slave {} and trialConcurrency {} should agree; the latter is taken",
                         *trial_.slave, concurrency_));
    if (trial_.cifar && trial_.train_dir.empty())
      report(Severity::warning, 0, 0,
             "the script fetches CIFAR-10 itself: `data.path` must be the folder of its binary "
             "files, on every node");
    else if (trial_.train_dir.empty())
      report(Severity::warning, 0, 0, "no --train_data_dir: generated images are trained on");
    else if (!trial_.cifar)
      check_folders();
    std::string out = "# Made by 'assay import aah' from " + printable(file_) + "\n";
    if (!author_.empty()) out += "# authorName: " + printable(author_) + "\n";
    out += fmt::format("name: {}\n", in_quotes(name_));
    out += fmt::format("vendor: {}\n", trial_.devices > 0 ? trial_.vendor : "cpu");
    out += cluster();
    out += "cases:\n  - name: aah\n    model: automl\n";
    const bool own_machines = trial_.slurm || needs_machines();
    out += fmt::format("    nodes: {}\n", own_machines ? concurrency_ : 1);
    out += fmt::format("    procs: {}\n",
                       std::max(1, trial_.devices) * (own_machines ? 1 : concurrency_));
    if (!trial_.visible_variable.empty())
      out += fmt::format("    env: {{{}: {}}}\n", trial_.visible_variable,
                         in_quotes(trial_.visible_devices));
    out += "    rules: # when AIPerf counts a score\n";
    out += "      automl-accuracy: {min: 0.7}\n";
    out += "      automl-hour: {severity: invalid}\n";
    out += "    automl:\n";
    out += fmt::format("      start: {}\n", imagenet ? "resnet50" : "resnet20");
    if (!imagenet) out += fmt::format("      classes: {}\n", classes_);
    out += "      data: " + data() + "\n";
    if (trial_.devices > 1)
      out += fmt::format("      devices_per_trial: {} # batch_size is that of one device\n",
                         trial_.devices);
    out += fmt::format("      precision: {} # at least 16 bits\n",
                       trial_.devices > 0 ? "fp16" : "fp32");
    out += fmt::format("      max_duration: {0}\n      min_duration: {0}\n", duration_);
    out += fmt::format("      max_trials: {}\n", max_trials_);
    out += fmt::format("      epochs: [{}, {}, {}, {}]\n", trial_.epochs[0], trial_.epochs[1],
                       trial_.epochs[2], trial_.epochs[3]);
    out += fmt::format("      hyper: {{batch_size: {}, learning_rate: {}, label_smoothing: {}}}\n",
                       trial_.batch_size, trial_.initial_lr, trial_.smoothing);
    if (trial_.cifar) out += "      patience: {epochs: 10, min_delta: 0.001}\n";
    out += importer::render(space_, trial_.batch_size);
    if (!address_.empty()) out += "      address: " + in_quotes(address_) + "\n";
    return out;
  }

  std::string file_;
  std::filesystem::path folder_;
  std::string space_file_;
  AahSpace space_;
  AahTrial trial_;
  std::vector<Diagnostic> diagnostics_;
  std::string author_;
  std::string name_ = "aah";
  std::string duration_ = "999d";
  std::string address_;
  std::int64_t max_trials_ = 99'999;
  int concurrency_ = 1;
  int concurrency_line_ = 0;
  int concurrency_column_ = 0;
  int width_ = 224;
  Node width_node_;
  int classes_ = 1000;
  bool seen_trial_ = false;
};

}  // namespace

AahImport import_aah_text(std::string_view text, const std::string& file) {
  return Importer(file, {}).read(text);
}

AahImport import_aah(const std::filesystem::path& file) {
  const std::filesystem::path folder = file.parent_path();
  return Importer(file.string(), folder.empty() ? "." : folder).read(config::read_yaml_text(file));
}

}  // namespace assay::importer
