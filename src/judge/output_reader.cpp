#include "judge/output_reader.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "core/error.h"
#include "core/pattern.h"
#include "judge/printed_number.h"
#include "judge/terminal_text.h"

namespace assay::judge {

namespace {

// How much of a line backspaces leave: enough for a bar, and little enough to search each time.
constexpr std::size_t kKeptOnBackspace = 256;

struct Search {
  const plan::OutputMetric& metric;
  Pattern pattern;
  std::size_t value_group;
  std::optional<std::size_t> step_group;
  std::string work;      // for a speed: the unit of work, "it"
  std::size_t from = 0;  // position in the line up to which it has been searched
};

Search search_for(const plan::OutputMetric& metric) {
  try {
    Pattern pattern(metric.pattern);
    const auto named = pattern.group("value");
    const std::size_t value = named ? *named : std::min<std::size_t>(pattern.groups(), 1);
    const auto step = pattern.group("step");
    std::string work = metric.kind == plan::OutputKind::speed
                           ? metric.unit.substr(0, metric.unit.rfind('/'))
                           : std::string();
    return {metric, std::move(pattern), value, step, std::move(work)};
  } catch (const PatternError& e) {
    throw Error(ErrorKind::config,
                "metric '" + metric.name + "': '" + metric.pattern +
                    "' is not a regular expression: " + e.what(),
                "plan.json", "correct `match` of this metric in the suite");
  }
}

}  // namespace

struct OutputReader::Impl {
  std::vector<Search> searches;
  std::vector<OutputValues>& found;
  TerminalText terminal;
  std::string line;          // the line so far as a terminal shows it, or its end
  std::size_t repeated = 0;  // the part that was searched before backspaces and remained
  bool changed = false;      // since the last search
  bool skipping = false;     // the rest of a line whose beginning is missing
  std::uint64_t number = 0;
  Stamp last_at;
  std::int64_t last_step = kNoTime;

  explicit Impl(std::vector<OutputValues>& f) : found(f) {}

  void found_value(std::size_t i, const Pattern::Groups& groups) {
    const Search& search = searches[i];
    const std::string_view text = groups[search.value_group].value_or("");
    std::optional<double> value;
    if (search.metric.kind == plan::OutputKind::speed) {
      const PrintedSpeed speed = printed_speed(text, search.work);
      if (speed.unknown_yet) return;
      value = speed.value;
    } else {
      // A percentage is converted to a fraction, unless the unit is percent.
      const bool percent = search.metric.unit == "%" && text.ends_with('%');
      value = printed_number(text.substr(0, text.size() - (percent ? 1 : 0)));
    }
    if (!value) {
      found[i].add_unreadable(number, text);
      return;
    }
    OutputPoint point{*value, last_at, last_step};
    if (search.step_group)
      if (const auto own = printed_number(groups[*search.step_group].value_or(""));
          own && std::abs(*own) < 1e15)
        point.step = static_cast<std::int64_t>(*own);
    found[i].add(point);
  }

  // Counts the matches in `text`. `whole`: the line ends here; otherwise, matches near the end,
  // which more text may change, are left for the next time.
  void search(std::string_view text, bool whole) {
    const std::size_t sure = whole ? text.size() : text.size() - kOverlap;
    for (std::size_t i = 0; i < searches.size(); ++i) {
      std::size_t at = searches[i].from;
      std::size_t next = std::max(at, sure);
      while (at <= text.size()) {
        const auto groups = searches[i].pattern.search(text, at);
        if (!groups) break;
        const std::string_view match = groups->front().value_or("");
        const auto begin = static_cast<std::size_t>(match.data() - text.data());
        const std::size_t end = begin + match.size();
        if (end > sure) {
          // Does not wait for very long matches.
          if (text.size() - begin <= kWindow / 2) next = std::min(next, begin);
          break;
        }
        if (end > repeated && !match.empty()) found_value(i, *groups);
        at = match.empty() ? end + 1 : end;
      }
      if (!whole) searches[i].from = std::max(at, next);
    }
  }

  void end_line() {
    if (changed) search(line, /*whole=*/true);
    line.clear();
    start_line();
  }

  void start_line() {
    repeated = 0;
    changed = false;
    for (Search& search : searches) search.from = 0;
  }

  void append(std::string_view text) {
    while (!text.empty()) {
      if (line.size() == kWindow) {
        search(line, /*whole=*/false);
        std::size_t searched = kWindow;
        for (const Search& search : searches) searched = std::min(searched, search.from);
        forget(searched);
      }
      const std::string_view part = text.substr(0, kWindow - line.size());
      line += part;
      text.remove_prefix(part.size());
      changed = true;
    }
  }

  // Drops the line's first bytes except one, which stays as context: it shows that no line begins
  // after it.
  void forget(std::size_t bytes) {
    if (bytes < 2) return;
    --bytes;
    line.erase(0, bytes);
    const auto moved = [&](std::size_t place) { return place > bytes ? place - bytes : 1; };
    repeated = moved(repeated);
    for (Search& search : searches) search.from = moved(search.from);
  }

  void back(std::size_t characters) {
    if (changed) search(line, /*whole=*/true);
    changed = false;
    for (; characters > 0 && !line.empty(); --characters) {
      // A UTF-8 character is a first byte and its continuation bytes.
      while (line.size() > 1 && (static_cast<unsigned char>(line.back()) & 0xC0U) == 0x80U)
        line.pop_back();
      line.pop_back();
    }
    for (Search& search : searches) search.from = std::min(search.from, line.size());
    if (line.size() > kKeptOnBackspace) forget(line.size() - kKeptOnBackspace);
    repeated = line.size();
  }

  void read(std::string_view text) {
    while (!text.empty()) {
      const TerminalText::Item item = terminal.take(text);
      if (skipping) {
        skipping = item.kind != TerminalText::Kind::newline;
        continue;
      }
      switch (item.kind) {
        case TerminalText::Kind::text:
          append(item.text);
          break;
        case TerminalText::Kind::newline:
          end_line();
          break;
        case TerminalText::Kind::back:
          back(item.count);
          break;
        case TerminalText::Kind::nothing:
          break;
      }
    }
  }
};

OutputReader::OutputReader(const std::vector<plan::OutputMetric>& metrics,
                           std::vector<OutputValues>& found)
    : impl_(std::make_unique<Impl>(found)) {
  for (const plan::OutputMetric& metric : metrics) impl_->searches.push_back(search_for(metric));
  found.resize(metrics.size());
}

OutputReader::~OutputReader() = default;

bool OutputReader::wanted() const noexcept {
  return !impl_->searches.empty();
}

void OutputReader::hole() {
  impl_->line.clear();
  impl_->start_line();
  impl_->terminal.reset();
  impl_->skipping = true;
}

void OutputReader::passed(const Stamp& at) noexcept {
  if (at.known()) impl_->last_at = at;
}

void OutputReader::passed_step(std::int64_t step) noexcept {
  if (step != kNoTime) impl_->last_step = step;
}

void OutputReader::read(std::string_view text, std::uint64_t line, bool ends) {
  Impl& self = *impl_;
  self.number = line;
  // Most lines are complete and plain, and are searched in place.
  if (ends && self.line.empty() && self.terminal.idle() && !self.skipping &&
      text.size() <= kWindow && TerminalText::plain(text)) {
    if (!text.empty()) self.search(text, /*whole=*/true);
    self.start_line();
    return;
  }
  self.read(text);
  if (!ends) return;
  self.skipping = false;
  self.end_line();
  self.terminal.reset();
}

}  // namespace assay::judge
