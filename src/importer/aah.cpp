#include "importer/aah.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "config/node.h"
#include "config/yaml.h"
#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "core/units.h"
#include "importer/aah_space.h"

namespace assay::importer {

namespace {

using config::Node;

constexpr int kMaxWorkers = 100'000;
constexpr int kMaxDevices = 1024;
constexpr const char* kCifarFolder = "/userhome/cifar-10-batches-bin";

// AAH's guide shows its file with remarks behind continued lines and with "\#" for comments; YAML
// takes neither. Lines stay where they are.
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
  // `folder`: of the file; empty when there is none.
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

  // AAH reads search_space.json beside its script, whether or not config.yml names it.
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
    std::vector<std::string> words;
    const std::string text = entry.value.text();
    for (std::string_view part : split(text, ' '))
      if (part = trim(part); !part.empty() && part != "\\") words.emplace_back(part);
    bool in_srun = false;
    bool in_script = false;
    for (std::size_t i = 0; i < words.size(); ++i) {
      std::string word = words[i];
      if (!in_script && word.find('=') != std::string::npos && !word.starts_with("-")) {
        variable(entry, word);
      } else if (word == "srun") {
        in_srun = slurm_ = true;
      } else if (word.ends_with(".py")) {
        in_srun = false;
        in_script = true;
        script(entry, word);
      } else if (word.starts_with("-")) {
        std::string argument;
        if (const auto at = word.find('='); at != std::string::npos) {
          argument = word.substr(at + 1);
          word = word.substr(0, at);
        } else if (i + 1 < words.size() && !words[i + 1].starts_with("--")) {
          argument = words[++i];
        }
        if (in_script)
          option(entry, word, argument);
        else if (in_srun)
          srun(entry, word, argument);
      }
    }
    if (!in_script)
      entry.value.fail("the command runs no Python script of AAH",
                       "it is 'srun … python3 imagenet_train.py --slave 1 …'");
  }

  // CIFAR-10's scripts read 32×32 images of 10 classes, whatever classArgs say (AIPerf's own file
  // says 224 and 1000), and have defaults of their own.
  void script(const config::Entry& entry, const std::string& name) {
    if (std::filesystem::path(name).filename().string().find("cifar10") == std::string::npos)
      return;
    cifar_ = true;
    if (width_ != 32 || classes_ != 10)
      note(entry, fmt::format("{} trains on CIFAR-10: 32×32 images of 10 classes, not {} and {} as "
                              "classArgs say",
                              printable(name), width_, classes_));
    batch_size_ = 128;
    smoothing_ = 0;
    std::ranges::fill(epochs_, 2);
  }

  void variable(const config::Entry& entry, const std::string& word) {
    struct Variable {
      std::string_view name;
      std::string_view vendor;
      bool is_count;
    };
    static constexpr std::array<Variable, 6> kVariables{
        {{"CUDA_VISIBLE_DEVICES", "nvidia", false},
         {"HIP_VISIBLE_DEVICES", "amd", false},
         {"ASCEND_VISIBLE_DEVICES", "ascend", false},
         {"ASCEND_RT_VISIBLE_DEVICES", "ascend", false},
         {"MLU_VISIBLE_DEVICES", "cambricon", false},
         {"NPU_NUM", "ascend", true}}};
    const auto at = word.find('=');
    const std::string name = word.substr(0, at);
    const std::string value = word.substr(at + 1);
    const auto* known = std::ranges::find(kVariables, name, &Variable::name);
    if (known == kVariables.end()) {
      warn(entry, "the variable " + name + " is left out: `env` of the case has place");
      return;
    }
    if (known->is_count)
      devices_ = static_cast<int>(number(entry, name, value, 0));
    else
      devices_ = value.empty() ? 0 : static_cast<int>(split(value, ',').size());
    if (devices_ > kMaxDevices)
      entry.value.fail(fmt::format("{} names {} devices of a node", name, devices_));
    vendor_ = known->vendor;
    if (devices_ > 0 && vendor_ != "nvidia" && vendor_ != "amd")
      warn(entry, "Assay's trainer computes on CUDA and ROCm devices and on CPUs: for " + vendor_ +
                      " it needs a libtorch that has them");
  }

  void srun(const config::Entry& entry, const std::string& word, const std::string& argument) {
    static const std::vector<std::string> kOne{"-N", "-n", "--nodes", "--ntasks",
                                               "--ntasks-per-node"};
    if (std::ranges::find(kOne, word) != kOne.end()) {
      if (argument != "1")
        warn(entry, fmt::format("srun's {} {}: a worker of Assay has one task", word, argument));
    } else if (word == "--cpus-per-task") {
      note(entry, "srun's --cpus-per-task is left out: a node's workers share its cores");
    } else {
      warn(entry,
           fmt::format("srun's option {} is left out: cluster.slurm has place for it", word));
    }
  }

  double number(const config::Entry& entry, const std::string& word, const std::string& argument,
                double least) const {
    try {
      std::size_t used = 0;
      const double value = std::stod(argument, &used);
      if (used == argument.size() && std::isfinite(value) && value >= least) return value;
    } catch (const std::exception&) {  // reported below
    }
    entry.value.fail(fmt::format("the command's {} should be a number of at least {}, got '{}'",
                                 word, least, printable(argument)));
  }

  void option(const config::Entry& entry, const std::string& word, const std::string& argument) {
    static const std::vector<std::string> kKnown{"--slave",          "--ip",
                                                 "--batch_size",     "--epoch",
                                                 "--epochs",         "--initial_lr",
                                                 "--learning_rate",  "--weight_decay",
                                                 "--optimizer",      "--final_lr",
                                                 "--train_data_dir", "--val_data_dir",
                                                 "--warmup_1",       "--warmup_2",
                                                 "--warmup_3",       "--maxTPEsearchNum",
                                                 "--smooth_factor",  "--num_parallel_calls"};
    const auto whole = [&] { return static_cast<int>(number(entry, word, argument, 1)); };
    if (word == "--slave") {
      slave_ = whole();
    } else if (word == "--ip") {
      address(entry, argument);
    } else if (word == "--batch_size") {
      batch_size_ = whole();
    } else if (word == "--epoch" || word == "--epochs") {
      epochs_[3] = whole();
      if (cifar_) std::ranges::fill(epochs_, epochs_[3]);
    } else if (word.starts_with("--warmup_") && std::ranges::find(kKnown, word) != kKnown.end()) {
      epochs_[static_cast<std::size_t>(word.back() - '1')] = whole();
    } else if (word == "--optimizer" && cifar_) {
      if (argument != "SGD")
        warn(entry, "trials are trained with SGD, not with " + printable(argument));
    } else if (word == "--weight_decay" && cifar_) {
      note(entry, "--weight_decay is Keras' decay of the learning rate: left out");
    } else if (word == "--initial_lr" || (word == "--learning_rate" && cifar_)) {
      initial_lr_ = number(entry, word, argument, 1e-9);
    } else if (word == "--final_lr") {
      final_lr_ = number(entry, word, argument, 0);
    } else if (word == "--train_data_dir") {
      train_dir_ = argument;
    } else if (word == "--val_data_dir") {
      val_dir_ = argument;
    } else if (word == "--smooth_factor") {
      smoothing_ = number(entry, word, argument, 0);
    } else if (word == "--num_parallel_calls") {
      note(entry, "--num_parallel_calls is left out: `loader_threads` of data has place");
    } else if (word == "--maxTPEsearchNum") {
      note(entry, "--maxTPEsearchNum is left out: every trial has one point of the TPE's");
    } else {
      warn(entry, fmt::format("the trial's option {} is not known{}; left out", printable(word),
                              did_you_mean(word, kKnown)));
    }
  }

  void address(const config::Entry& entry, const std::string& text) {
    if (text == "127.0.0.1" || text == "localhost") return;
    address_ = text;
    note(entry,
         "the address " + printable(text) + " is where workers will look for the controller");
  }

  [[nodiscard]] std::string data() const {
    if (cifar_)
      return fmt::format("{{data: cifar10, path: {}}}",
                         in_quotes(train_dir_.empty() ? kCifarFolder : train_dir_));
    if (train_dir_.empty()) return "{data: glyphs}";
    namespace fs = std::filesystem;
    const auto parent = [](const std::string& dir) {
      fs::path path = fs::path(dir).lexically_normal();
      if (path.filename().empty()) path = path.parent_path();
      return path.parent_path();
    };
    return fmt::format("{{data: tfrecord, path: {}, final_lr_fraction: {}}}",
                       in_quotes(parent(train_dir_).string()), final_lr_ / initial_lr_);
  }

  // Both folders of the tfrecord files have to lie side by side, with names that are looked for.
  void check_folders() {
    namespace fs = std::filesystem;
    static const std::vector<std::string> kTrain{"train", "train_tfrecord"};
    static const std::vector<std::string> kVal{"validation", "val", "validation_tfrecord",
                                               "val_tfrecord"};
    const auto clean = [](const std::string& dir) {
      const fs::path path = fs::path(dir).lexically_normal();
      return path.filename().empty() ? path.parent_path() : path;
    };
    const fs::path train = clean(train_dir_);
    const fs::path val = clean(val_dir_.empty() ? train_dir_ : val_dir_);
    const bool known = std::ranges::count(kTrain, train.filename().string()) > 0 &&
                       (val_dir_.empty() || std::ranges::count(kVal, val.filename().string()) > 0);
    if (train.parent_path() != val.parent_path() || !known)
      report(Severity::warning, 0, 0,
             "the folders of --train_data_dir and --val_data_dir have to lie side by side, as "
             "train or train_tfrecord and validation or validation_tfrecord (docs/data.md): link "
             "them so");
  }

  std::string render() {
    if (cifar_) {
      width_ = 32;
      classes_ = 10;
    }
    const bool imagenet = width_ == 224;
    if (width_ != 224 && width_ != 32)
      width_node_.fail(fmt::format("there is no start model for images of {} pixels", width_),
                       "224 (ResNet-50) or 32 (ResNet-20)");
    if (imagenet && classes_ != 1000)
      width_node_.fail("ResNet-50 has 1000 classes, not " + std::to_string(classes_));
    if (slave_ && *slave_ != concurrency_)
      report(Severity::warning, 0, 0,
             fmt::format("--slave {} and trialConcurrency {} should agree; the latter is taken",
                         *slave_, concurrency_));
    if (cifar_ && train_dir_.empty())
      report(Severity::warning, 0, 0,
             "the script fetches CIFAR-10 itself: `data.path` must be the folder of its binary "
             "files, on every node");
    else if (train_dir_.empty())
      report(Severity::warning, 0, 0, "no --train_data_dir: generated images are trained on");
    else if (!cifar_)
      check_folders();
    std::string out = "# Made by 'assay import aah' from " + printable(file_) + "\n";
    if (!author_.empty()) out += "# authorName: " + printable(author_) + "\n";
    out += fmt::format("name: {}\n", in_quotes(name_));
    out += fmt::format("vendor: {}\n", devices_ > 0 ? vendor_ : "cpu");
    if (slurm_) out += "cluster: {launcher: slurm}\n";
    out += "cases:\n  - name: aah\n    model: automl\n";
    out += fmt::format("    nodes: {}\n", slurm_ ? concurrency_ : 1);
    out += fmt::format("    procs: {}\n",
                       std::max(1, devices_) * (slurm_ || devices_ > 0 ? 1 : concurrency_));
    out += "    rules: # when AIPerf counts a score\n";
    out += "      automl-accuracy: {min: 0.7}\n";
    out += "      automl-hour: {severity: invalid}\n";
    out += "    automl:\n";
    out += fmt::format("      start: {}\n", imagenet ? "resnet50" : "resnet20");
    if (!imagenet) out += fmt::format("      classes: {}\n", classes_);
    out += "      data: " + data() + "\n";
    if (devices_ > 1)
      out +=
          fmt::format("      devices_per_trial: {} # batch_size is that of one device\n", devices_);
    out += fmt::format("      precision: {} # at least 16 bits\n", devices_ > 0 ? "fp16" : "fp32");
    out += fmt::format("      max_duration: {0}\n      min_duration: {0}\n", duration_);
    out += fmt::format("      max_trials: {}\n", max_trials_);
    out += fmt::format("      epochs: [{}, {}, {}, {}]\n", epochs_[0], epochs_[1], epochs_[2],
                       epochs_[3]);
    out += fmt::format("      hyper: {{batch_size: {}, learning_rate: {}, label_smoothing: {}}}\n",
                       batch_size_, initial_lr_, smoothing_);
    if (cifar_) out += "      patience: {epochs: 10, min_delta: 0.001}\n";
    out += importer::render(space_, batch_size_);
    if (!address_.empty()) out += "      address: " + in_quotes(address_) + "\n";
    return out;
  }

  std::string file_;
  std::filesystem::path folder_;
  std::string space_file_;
  AahSpace space_;
  bool cifar_ = false;
  std::string vendor_ = "nvidia";
  std::vector<Diagnostic> diagnostics_;
  std::string author_;
  std::string name_ = "aah";
  std::string duration_ = "999d";
  std::string address_;
  std::string train_dir_;
  std::string val_dir_;
  std::int64_t max_trials_ = 99'999;
  int concurrency_ = 1;
  std::optional<int> slave_;
  int width_ = 224;
  Node width_node_;
  int classes_ = 1000;
  int devices_ = 0;
  int batch_size_ = 448;
  int epochs_[4] = {15, 30, 45, 60};
  double initial_lr_ = 0.1;
  double final_lr_ = 0;
  double smoothing_ = 0.1;
  bool slurm_ = false;
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
