#include "importer/suite_draft.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <initializer_list>
#include <utility>

#include <fmt/format.h>

#include "core/pattern.h"
#include "core/processors.h"
#include "core/text.h"

namespace assay::importer {

namespace {

bool is_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

// Any text as YAML on one line.
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

// A byte of a word; includes other scripts, whose letters are not ASCII.
bool is_letter(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0 || static_cast<unsigned char>(c) >= 0x80;
}

// Marks that divide a line, and the equivalent Chinese ones.
constexpr std::array<std::pair<std::string_view, char>, 11> kWideMarks{{{"，", ','},
                                                                        {"、", ','},
                                                                        {"。", ';'},
                                                                        {"；", ';'},
                                                                        {"｜", '|'},
                                                                        {"：", ':'},
                                                                        {"＝", '='},
                                                                        {"（", '('},
                                                                        {"）", ')'},
                                                                        {"【", '['},
                                                                        {"】", ']'}}};

// Replaces the wide marks with ASCII ones.
std::string with_plain_marks(std::string text) {
  for (const auto& [wide, plain] : kWideMarks)
    for (auto at = text.find(wide); at != std::string::npos; at = text.find(wide, at))
      text.replace(at, wide.size(), 1, plain);
  return text;
}

// The position of the first of the ASCII `marks` or its wide form; the end of the text if none.
std::size_t first_mark(std::string_view text, std::string_view marks, std::size_t from) {
  std::size_t at = std::min(text.find_first_of(marks, from), text.size());
  for (const auto& [wide, plain] : kWideMarks)
    if (marks.find(plain) != std::string_view::npos) at = std::min(at, text.find(wide, from));
  return at;
}

bool has_letter(std::string_view text) {
  return std::ranges::any_of(with_plain_marks(std::string(text)), is_letter);
}

// "resnet50" and "v1.5" are names, "2026-11" is a date, "-0.5" and ".5" are numbers.
bool begins_number(std::string_view line, std::size_t at) {
  const auto digit = [&](std::size_t i) { return i < line.size() && is_digit(line[i]); };
  std::size_t first = at;
  if (line[at] == '-') ++first;
  if (first < line.size() && line[first] == '.') ++first;
  if (!digit(first)) return false;
  if (at == 0) return true;
  const char before = line[at - 1];
  if (std::isalnum(static_cast<unsigned char>(before)) != 0) return false;
  if (before == '.' && at > 1 && std::isalnum(static_cast<unsigned char>(line[at - 2])) != 0)
    return false;
  return first == at || (before != '.' && before != '-');
}

// The end of the number that begins at `begin`.
std::size_t end_of_number(std::string_view line, std::size_t begin) {
  std::size_t end = begin;
  if (line[end] == '-') ++end;
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

// How far a number's unit extends into the text between it and the next number: " img/s" in "
// img/s, loss ". In "loss 2.1 img/s 99" and "loss 2.1 img/s: 99" that text names the next number.
std::size_t end_of_unit(std::string_view after, bool last) {
  const std::size_t begin = after.starts_with(' ') ? 1 : 0;
  const std::size_t end = first_mark(after, " \t,;|()[]{}:=<>", begin);
  const std::string_view word = after.substr(begin, end - begin);
  static constexpr std::array<std::string_view, 14> kUnits{
      "s", "sec", "ms", "us", "%", "W", "MB", "GB", "MiB", "GiB", "秒", "毫秒", "TFLOPS", "GFLOPS"};
  if (word.find('/') == std::string_view::npos && !std::ranges::count(kUnits, word)) return 0;
  const std::string rest = with_plain_marks(std::string(trim(after.substr(end))));
  const bool names_the_next = rest.empty() ? !last : rest.front() == ':' || rest.front() == '=';
  return names_the_next ? 0 : end;
}

// The text between two numbers may contain several names: the words of its last part count.
std::string_view own_label(std::string_view label) {
  std::size_t from = 0;
  for (std::size_t at = first_mark(label, ",;|", 0); at < label.size();
       at = first_mark(label, ",;|", from))
    from = at + (is_letter(label[at]) ? 3 : 1);  // a wide mark has three bytes
  return has_letter(label.substr(from)) ? label.substr(from) : label;
}

// The words that name the number, in lower case: "tokens/p/s", and after it "img/s".
struct Words {
  std::string label;
  std::string unit;

  explicit Words(const NumberInLine& number)
      : label(with_plain_marks(to_lower(own_label(number.label)))),
        unit(to_lower(trim(number.unit))) {}

  [[nodiscard]] bool has(std::string_view word) const {
    return label.find(word) != std::string::npos || unit.find(word) != std::string::npos;
  }
  [[nodiscard]] bool has_any(std::initializer_list<std::string_view> words) const {
    return std::ranges::any_of(words, [this](std::string_view word) { return has(word); });
  }
};

// "epoch ", "at step [", "iter:": the last words before the number.
bool counts_progress(const Words& words) {
  std::string_view label = words.label;
  while (!label.empty() && !is_letter(label.back())) label.remove_suffix(1);
  const auto ends = [&](std::string_view word) {
    const bool whole =
        label.size() == word.size() ||
        (label.size() > word.size() &&
         std::isalpha(static_cast<unsigned char>(label[label.size() - word.size() - 1])) == 0);
    return label.ends_with(word) && whole;
  };
  if (label.ends_with("每步") || label.ends_with("每轮")) return false;
  if (label.ends_with("步") || label.ends_with("步数") || label.ends_with("轮") ||
      label.ends_with("迭代"))
    return true;
  return ends("step") || ends("steps") || ends("epoch") || ends("epochs") || ends("iter") ||
         ends("iters") || ends("iteration") || ends("iterations") || ends("it");
}

// "/s", but not as part of "sec/step" and "ms/sample".
bool is_per_second(std::string_view text) {
  static const Pattern kPerSecond("(/|per[ _])s(ec(ond)?)?([^a-z]|$)|/秒|每秒");
  return kPerSecond.found_in(text);
}

// "it/s", "steps/s": a speed, but not a data rate.
bool counts_steps(const Words& words) {
  static const Pattern kSteps(
      "(^|[^a-z])(it|iter|iters|iteration|iterations|step|steps|batch|batches)/s");
  return kSteps.found_in(words.label) || kSteps.found_in(words.unit);
}

// "step time: 0.3 s", "0.3 s/it", "latency_ms=3": for these, more is worse.
bool is_time(const Words& words) {
  static const Pattern kTimePer("^(s|sec|secs|ms|us|秒|毫秒)/");
  static const Pattern kTime("^(s|sec|secs|ms|us|秒|毫秒)$");
  static const Pattern kNamed("time|latency|duration|elapsed|耗时|用时|延迟|时间");
  if (kTimePer.found_in(words.unit)) return true;
  return !is_per_second(words.label) && !is_per_second(words.unit) &&
         (kTime.found_in(words.unit) || kNamed.found_in(words.label));
}

// "elapsed time per iteration (ms): 350", "0.35 sec/step": as good as a speed in steps/s.
bool is_time_of_a_step(const Words& words) {
  static const Pattern kStep(
      "per[ _](it|iter|iteration|step|batch|sample|token)|(step|iter|iteration|batch)[ _]?time|"
      "每步|每次迭代|单步|步耗时|步用时");
  static const Pattern kPerStep("/(it|iter|iteration|step|batch|sample|token|步|次|样本)$");
  return is_time(words) && (kStep.found_in(words.label) || kPerStep.found_in(words.unit));
}

bool is_rate(const Words& words) {
  if (is_time(words)) return false;
  return is_per_second(words.label) || is_per_second(words.unit) ||
         words.has_any({"throughput", "speed", "tps", "吞吐", "速度"});
}

bool is_loss(const Words& words) {
  return words.has_any({"loss", "perplexity", "损失"});
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
  std::vector<std::pair<std::size_t, std::size_t>> places;  // begin and end of each number
  for (std::size_t i = 0; i < line.size();) {
    if (!begins_number(line, i)) {
      ++i;
      continue;
    }
    places.emplace_back(i, end_of_number(line, i));
    i = places.back().second;
  }
  std::vector<NumberInLine> out;
  std::size_t label = 0;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto [begin, end] = places[i];
    const bool last = i + 1 == places.size();
    const std::string_view after =
        line.substr(end, (last ? line.size() : places[i + 1].first) - end);
    const std::size_t unit = end_of_unit(after, last);
    NumberInLine number{std::string(line.substr(label, begin - label)),
                        std::string(line.substr(begin, end - begin)),
                        std::string(after.substr(0, unit))};
    if (has_letter(number.label) || is_per_second(to_lower(number.unit)))
      out.push_back(std::move(number));
    label = end + unit;
  }
  return out;
}

std::optional<std::size_t> likely_metric(const std::vector<NumberInLine>& numbers) {
  std::optional<std::size_t> likely;
  int best = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const Words words(numbers[i]);
    if (counts_progress(words) && !is_per_second(words.unit)) continue;
    const int rank = is_rate(words)             ? (counts_steps(words) ? 4 : 5)
                     : is_time_of_a_step(words) ? 3
                     : is_loss(words)           ? 2
                                                : 1;
    if (rank < best) continue;
    best = rank;
    likely = i;
  }
  return likely;
}

std::string pattern_for(const NumberInLine& number) {
  static constexpr const char* kNumber =
      R"((-?(?:[0-9]|\.[0-9])(?:[0-9.,]*[0-9])?(?:[eE][-+]?[0-9]+)?))";
  const std::string_view label = own_label(number.label);
  if (!has_letter(label)) return kNumber + escaped(number.unit);
  const bool blank_after = label.back() == ' ';
  return escaped(trim(label)) + (blank_after ? " *" : "") + kNumber;
}

PrintedMetric printed_metric(const NumberInLine& number) {
  const Words words(number);
  PrintedMetric metric{"throughput", pattern_for(number), "samples/s"};
  if (!is_rate(words) && is_loss(words)) return {"loss", metric.match, "1", "lower"};
  if (is_time(words))
    return {"step_time", metric.match,
            words.has_any({"ms", "毫秒"}) ? "ms"
            : words.has("us")             ? "us"
                                          : "s",
            "lower"};
  if (counts_steps(words)) metric.unit = "steps/s";
  if (words.has_any({"token", "tok/"})) metric.unit = "tokens/s";
  if (words.has_any({"image", "img"})) metric.unit = "images/s";
  if (words.has("tflop")) metric.unit = "TFLOP/s";
  // "p" is a process, which has one device.
  if (words.has_any({"/p/s", "/gpu", "/npu", "/device", "per gpu", "per device", "per_device"}))
    metric.unit += "/device";
  return metric;
}

}  // namespace assay::importer
