#include "importer/line_numbers.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include <fmt/format.h>

#include "core/pattern.h"
#include "core/text.h"
#include "importer/line_words.h"

namespace assay::importer {

namespace {

bool is_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

bool is_alnum(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0;
}

// The text as a pattern: any number of blanks, or of tabs and blanks, where it has some.
std::string escaped(std::string_view text) {
  static constexpr std::string_view kSpecial = R"(\^$.|?*+()[]{})";
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] == ' ' || text[i] == '\t') {
      const std::size_t end = std::min(text.find_first_not_of(" \t", i), text.size());
      out += text.substr(i, end - i).find('\t') == std::string_view::npos ? " *" : "\\s*";
      i = end;
      continue;
    }
    if (kSpecial.find(text[i]) != std::string_view::npos) out += '\\';
    out += text[i++];
  }
  return out;
}

// "resnet50", "v1.5" and "Acc@1" are names, "2026-11" is a date, "-0.5" and ".5" are numbers.
bool begins_number(std::string_view line, std::size_t at) {
  const auto digit = [&](std::size_t i) { return i < line.size() && is_digit(line[i]); };
  std::size_t first = at;
  if (line[at] == '-') ++first;
  if (first < line.size() && line[first] == '.') ++first;
  if (!digit(first)) return false;
  if (at == 0) return true;
  const char before = line[at - 1];
  if (is_alnum(before) || before == '@' || before == '_') return false;
  if (before == '.' && at > 1 && is_alnum(line[at - 2])) return false;
  return first == at || (before != '.' && before != '-');
}

// The end of the digits of a number that begins at `begin`, with its exponent.
std::size_t end_of_digits(std::string_view line, std::size_t begin) {
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

// With the thousands that are written as a letter: "12.3k", "1.5Gi", "4.5 M".
std::size_t end_of_number(std::string_view line, std::size_t begin) {
  static const Pattern kSuffix("^(?:[kKMGTP]i?|( [kKMGTP]i?))(?:[^\\w/=:%]|$)");
  const std::size_t end = end_of_digits(line, begin);
  const auto match = kSuffix.search(line.substr(end));
  if (!match) return end;
  const std::size_t blank = (*match)[1] ? 1 : 0;
  const std::size_t letters = line.substr(end + blank + 1).starts_with('i') ? 2 : 1;
  return end + blank + letters;
}

// How far the unit of a number reaches into what stands behind it, up to the next number: " img/s"
// of " img/s, loss ". 0: it has none.
std::size_t end_of_unit(std::string_view after) {
  static const Pattern kInWords(
      "^ ?[A-Za-z]+ per (?:second|sec|s|step|iteration|iter|batch|sample|token)\\b");
  if (const auto match = kInWords.search(after)) return match->front()->size();
  const std::size_t begin = after.starts_with(' ') ? 1 : 0;
  const std::size_t end = first_mark(after, " \t,;|()[]{}:=<>\"'", begin);
  const std::string_view word = after.substr(begin, end - begin);
  static constexpr std::array<std::string_view, 22> kUnits{
      "s",  "sec", "ms",  "us",  "%",  "W",    "B",      "KB",     "kB",  "MB",  "GB",
      "TB", "KiB", "MiB", "GiB", "秒", "毫秒", "TFLOPS", "GFLOPS", "MHz", "GHz", "rpm"};
  const bool fraction = word.find('/') != std::string_view::npos && has_letter(word);
  return fraction || std::ranges::count(kUnits, word) > 0 ? end : 0;
}

bool three_digits(std::string_view text) {
  return text.size() >= 3 && is_digit(text[0]) && is_digit(text[1]) && is_digit(text[2]) &&
         (text.size() == 3 || !is_digit(text[3]));
}

// Whether it may be a part of something else: of "1 234", "12:30", "10/500", "3.2万", "5 ± 0.1".
bool is_doubtful(std::string_view line, std::size_t begin, std::size_t end, std::size_t unit) {
  static const Pattern kGoesOn("^(?:[:/_'][0-9]| ?(?:万|亿|千|百|million|billion|thousand))");
  static const Pattern kLetter("^[A-Za-z\\xE4-\\xE9]");
  static const Pattern kBefore("[0-9][_':/]$|(?:±|\\+/-|\\+-|\\+) *$");
  static const Pattern kThousandsBefore("[0-9](?: |\\xC2\\xA0|\\xE2\\x80[\\x80-\\xAF])$");
  static const Pattern kThousandsBehind("^(?: |\\xC2\\xA0|\\xE2\\x80[\\x80-\\xAF])[0-9]");
  const std::string_view before = line.substr(0, begin);
  const std::string_view after = line.substr(end);
  if (kGoesOn.found_in(after) || (unit == 0 && kLetter.found_in(after)) || kBefore.found_in(before))
    return true;
  if (three_digits(line.substr(begin)) && kThousandsBefore.found_in(before)) return true;
  const auto behind = kThousandsBehind.search(after);
  return behind && end - begin <= 3 && three_digits(after.substr(behind->front()->size() - 1));
}

}  // namespace

std::vector<NumberInLine> numbers_in(std::string_view line) {
  std::vector<std::pair<std::size_t, std::size_t>> places;  // begin and end of every number
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
  bool shared = false;  // the unit of the number before may be this one's name
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto [begin, end] = places[i];
    const bool last = i + 1 == places.size();
    const std::string_view after =
        line.substr(end, (last ? line.size() : places[i + 1].first) - end);
    NumberInLine number{std::string(line.substr(label, begin - label)),
                        std::string(line.substr(begin, end - begin)), "", begin, shared};
    std::size_t unit = end_of_unit(after);
    // In "loss 2.1 img/s 99" and "loss 2.1 img/s: 99" it is the next one's name; in "2.1 img/s 99"
    // nobody can know.
    const std::string_view rest = trim(after.substr(unit));
    shared = unit > 0 && rest.empty() && !last && after.starts_with(' ');
    if (rest.starts_with(':') || rest.starts_with('=')) unit = 0;
    if (shared && has_letter(number.label)) {
      shared = false;
      const Meaning named = said_of(number).meaning;
      if (named < Meaning::step_time && named != Meaning::pace) unit = 0;
    }
    number.unit = after.substr(0, unit);
    number.doubtful = number.doubtful || shared || is_doubtful(line, begin, end, unit);
    label = end + (shared ? 0 : unit);
    if (has_letter(number.label) || is_unit_of_pace(number.unit)) out.push_back(std::move(number));
  }
  return out;
}

std::optional<std::size_t> likely_metric(const std::vector<NumberInLine>& numbers) {
  static const Pattern kMean("(^|[^a-z])(avg|average|mean|running)([^a-z]|$)|平均");
  std::optional<std::size_t> likely;
  std::pair<Meaning, bool> best{Meaning::pace, false};
  bool unclear = false;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const Meaning meaning = said_of(numbers[i]).meaning;
    if (meaning == Meaning::pace) unclear = true;
    // The last one of the output counts, and a mean of all before it says more than one step.
    const std::pair rank(meaning, kMean.found_in(in_plain_words(own_label(numbers[i].label))));
    if (meaning < Meaning::loss || rank < best) continue;
    best = rank;
    likely = i;
  }
  if (best.first == Meaning::loss && unclear) return std::nullopt;
  return likely;
}

std::string pattern_for(const NumberInLine& number) {
  std::string out;
  if (const std::string_view label = own_label(number.label); has_letter(label)) {
    if (is_alnum(label.front()) || label.front() == '_') out += "\\b";
    const std::string_view name = trim(label);
    out += escaped(name) + escaped(label.substr(label.find(name) + name.size()));
  }
  if (const std::string work = work_of_bar(number.unit); !work.empty())
    return out + fmt::format("((?:[0-9][0-9.{}]*|\\?)[kKMGT]?(?:{}/s|[mun]?s/{}))(?:[^\\w/]|$)",
                             number.text.find(',') == std::string::npos ? "" : ",", work, work);
  // All that hangs together: what cannot be read is then a finding and no other number.
  const char* thousands = number.text.find(' ') == std::string::npos ? "" : "(?: [kKMGTP]i?)?";
  out += fmt::format("(-?[.0-9](?:[0-9A-Za-z.,_%+-]*[0-9A-Za-z%])?{})", thousands) +
         escaped(number.unit);
  return !number.unit.empty() && is_alnum(number.unit.back()) ? out + "(?:[^\\w/]|$)" : out;
}

PrintedMetric printed_metric(const NumberInLine& number) {
  const Said said = said_of(number);
  PrintedMetric metric{said.name, pattern_for(number), said.unit, "neither"};
  if (said.meaning >= Meaning::step_rate) metric.better = "higher";
  if (said.meaning == Meaning::loss || said.meaning == Meaning::step_time) metric.better = "lower";
  if (const std::string work = work_of_bar(number.unit); !work.empty())
    return {"throughput", metric.match, work + "/s", "higher", true};
  return metric;
}

}  // namespace assay::importer
