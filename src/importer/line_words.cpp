#include "importer/line_words.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include <fmt/format.h>

#include "core/pattern.h"
#include "core/text.h"

namespace assay::importer {

namespace {

// A byte of a word: of other scripts, too, whose letters are not ASCII.
bool is_letter(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0 || static_cast<unsigned char>(c) >= 0x80;
}

// Marks that part a line, and those of Chinese that do the same.
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

// How many bytes of a symbol begin at `at`; 0: none does. U+2000 to U+2BFF hold bars, arrows,
// frames and spaces of typesetting.
std::size_t symbol_at(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  if (byte(at) == 0xE2 && byte(at + 1) >= 0x80 && byte(at + 1) <= 0xAF) return 3;
  for (const std::string_view symbol : {"±", "×", "·", "\xC2\xA0"})
    if (text.substr(at).starts_with(symbol)) return symbol.size();
  return 0;
}

// Marks in ASCII, and a blank for a symbol.
std::string with_plain_marks(std::string_view line) {
  std::string text;
  for (std::size_t i = 0; i < line.size();) {
    const std::size_t symbol = symbol_at(line, i);
    text += symbol > 0 ? ' ' : line[i];
    i += std::max<std::size_t>(symbol, 1);
  }
  for (const auto& [wide, plain] : kWideMarks)
    for (auto at = text.find(wide); at != std::string::npos; at = text.find(wide, at))
      text.replace(at, wide.size(), 1, plain);
  return text;
}

bool found(const std::string& pattern, std::string_view text) {
  return Pattern(pattern).found_in(text);
}

// What stands around a number, in plain words.
struct Words {
  std::string label;
  std::string unit;

  explicit Words(const NumberInLine& number)
      : label(in_plain_words(own_label(number.label))), unit(in_plain_words(trim(number.unit))) {}

  [[nodiscard]] bool has(const std::string& pattern) const {
    const Pattern compiled(pattern);
    return compiled.found_in(label) || compiled.found_in(unit);
  }
};

// "epoch ", "at step [", "iter:": what is said last before the number.
bool counts_progress(const Words& words) {
  std::string_view label = words.label;
  while (!label.empty() && !is_letter(label.back())) label.remove_suffix(1);
  if (label.ends_with("每步") || label.ends_with("每轮")) return false;
  return found("(^|[^a-z])(steps?|epochs?|iters?|iterations?|it|batch|batches)$|(步|步数|轮|迭代)$",
               label);
}

// "tokens" of "tok", with the prefix of the unit: "Ttokens" of "ttok".
std::string unit_of_work(std::string_view prefix, std::string_view work) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 26> kWorks{{
      {"tok", "tokens"},         {"token", "tokens"},    {"sample", "samples"},
      {"example", "samples"},    {"样本", "samples"},    {"image", "images"},
      {"img", "images"},         {"pic", "images"},      {"picture", "images"},
      {"图", "images"},          {"图像", "images"},     {"图片", "images"},
      {"张", "images"},          {"seq", "sequences"},   {"sequence", "sequences"},
      {"sentence", "sentences"}, {"frame", "frames"},    {"word", "words"},
      {"词", "words"},           {"flop", "FLOP"},       {"it", "steps"},
      {"iter", "steps"},         {"iteration", "steps"}, {"步", "steps"},
      {"迭代", "steps"},         {"update", "steps"},
  }};
  if (work.ends_with('s')) work.remove_suffix(1);
  const auto* const at =
      std::ranges::find(kWorks, work, [](const auto& pair) { return pair.first; });
  std::string out(prefix);  // of a thousand in lower case, else in upper case
  if (out != "k")
    std::ranges::transform(out, out.begin(),
                           [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return out + std::string(at == kWorks.end() ? "steps" : at->second);  // step, batch, batches
}

constexpr const char* kWork =
    "(tok|tokens?|samples?|examples?|images?|imgs?|pics?|pictures?|seqs?|sequences?|sentences?|"
    "frames?|words?|flops?|it|its|iters?|iterations?|steps?|batch|batches|updates?|样本|图|图像|"
    "图片|张|词|步|迭代)";
constexpr const char* kDevice = "(?:p|gpu|npu|device|chip|card|xpu|mlu|dcu|rank)";
constexpr const char* kSecond = "(?:s|sec|secs|second|seconds|秒)";
constexpr const char* kTime = "(ns|us|µs|μs|ms|s|sec|secs|seconds?|毫秒|微秒|秒)";

// "tokens/p/s", "samples_per_second", "ktok/s", "每秒样本": the unit of so much work a second.
std::string rate_in(const std::string& text) {
  static const Pattern kRate(
      fmt::format("(?:^|[^a-z])([kmgtp]?){}(?:[ _]?(?:/|per[ _]){})*(?:[ _]?/[ _]?|[ _-]?per[ _-]?)"
                  "{}(?:$|[^a-z])",
                  kWork, kDevice, kSecond));
  static const Pattern kEachSecond(fmt::format("每秒[ _]*(){}", kWork));
  static const Pattern kFlops("(?:^|[^a-z])([tp])(flop)s(?:$|[^a-z])");
  for (const Pattern& pattern : {kRate, kEachSecond, kFlops})
    if (const auto match = pattern.search(text))
      return unit_of_work((*match)[1].value_or(""), (*match)[2].value_or("")) + "/s";
  return {};
}

bool is_per_second(std::string_view text) {
  return found(fmt::format("(/|per[ _]){}([^a-z]|$)|每秒", kSecond), text);
}

// How a time of these words is counted: "ms"; empty: they do not say.
std::string time_unit(const Words& words) {
  static const Pattern kUnit(fmt::format("^{}([^a-z]|$)", kTime));
  static const Pattern kLabel(fmt::format("[^a-z]{}[^a-z]*$", kTime));
  static constexpr std::array<std::pair<std::string_view, const char*>, 7> kShort{{{"ns", "ns"},
                                                                                   {"us", "us"},
                                                                                   {"µs", "us"},
                                                                                   {"μs", "us"},
                                                                                   {"微秒", "us"},
                                                                                   {"ms", "ms"},
                                                                                   {"毫秒", "ms"}}};
  auto match = kUnit.search(words.unit);
  if (!match) match = kLabel.search(words.label);
  if (!match) return {};
  const std::string_view unit = (*match)[1].value_or("");
  for (const auto& [name, short_name] : kShort)
    if (unit == name) return short_name;
  return "s";
}

std::string device_of(const Words& words) {
  // "p": a process, which has one device.
  return words.has(fmt::format("(/|per[ _]){}([^a-z]|$)|每卡|单卡", kDevice)) ? "/device" : "";
}

// Words of something else than the training's speed, or of a bound of it.
bool says_otherwise(const Words& words) {
  return found(
      "(^|[^a-z])(max|min|peak|target|expected|best|limit|theoretical|eval|evaluation|"
      "valid|validation|val|test|data|load|loading|loader|read|write|disk|io|net|network|"
      "download|upload|fan|clock|memory|mem|lr|learning)([^a-z]|$)",
      words.label);
}

bool speaks_of_time(const Words& words) {
  return !time_unit(words).empty() ||
         found("time|latency|duration|耗时|用时|延迟|时间", words.label);
}

Said time_said(const Words& words) {
  const bool per_step =
      found("/(it|iter|iteration|step|batch|步|次)$|^[a-z]+ per (it|iter|iteration|step|batch)$",
            words.unit) ||
      found(
          "(per|each)[ _](it|iter|iteration|step|batch)([^a-z]|$)|"
          "(^|[^a-z])(step|iter|iteration|batch)[ _]?(time|latency|duration)|"
          "每步|每次迭代|单步|步耗时|步用时",
          words.label);
  const std::string unit = time_unit(words);
  if (per_step) return {Meaning::step_time, unit, "step_time"};
  if (const auto match = Pattern("/(sample|token|样本)$|per (sample|token)$").search(words.unit);
      match && !unit.empty())
    return {Meaning::step_time, unit + "/" + (words.has("token") ? "token" : "sample"), "time"};
  // How long it took so far or will take is nobody's speed.
  const bool total = found("elapsed|total|remain|runtime|eta|已用|剩余|总", words.label);
  return {total ? Meaning::unknown : Meaning::pace, unit, "time"};
}

Said rate_said(const NumberInLine& number, const Words& words) {
  std::string unit = rate_in(words.unit);
  if (unit.empty()) unit = rate_in(words.label);
  const bool named =
      found("(^|[^a-z])(throughput|speed|tps)([^a-z]|$)|吞吐|速度|速率", words.label);
  if (unit.empty() && named && number.unit.empty() &&
      (number.text.ends_with('T') || number.text.ends_with('P')))
    unit = "FLOP/s";  // nothing else is done so often
  if (!unit.empty())
    return {unit.find("FLOP") != std::string::npos    ? Meaning::flop_rate
            : unit.find("steps") != std::string::npos ? Meaning::step_rate
                                                      : Meaning::data_rate,
            unit + device_of(words), "throughput"};
  const bool per_second = is_per_second(words.unit);
  const bool bytes = found("(^|[^a-z])[kmgt]?i?(b|bytes?|bits?)/", words.unit);
  if (named && !bytes && (number.unit.empty() || per_second))
    return {Meaning::named_rate,
            number.unit.empty() ? std::string() : std::string(trim(number.unit)), "throughput"};
  if (named || per_second || is_per_second(words.label))
    return {Meaning::pace, std::string(trim(number.unit)), "rate"};
  return {};
}

}  // namespace

bool has_letter(std::string_view text) {
  return std::ranges::any_of(with_plain_marks(text), is_letter);
}

std::size_t first_mark(std::string_view text, std::string_view marks, std::size_t from) {
  std::size_t at = std::min(text.find_first_of(marks, from), text.size());
  for (const auto& [wide, plain] : kWideMarks)
    if (marks.find(plain) != std::string_view::npos) at = std::min(at, text.find(wide, from));
  return at;
}

std::string_view own_label(std::string_view label) {
  for (std::size_t at = first_mark(label, ",;|\t"); at < label.size();
       at = first_mark(label, ",;|\t")) {
    const std::string_view rest = label.substr(at + (is_letter(label[at]) ? 3 : 1));
    if (!has_letter(rest)) break;
    label = rest;
  }
  // What closes something before it, such as the "]" of "[12] speed: ", is no part of the name.
  for (;;) {
    const std::size_t symbol = label.empty() ? 0 : symbol_at(label, 0);
    if (symbol > 0)
      label.remove_prefix(symbol);
    else if (!label.empty() && std::string_view(" \t)]}>%").find(label.front()) != label.npos)
      label.remove_prefix(1);
    else
      return label;
  }
}

std::string in_plain_words(std::string_view text) {
  std::string parted;
  for (const char c : with_plain_marks(text)) {
    // "SamplesPer", but not "kTok".
    const bool begins = std::isupper(static_cast<unsigned char>(c)) != 0 && parted.size() > 1 &&
                        std::islower(static_cast<unsigned char>(parted.back())) != 0 &&
                        std::isalpha(static_cast<unsigned char>(parted[parted.size() - 2])) != 0;
    if (begins) parted += '_';
    parted += c;
  }
  return to_lower(parted);
}

Said said_of(const NumberInLine& number) {
  const Words words(number);
  const bool pace_behind = is_unit_of_pace(number.unit);
  if (counts_progress(words) && !pace_behind) return {Meaning::progress, "", "progress"};
  Said said;
  const bool time_behind = found(fmt::format("^{}(/| per |$)", kTime), words.unit);
  if (!time_behind) said = rate_said(number, words);
  if (said.meaning == Meaning::unknown && speaks_of_time(words)) {
    said = time_said(words);
  } else if (said.meaning == Meaning::unknown && words.has("loss|perplexity|损失") &&
             !words.has("scale")) {
    said = {Meaning::loss, "1", "loss"};
  }
  if (number.doubtful || says_otherwise(words)) {
    if (said.meaning >= Meaning::step_time) said.meaning = Meaning::pace;
    if (said.meaning == Meaning::loss) said.meaning = Meaning::unknown;
  }
  if (said.meaning == Meaning::unknown && said.unit.empty()) said.unit = trim(number.unit);
  return said;
}

bool is_unit_of_pace(std::string_view unit) {
  const std::string plain = in_plain_words(trim(unit));
  return is_per_second(plain) ||
         found(fmt::format("^{}(/| per )(it|iter|iteration|step|batch|sample|token|步|次|样本)$",
                           kTime),
               plain);
}

std::string work_of_bar(std::string_view unit) {
  static const Pattern kBar(
      "^(?:[kKMGT]?(it|iter|step|batch|img|image|sample|tok|token|seq|frame)/s|"
      "[mun]?s/(it|iter|step|batch|img|image|sample|tok|token|seq|frame))$");
  const auto match = kBar.search(unit);
  if (!match) return {};
  return std::string((*match)[1] ? *(*match)[1] : (*match)[2].value_or(""));
}

}  // namespace assay::importer
