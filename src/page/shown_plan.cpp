#include "page/shown_plan.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/args.h>
#include <fmt/format.h>

#include "core/text.h"
#include "page/text_width.h"

namespace assay::page {

namespace {

constexpr std::size_t npos = std::string_view::npos;

// They tell the words of a plan from other messages: a case may be called "run".
constexpr std::array kContexts{std::string_view("plan: "), std::string_view("hook: "),
                               std::string_view("node: ")};

/// A form that a text of the plan may have. `kinds` says of each of its values what it is: 'n' a
/// name, 'w' a word of the plan, 't' a text of Assay.
struct Shape {
  std::string_view message;
  std::string_view kinds;
};

/// What stands under a label. A text of another form than these is made of names alone.
struct Label {
  std::string_view message;
  std::array<Shape, 4> shapes{};
};

constexpr Shape kText{"{}", "t"};
constexpr Shape kWord{"{}", "w"};

constexpr std::array kLabels{
    Label{"plan: run"},
    Label{"plan: assay"},
    Label{"plan: override"},
    Label{"plan: vendor"},
    Label{"plan: devices"},
    Label{"plan: launcher"},
    Label{"plan: host", {{{"plan: {} ({})", "nt"}}}},
    Label{"plan: telemetry", {{{"every {}", "n"}, kWord}}},
    Label{"plan: metrics",
          {{{"plan: {} on every node, readable by anyone who can reach it", "n"},
            {"plan: {} on every node", "n"}}}},
    Label{"plan: baseline"},
    Label{"plan: sweep",
          {{{"plan: {}: {}; {} of {} points, {} left out by its constraints", "nnnnn"},
            {"plan: {}: {}; {} of {} points", "nnnn"},
            {"plan: {}: {}; {} of {} point", "nnnn"}}}},
    Label{"plan: hook",
          {{{"plan: {} ({}, on the {}, at most {}, may fail): {}", "nwwnn"},
            {"plan: {} ({}, on the {}, at most {}): {}", "nwwnn"}}}},
    Label{"left out", {{{"plan: {}: {}", "nt"}}}},
    Label{"plan: runs", {{{"{} of {} ({} × {} per node), launched {}", "ttttn"}}}},
    Label{"plan: model", {{{"{}, framework {}, hardware {}", "nnn"}}}},
    Label{"plan: rendezvous"},
    Label{"plan: command"},
    Label{"plan: container", {{{"{} with {}, pull {}", "nnn"}}}},
    Label{"plan: automl", {{{"from {}, at most {} and {} trials, seed {}", "tnnn"}}}},
    Label{"plan: trials",
          {{{"epochs {} by round of {}, patience {}, each at most {}, {}", "ntwnt"}}}},
    Label{"trained on"},
    Label{"plan: hyper"},
    Label{"plan: space"},
    Label{"plan: after"},
    Label{"only if",
          {{{"plan: the verdict of '{}' is {}", "nw"},
            {"plan: {} of '{}' is {} and {}", "nnnn"},
            {"plan: {} of '{}' is {}", "nnn"}}}},
    Label{"plan: workdir"},
    Label{"plan: data"},
    Label{"plan: env"},
    Label{"plan: declared"},
    Label{"plan: metric",
          {{{"{} [{}] from /{}/, {} of a rank, {} over ranks, {} is better", "nnnwww"}}}},
    Label{"plan: target"},
    Label{"plan: peak", {{{"plan: {} FLOP/s per device", "n"}}}},
    Label{"plan: caches", {{kText}}},
    Label{"plan: binding", {{kText}}},
    Label{"plan: warm-up", {{kText}}},
    Label{"plan: limits", {{{"time {}, stall {}, grace {}, output {} per rank", "nwnn"}}}},
    Label{"plan: relaxed", {{kText}}},
    Label{"plan: changed", {{kText}}},
    Label{"plan: rule",
          {{{"plan: {} ({}, {}): {}, must be known", "nwwn"}, {"plan: {} ({}, {}): {}", "nwwn"}}}}};
constexpr std::size_t kLabelColumns = 12;

// Of what a node gets.
constexpr std::array kNodeLabels{Label{"plan: folder"}, Label{"plan: file"}, Label{"node: env"}};
constexpr std::size_t kNodeLabelColumns = 8;

// Lines that have no label, behind their blanks.
constexpr std::array kLines{Shape{"suite {} ({})", "nn"}, Shape{"case {}", "n"},
                            Shape{"every case", ""}, Shape{"plan: agents", ""},
                            Shape{"plan: {}  round {}", "nn"}};
constexpr std::array kNodeLines{
    Shape{"plan: config", ""},
    Shape{"config (config.json; whether the command reads it is its own affair)", ""},
    Shape{"node {} on {}", "nn"}, Shape{"plan: host {}: {}", "nn"}};
constexpr Shape kMoreRanks{"{} more like these (--format json shows all)", "n"};

// The words of kWord and of the kind 'w'; any other is a message, or stays.
constexpr std::array kWords{"plan: off",     "plan: AIPerf's", "hook: before",     "hook: after",
                            "plan: case",    "plan: round",    "plan: controller", "plan: nodes",
                            "plan: a speed", "plan: last",     "plan: first",      "plan: mean",
                            "plan: median",  "plan: min",      "plan: max",        "plan: sum",
                            "plan: rank0"};

std::string_view english(std::string_view message) {
  for (const std::string_view context : kContexts)
    if (message.starts_with(context)) message.remove_prefix(context.size());
  return message;
}

// The values of `text`, if it has the form of `shape`.
std::optional<std::vector<std::string_view>> values_of(std::string_view text,
                                                       std::string_view shape) {
  constexpr std::string_view kPlace = "{}";
  std::vector<std::string_view> out;
  std::size_t place = shape.find(kPlace);
  if (!text.starts_with(shape.substr(0, place))) return std::nullopt;
  if (place == npos) return text == shape ? std::optional(out) : std::nullopt;
  text.remove_prefix(place);
  while (place != npos) {
    shape.remove_prefix(place + kPlace.size());
    place = shape.find(kPlace);
    const std::string_view next = shape.substr(0, place);
    const std::size_t end = place != npos          ? text.find(next)
                            : text.ends_with(next) ? text.size() - next.size()
                                                   : npos;
    if (end == npos) return std::nullopt;
    out.push_back(text.substr(0, end));
    text.remove_prefix(end + next.size());
  }
  return out;
}

/// The lines of a plan in another language than English.
class PlanLines {
 public:
  explicit PlanLines(lang::Language language) : language_(language) {}

  std::string shown(std::string_view line) {
    const bool begins = std::exchange(after_empty_, line.empty());
    const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
    const std::string_view text = line.substr(indent);
    std::optional<std::string> out;
    // A line of somebody's own command may look like a heading, too.
    if (indent == 0 && begins) out = one_of(text, kLines);
    if (indent == 2) out = labelled(text, kLabels, kLabelColumns);
    if (indent == 2 && !out) out = one_of(text, kNodeLines);
    if (indent == 4) out = labelled(text, kNodeLabels, kNodeLabelColumns);
    if (indent == 4 && !out) out = more_ranks(text);
    if (!out) out = with_origin(text, [](std::string_view all) { return std::string(all); });
    return std::string(indent, ' ') + *out;
  }

 private:
  [[nodiscard]] std::string said(std::string_view message) const {
    const auto found = lang::chinese_messages().find(message);
    return std::string(found && language_ == lang::Language::chinese ? *found : english(message));
  }

  [[nodiscard]] std::string value(std::string_view text, char kind) const {
    if (kind == 'n') return std::string(text);
    if (kind == 'w') return words(text);
    return lang::in_language(language_, text);
  }

  // One word of the plan, or several: "a speed, last", "VALID or INVALID".
  [[nodiscard]] std::string words(std::string_view text) const {
    constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kJoints{
        {{", ", "，"}, {" or ", " 或 "}}};
    for (const auto& [joint, translation] : kJoints)
      if (const std::size_t at = text.find(joint); at != npos)
        return words(text.substr(0, at)) + std::string(translation) +
               words(text.substr(at + joint.size()));
    for (const std::string_view word : kWords)
      if (english(word) == text) return said(word);
    return lang::in_language(language_, text);
  }

  [[nodiscard]] std::optional<std::string> filled(std::string_view text, const Shape& shape) const {
    const auto values = values_of(text, english(shape.message));
    if (!values) return std::nullopt;
    if (shape.message == kText.message) return value(text, shape.kinds[0]);
    fmt::dynamic_format_arg_store<fmt::format_context> shown;
    for (std::size_t i = 0; i < values->size(); ++i)
      shown.push_back(value((*values)[i], shape.kinds[i]));
    return fmt::vformat(said(shape.message), shown);
  }

  template <class Shapes>
  [[nodiscard]] std::optional<std::string> one_of(std::string_view text,
                                                  const Shapes& shapes) const {
    for (const Shape& shape : shapes)
      if (!shape.message.empty())
        if (auto out = filled(text, shape)) return out;
    return std::nullopt;
  }

  // "label   value" with the values of all lines under each other.
  template <class Labels>
  [[nodiscard]] std::optional<std::string> labelled(std::string_view text, const Labels& labels,
                                                    std::size_t columns) const {
    if (text.size() <= columns || text[columns - 1] != ' ') return std::nullopt;
    const auto label = std::ranges::find_if(labels, [&](const Label& one) {
      return english(one.message) == trim(text.substr(0, columns));
    });
    if (label == labels.end()) return std::nullopt;
    return pad_right(said(label->message), columns) +
           with_origin(text.substr(columns), [&](std::string_view all) {
             return one_of(all, label->shapes).value_or(std::string(all));
           });
  }

  [[nodiscard]] std::optional<std::string> more_ranks(std::string_view text) const {
    const std::size_t begin = text.starts_with("…") ? text.find_first_of("0123456789") : npos;
    if (begin == npos) return std::nullopt;
    const auto out = filled(text.substr(begin), kMoreRanks);
    return out ? std::optional(std::string(text.substr(0, begin)) + *out) : std::nullopt;
  }

  // "value  # where it is from"
  template <class Show>
  [[nodiscard]] std::string with_origin(std::string_view text, const Show& show) const {
    constexpr std::string_view kMark = "  # ";
    const std::size_t at = text.rfind(kMark);
    if (at == npos) return show(text);
    return show(text.substr(0, at)) + std::string(kMark) + said(text.substr(at + kMark.size()));
  }

  lang::Language language_;
  bool after_empty_ = true;
};

}  // namespace

std::string plan_in(lang::Language language, std::string_view plan) {
  if (language == lang::Language::english) return std::string(plan);
  PlanLines lines(language);
  std::string out;
  for (const std::string_view line : split(plan, '\n')) {
    if (line.data() != plan.data()) out += '\n';
    out += lines.shown(line);
  }
  return out;
}

}  // namespace assay::page
