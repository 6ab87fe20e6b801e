#include "importer/suite_draft.h"

#include <algorithm>
#include <cctype>
#include <initializer_list>

#include <fmt/format.h>

#include "core/processors.h"
#include "core/text.h"

namespace assay::importer {

namespace {

bool is_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

// A text of YAML on one line, whatever is in it.
std::string yaml_text(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    out += c;
    if (c == '\'') out += c;
  }
  return out + "'";
}

std::string yaml_list(const std::vector<std::string>& texts) {
  std::string out;
  for (const std::string& text : texts) out += (out.empty() ? "" : ", ") + yaml_text(text);
  return "[" + out + "]";
}

std::string cluster(const SuiteDraft& draft) {
  if (draft.launcher == DraftLauncher::ssh)
    return fmt::format("cluster:\n  launcher: ssh\n  hosts: {}\n", yaml_list(draft.hosts)) +
           (draft.user.empty() ? "" : fmt::format("  ssh: {{user: {}}}\n", yaml_text(draft.user)));
  if (draft.launcher == DraftLauncher::slurm)
    return "cluster:\n  launcher: slurm\n" +
           (draft.partition.empty()
                ? std::string()
                : fmt::format("  slurm: {{partition: {}}}\n", yaml_text(draft.partition)));
  return {};
}

std::string escaped(std::string_view text) {
  static constexpr std::string_view kSpecial = R"(\^$.|?*+()[]{})";
  std::string out;
  bool blank = false;
  for (const char c : text) {
    if (c == ' ' || c == '\t') {
      if (!blank) out += " *";
      blank = true;
      continue;
    }
    blank = false;
    if (kSpecial.find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

bool has_letter(std::string_view text) {
  return std::ranges::any_of(
      text, [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; });
}

// The end of a number that begins at `begin`.
std::size_t end_of_number(std::string_view line, std::size_t begin) {
  std::size_t end = begin;
  while (end < line.size() && (is_digit(line[end]) || line[end] == '.' || line[end] == ',')) ++end;
  while (line[end - 1] == '.' || line[end - 1] == ',') --end;
  std::size_t exponent = end;
  if (exponent < line.size() && (line[exponent] == 'e' || line[exponent] == 'E')) ++exponent;
  if (exponent > end && exponent < line.size() && (line[exponent] == '-' || line[exponent] == '+'))
    ++exponent;
  if (exponent == end || exponent >= line.size() || !is_digit(line[exponent])) return end;
  while (exponent < line.size() && is_digit(line[exponent])) ++exponent;
  return exponent;
}

// What stands between two numbers may be the unit of the first: the words of the last part count.
std::string_view own_label(std::string_view label) {
  const std::size_t cut = label.find_last_of(",;|");
  if (cut == std::string_view::npos || !has_letter(label.substr(cut + 1))) return label;
  return label.substr(cut + 1);
}

// The words that name the number, in lower case: "tokens/p/s", and behind it "img/s".
struct Words {
  std::string label;
  std::string unit;

  explicit Words(const NumberInLine& number)
      : label(to_lower(own_label(number.label))),
        unit(to_lower(trim(number.after).substr(0, trim(number.after).find_first_of(" ,;|")))) {}

  [[nodiscard]] bool has(std::string_view word) const {
    return label.find(word) != std::string::npos || unit.find(word) != std::string::npos;
  }
  [[nodiscard]] bool has_any(std::initializer_list<std::string_view> words) const {
    return std::ranges::any_of(words, [this](std::string_view word) { return has(word); });
  }
};

// "epoch ", "at step [", "iter:": what is said last before the number.
bool counts_progress(const Words& words) {
  std::string_view label = words.label;
  while (!label.empty() && std::isalpha(static_cast<unsigned char>(label.back())) == 0)
    label.remove_suffix(1);
  const auto ends = [&](std::string_view word) {
    const bool whole =
        label.size() == word.size() ||
        (label.size() > word.size() &&
         std::isalpha(static_cast<unsigned char>(label[label.size() - word.size() - 1])) == 0);
    return label.ends_with(word) && whole;
  };
  return ends("step") || ends("steps") || ends("epoch") || ends("epochs") || ends("iter") ||
         ends("iters") || ends("iteration") || ends("iterations") || ends("it");
}

bool is_rate(const Words& words) {
  return words.has_any({"/s", "per sec", "per_sec", "throughput", "speed", "tps"});
}

bool is_loss(const Words& words) {
  return words.has("loss") || words.has("perplexity");
}

}  // namespace

std::string to_yaml(const SuiteDraft& draft) {
  std::string out = fmt::format(
      "# Written by 'assay init'; docs/suite.md has every key.\nname: {}\n", yaml_text(draft.name));
  if (!are_processors(draft.vendor)) out += fmt::format("vendor: {}\n", draft.vendor);
  out += cluster(draft);
  out += "cases:\n";
  out += draft.workload.empty() ? fmt::format("  - name: {}\n", yaml_text(draft.name))
                                : fmt::format("  - name: {0}\n    model: {0}\n    framework: {1}\n",
                                              draft.workload, draft.framework);
  if (draft.nodes > 1) out += fmt::format("    nodes: {}\n", draft.nodes);
  out += fmt::format("    procs: {}      # ranks on each node\n",
                     draft.procs > 0 ? std::to_string(draft.procs) : "devices");
  out += fmt::format("    repeats: {}      # rounds; three or more give a confidence interval\n",
                     draft.repeats);
  if (!draft.workload.empty())
    return out + (are_processors(draft.vendor) ? "" : "    config: {device: cuda}\n");
  out += fmt::format("    command: {}\n", yaml_text(draft.command));
  if (draft.command.find_first_of("|&;<>()$*?[`\\\"'=") != std::string::npos)
    out += "    shell: true\n";
  if (draft.metric) {
    const PrintedMetric& metric = *draft.metric;
    out += fmt::format("    metrics:\n      {}: {{match: {}, {}better: {}}}\n", metric.name,
                       yaml_text(metric.match),
                       metric.unit.empty() ? "" : "unit: " + yaml_text(metric.unit) + ", ",
                       metric.better);
  }
  return out + "    limits: {time: 2h, stall: 10m}\n";
}

std::vector<NumberInLine> numbers_in(std::string_view line) {
  std::vector<NumberInLine> out;
  bool last_named = false;
  std::size_t label = 0;
  for (std::size_t i = 0; i < line.size();) {
    // "resnet50" and "v1" are names.
    const bool begins =
        is_digit(line[i]) && (i == 0 || std::isalnum(static_cast<unsigned char>(line[i - 1])) == 0);
    if (!begins) {
      ++i;
      continue;
    }
    const std::size_t end = end_of_number(line, i);
    const std::string_view before = line.substr(label, i - label);
    if (last_named) out.back().after = before;
    last_named = has_letter(before);
    if (last_named) out.push_back({std::string(before), std::string(line.substr(i, end - i))});
    label = i = end;
  }
  if (last_named) out.back().after = line.substr(label);
  return out;
}

std::optional<std::size_t> likely_metric(const std::vector<NumberInLine>& numbers) {
  std::optional<std::size_t> likely;
  int best = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const Words words(numbers[i]);
    if (counts_progress(words)) continue;
    const int rank = is_rate(words) ? 3 : is_loss(words) ? 2 : 1;
    if (rank < best) continue;
    best = rank;
    likely = i;
  }
  return likely;
}

std::string pattern_for(const NumberInLine& number) {
  const std::string_view label = own_label(number.label);
  const bool blank_after = !label.empty() && label.back() == ' ';
  return escaped(trim(label)) + (blank_after ? " *" : "") +
         "([0-9](?:[0-9.,]*[0-9])?(?:[eE][-+]?[0-9]+)?)";
}

PrintedMetric printed_metric(const NumberInLine& number) {
  const Words words(number);
  PrintedMetric metric{"throughput", pattern_for(number), "samples/s"};
  if (!is_rate(words) && is_loss(words)) return {"loss", metric.match, "1", "lower"};
  if (words.has("token")) metric.unit = "tokens/s";
  if (words.has_any({"image", "img"})) metric.unit = "images/s";
  if (words.has("tflop")) metric.unit = "TFLOP/s";
  // "p": a process, which has one device.
  if (words.has_any({"/p/s", "/gpu", "/npu", "/device", "per gpu", "per device", "per_device"}))
    metric.unit += "/device";
  return metric;
}

}  // namespace assay::importer
