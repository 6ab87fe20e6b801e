#include "importer/aah_trial.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/text.h"

namespace assay::importer {

namespace {

constexpr int kMaxDevices = 1024;
constexpr double kMost = 1e9;  // for any option

class CommandReader {
 public:
  CommandReader(const config::Entry& entry, const std::function<void(Severity, std::string)>& tell)
      : entry_(entry), tell_(tell) {}

  AahTrial read() {
    std::vector<std::string> words;
    const std::string text = entry_.value.text();
    check_quotes(text);
    for (std::string_view part : split(text, ' '))
      if (part = trim(part); !part.empty() && part != "\\") words.emplace_back(part);
    bool in_srun = false;
    bool in_script = false;
    for (std::size_t i = 0; i < words.size(); ++i) {
      std::string word = words[i];
      if (!in_script && word.find('=') != std::string::npos && !word.starts_with("-")) {
        variable(word);
      } else if (word == "srun") {
        in_srun = out_.slurm = true;
      } else if (word.ends_with(".py")) {
        in_srun = false;
        in_script = true;
        script(word);
      } else if (word.starts_with("-")) {
        std::string argument;
        if (const auto at = word.find('='); at != std::string::npos) {
          argument = word.substr(at + 1);
          word = word.substr(0, at);
        } else if (i + 1 < words.size() && !words[i + 1].starts_with("--")) {
          argument = words[++i];
        }
        if (in_script)
          option(word, argument);
        else if (in_srun)
          srun(word, argument);
      }
    }
    if (!in_script)
      entry_.value.fail("the command runs no Python script of AAH",
                        "it is 'srun … python3 imagenet_train.py --slave 1 …'");
    check_epochs();
    return std::move(out_);
  }

 private:
  void warn(std::string message) { tell_(Severity::warning, std::move(message)); }
  void note(std::string message) { tell_(Severity::note, std::move(message)); }

  void check_quotes(std::string_view text) const {
    char open = 0;
    for (const char c : text)
      if (c == '\'' || c == '"') open = open == 0 ? c : open == c ? '\0' : open;
    if (open != 0)
      entry_.value.fail(fmt::format("the command has a {} that is not closed", open),
                        "a shell would not run it");
  }

  // If a warm-up was given, it must not train for more epochs than the trials after it.
  void check_epochs() const {
    static constexpr std::array<std::string_view, 4> kOptions{"--warmup_1", "--warmup_2",
                                                              "--warmup_3", "--epoch"};
    for (std::size_t i = 0; i + 1 < kOptions.size(); ++i)
      for (std::size_t later = i + 1; later < kOptions.size() && warmup_given_[i]; ++later)
        if (out_.epochs[i] > out_.epochs[later])
          entry_.value.fail(fmt::format("the command's {} {} is more than its {} {}", kOptions[i],
                                        out_.epochs[i], kOptions[later], out_.epochs[later]),
                            "trials are trained for longer and longer: 15, 30, 45 and 60 epochs");
  }

  // The number of devices in a list. The list itself is kept unless they are the first ones, which
  // a rank takes anyway.
  int listed_devices(const std::string& name, const std::string& value) {
    if (value.empty()) return 0;
    std::set<std::string_view> seen;
    bool first_ones = true;
    for (const std::string_view part : split(value, ',')) {
      first_ones = first_ones && trim(part) == fmt::format("{}", seen.size());
      if (trim(part).empty() || !seen.insert(trim(part)).second)
        entry_.value.fail(
            fmt::format("{}={} does not name every device once", name, printable(value)),
            "write it as 0,1,2,3");
    }
    out_.visible_variable = first_ones ? "" : name;
    out_.visible_devices = first_ones ? "" : value;
    return static_cast<int>(seen.size());
  }

  // CIFAR-10's scripts read 32×32 images of 10 classes, whatever classArgs say (AIPerf's own file
  // says 224 and 1000), and have their own defaults.
  void script(const std::string& name) {
    if (std::filesystem::path(name).filename().string().find("cifar10") == std::string::npos)
      return;
    out_.cifar = true;
    out_.batch_size = 128;
    out_.smoothing = 0;
    std::ranges::fill(out_.epochs, 2);
  }

  void variable(const std::string& word) {
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
      warn("the variable " + name + " is left out: `env` of the case has place");
      return;
    }
    if (known->is_count)
      out_.devices = static_cast<int>(number(name, value, 0));
    else
      out_.devices = listed_devices(name, value);
    if (out_.devices > kMaxDevices)
      entry_.value.fail(fmt::format("{} names {} devices of a node", name, out_.devices));
    out_.vendor = known->vendor;
    if (out_.devices > 0 && out_.vendor != "nvidia" && out_.vendor != "amd")
      warn("Assay's trainer computes on CUDA and ROCm devices and on CPUs: for " + out_.vendor +
           " it needs a libtorch that has them");
  }

  void srun(const std::string& word, const std::string& argument) {
    static const std::vector<std::string> kOne{"-N", "-n", "--nodes", "--ntasks",
                                               "--ntasks-per-node"};
    if (std::ranges::find(kOne, word) != kOne.end()) {
      if (argument != "1")
        warn(fmt::format("srun's {} {}: a worker of Assay has one task", word, argument));
    } else if (word == "--cpus-per-task") {
      note("srun's --cpus-per-task is left out: a node's workers share its cores");
    } else {
      warn(fmt::format("srun's option {} is left out: cluster.slurm has place for it", word));
    }
  }

  double number(const std::string& word, const std::string& argument, double least) const {
    try {
      std::size_t used = 0;
      const double value = std::stod(argument, &used);
      if (used == argument.size() && value >= least && value <= kMost) return value;
    } catch (const std::exception&) {  // reported below
    }
    entry_.value.fail(fmt::format("the command's {} should be a number of at least {}, got '{}'",
                                  word, least, printable(argument)));
  }

  void option(const std::string& word, const std::string& argument) {
    static const std::vector<std::string> kKnown{"--slave",          "--ip",
                                                 "--batch_size",     "--epoch",
                                                 "--epochs",         "--initial_lr",
                                                 "--learning_rate",  "--weight_decay",
                                                 "--optimizer",      "--final_lr",
                                                 "--train_data_dir", "--val_data_dir",
                                                 "--warmup_1",       "--warmup_2",
                                                 "--warmup_3",       "--maxTPEsearchNum",
                                                 "--smooth_factor",  "--num_parallel_calls"};
    const auto whole = [&] { return static_cast<int>(number(word, argument, 1)); };
    if (word == "--slave") {
      out_.slave = whole();
    } else if (word == "--ip") {
      out_.address = argument;
    } else if (word == "--batch_size") {
      out_.batch_size = whole();
    } else if (word == "--epoch" || word == "--epochs") {
      out_.epochs[3] = whole();
      if (out_.cifar) std::ranges::fill(out_.epochs, out_.epochs[3]);
    } else if (word.starts_with("--warmup_") && std::ranges::find(kKnown, word) != kKnown.end()) {
      const auto which = static_cast<std::size_t>(word.back() - '1');
      out_.epochs[which] = whole();
      warmup_given_[which] = true;
    } else if (word == "--optimizer" && out_.cifar) {
      if (argument != "SGD") warn("trials are trained with SGD, not with " + printable(argument));
    } else if (word == "--weight_decay" && out_.cifar) {
      note("--weight_decay is Keras' decay of the learning rate: left out");
    } else if (word == "--initial_lr" || (word == "--learning_rate" && out_.cifar)) {
      out_.initial_lr = number(word, argument, 1e-9);
    } else if (word == "--final_lr") {
      out_.final_lr = number(word, argument, 0);
    } else if (word == "--train_data_dir") {
      out_.train_dir = argument;
    } else if (word == "--val_data_dir") {
      out_.val_dir = argument;
    } else if (word == "--smooth_factor") {
      out_.smoothing = number(word, argument, 0);
    } else if (word == "--num_parallel_calls") {
      note("--num_parallel_calls is left out: `loader_threads` of data has place");
    } else if (word == "--maxTPEsearchNum") {
      note("--maxTPEsearchNum is left out: every trial has one point of the TPE's");
    } else {
      warn(fmt::format("the trial's option {} is not known{}; left out", printable(word),
                       did_you_mean(word, kKnown)));
    }
  }

  const config::Entry& entry_;
  const std::function<void(Severity, std::string)>& tell_;
  AahTrial out_;
  std::array<bool, 3> warmup_given_{};
};

}  // namespace

AahTrial read_aah_command(const config::Entry& entry,
                          const std::function<void(Severity, std::string)>& tell) {
  return CommandReader(entry, tell).read();
}

}  // namespace assay::importer
