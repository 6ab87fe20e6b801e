#include "live/rank_console.h"

#include <algorithm>
#include <array>
#include <limits>
#include <queue>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "core/parse_number.h"
#include "core/text.h"
#include "core/time.h"

namespace assay::live {

namespace {

constexpr std::size_t kViews = 4;
constexpr std::size_t kBlock = 2048;          // lines that are read at a time
constexpr std::uint64_t kPiece = 256U << 10;  // bytes of a log between two looks at the others
constexpr std::uint64_t kLinesBefore = 5;     // the first error

bool fits(Lines show, Level level) {
  switch (show) {
    case Lines::all:
      return true;
    case Lines::text:
      return level != Level::perf;
    case Lines::warnings:
      return level >= Level::warning;
    case Lines::errors:
      return level == Level::error;
  }
  return true;
}

constexpr const char* kGone = "… (this part of the log was dropped)";

// Bytes at the end that begin a character of UTF-8 and do not end it.
std::size_t begun_character(std::string_view text) {
  for (std::size_t back = 1; back <= std::min<std::size_t>(3, text.size()); ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if (byte < 0x80) return 0;
    if (byte < 0xC0) continue;
    const std::size_t size = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : 2;
    return size > back ? back : 0;
  }
  return 0;
}

// The same whether its lines were sent or are those of the evidence: the rank of a round.
std::string key_of(const LogFile& log, const std::vector<WatchedRound>& rounds) {
  if (log.case_name.empty()) return "c";
  const int begun = rounds[log.round_index].begun;
  return fmt::format("{}{}{}", log.round_index, begun == 1 ? "" : fmt::format("b{}", begun),
                     log.rank < 0 ? "h" : fmt::format("r{}", log.rank));
}

}  // namespace

void Console::reset() {
  sources_.clear();
  all_ = {};
  views_.clear();
  ++generation_;
}

void Console::look(const RunWatch& watch, std::uint64_t bytes) {
  if (watch.logs().size() < sources_.size()) reset();
  for (std::size_t i = sources_.size(); i < watch.logs().size(); ++i) {
    const LogFile& log = watch.logs()[i];
    sources_.push_back(std::make_unique<Source>(
        Source{log, key_of(log, watch.rounds()), LineIndex(log.file, log.start_ms, log.sent)}));
  }
  bool same = true;
  for (const auto& source : sources_) {
    // A round that is over, and was read to its end, does not change any more.
    if (source->finished) continue;
    same = source->index.look() && same;
  }
  if (!same) {
    reset();
    return look(watch, bytes);
  }
  merge(bytes);
  for (const auto& source : sources_) {
    if (source->finished || !source->index.at_end() || !source->index.times().empty()) continue;
    const bool controller = source->log.case_name.empty();
    const bool over =
        watch.ended() || (!controller && watch.rounds()[source->log.round_index].ended &&
                          watch.rounds()[source->log.round_index].listed);
    if (!over) continue;
    source->index.finish();
    source->finished = true;
  }
  merge(bytes);
}

void Console::merge(std::uint64_t bytes) {
  std::uint64_t left = bytes;
  using Next = std::pair<std::int64_t, std::size_t>;
  std::priority_queue<Next, std::vector<Next>, std::greater<>> heap;
  // A line takes its place only when every log has shown its next one, or has none for now.
  const auto refill = [&](std::size_t i) {
    LineIndex& index = sources_[i]->index;
    while (index.times().empty() && !index.at_end() && left > 0)
      left -= std::min(left, std::max<std::uint64_t>(index.scan(std::min(left, kPiece)), 1));
    if (!index.times().empty()) heap.emplace(index.times().front(), i);
    return !index.times().empty() || index.at_end();
  };
  bool ready = true;
  for (std::size_t i = 0; i < sources_.size(); ++i) ready = refill(i) && ready;
  while (ready && !heap.empty()) {
    const std::size_t i = heap.top().second;
    heap.pop();
    Source& source = *sources_[i];
    std::deque<std::int64_t>& times = source.index.times();
    // All of this log that comes before the next line of another.
    const std::int64_t until = heap.empty() || all_.runs.size() >= kMaxRuns
                                   ? std::numeric_limits<std::int64_t>::max()
                                   : heap.top().first;
    std::uint64_t count = 0;
    do {
      times.pop_front();
      ++count;
    } while (!times.empty() && times.front() <= until);
    append(all_, i, source.merged, count);
    source.merged += count;
    ready = refill(i);
  }
  indexing_ = !ready;
}

void Console::append(View& view, std::size_t source, std::uint64_t line, std::uint64_t count) {
  if (!view.runs.empty()) {
    const Run& last = view.runs.back();
    if (last.source == source && last.line + (view.total - last.first) == line) {
      view.total += count;
      return;
    }
  }
  view.runs.push_back(
      {view.total, static_cast<std::uint32_t>(source), static_cast<std::uint32_t>(line)});
  view.total += count;
}

Console::View& Console::view(std::optional<int> rank, Lines show) {
  if (!rank && show == Lines::all) return all_;
  auto found = std::ranges::find_if(
      views_, [&](const View& known) { return known.rank == rank && known.show == show; });
  if (found == views_.end()) {
    views_.push_front({rank, show});
    if (views_.size() > kViews) views_.pop_back();
  } else {
    views_.splice(views_.begin(), views_, found);
  }
  extend(views_.front());
  return views_.front();
}

void Console::extend(View& view) {
  if (view.taken >= all_.total) return;
  auto run = std::ranges::upper_bound(all_.runs, view.taken, {}, &Run::first) - 1;
  for (; run != all_.runs.end(); ++run) {
    const std::uint64_t end = run + 1 == all_.runs.end() ? all_.total : (run + 1)->first;
    const std::uint64_t skip = std::max(view.taken, run->first) - run->first;
    const Source& source = *sources_[run->source];
    if (view.rank && source.log.rank != *view.rank) continue;
    if (view.show == Lines::all) {
      append(view, run->source, run->line + skip, end - run->first - skip);
      continue;
    }
    for (std::uint64_t line = run->line + skip; line < run->line + (end - run->first); ++line)
      if (fits(view.show, source.index.level(line))) append(view, run->source, line, 1);
  }
  view.taken = all_.total;
}

std::vector<Console::Found> Console::read(const View& view, std::uint64_t from, std::size_t count,
                                          std::size_t max_text) const {
  std::vector<Found> found;
  if (from >= view.total) return found;
  count = std::min<std::uint64_t>(count, view.total - from);
  found.resize(count);
  // Every log is read once, however often they take turns.
  struct Wanted {
    std::vector<std::uint64_t> lines;
    std::vector<std::size_t> places;
  };
  std::map<std::size_t, Wanted> by_source;
  auto run = std::ranges::upper_bound(view.runs, from, {}, &Run::first) - 1;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t number = from + i;
    while (run + 1 != view.runs.end() && (run + 1)->first <= number) ++run;
    Wanted& wanted = by_source[run->source];
    wanted.lines.push_back(run->line + (number - run->first));
    wanted.places.push_back(i);
    found[i].number = number;
    found[i].source = run->source;
  }
  for (const auto& [source, wanted] : by_source) {
    std::size_t next = 0;
    sources_[source]->index.read(wanted.lines, [&](const LineIndex::Line& line) {
      Found& place = found[wanted.places[next++]];
      place.line = line;
      place.line.bytes = {};
      if (!line.gone) {
        place.text = shown(line.bytes.substr(0, max_text));
        place.cut = line.bytes.size() > max_text ? line.bytes.size() - max_text : 0;
      }
      return true;
    });
  }
  return found;
}

Json Console::to_json(const Found& found) const {
  const Source& source = *sources_[found.source];
  const LogFile& log = source.log;
  Json json{{"n", found.number + 1},
            {"at", found.line.time_ms > 0 ? Json(iso_utc(found.line.time_ms * 1'000'000, true))
                                          : Json(nullptr)},
            {"case", printable(log.case_name)},
            {"round", log.round},
            {"node", log.node < 0 ? Json(nullptr) : Json(printable(log.host))},
            {"rank", log.rank < 0 ? Json(nullptr) : Json(log.rank)},
            {"text", found.text},
            {"level", to_text(source.index.level(found.line.number))},
            {"log", source.key},
            {"end", found.line.end}};
  if (found.cut > 0) json["cut"] = found.cut;
  if (found.line.gone) json["gone"] = true;
  return json;
}

std::optional<std::uint64_t> Console::first_error(std::optional<int> rank) {
  const View& errors = view(rank, Lines::errors);
  if (errors.runs.empty()) return std::nullopt;
  const Run first = errors.runs.front();
  const View& whole = view(rank, Lines::all);
  for (const Run& run : whole.runs) {
    if (run.source != first.source || run.line > first.line) continue;
    const std::uint64_t end = &run == &whole.runs.back() ? whole.total : (&run + 1)->first;
    if (first.line - run.line < end - run.first) return run.first + (first.line - run.line);
  }
  return std::nullopt;
}

std::uint64_t Console::first_new(const View& view, const LogPlace& place) const {
  std::vector<std::uint64_t> lines;
  for (const auto& source : sources_) {
    const auto read = place.ends.find(source->key);
    lines.push_back(read == place.ends.end() ? 0 : source->index.line_near(read->second));
  }
  for (const Run& run : view.runs) {
    const std::uint64_t end = &run == &view.runs.back() ? view.total : (&run + 1)->first;
    const std::uint64_t line = lines[run.source];
    if (run.line + (end - run.first) > line)
      return run.first + (line - std::min<std::uint64_t>(line, run.line));
  }
  return view.total;
}

void Console::take_before(const View& view, std::uint64_t number, LogPlace& place) const {
  std::map<std::uint32_t, std::uint64_t> last;
  for (const Run& run : view.runs) {
    if (run.first >= number) break;
    const std::uint64_t end = &run == &view.runs.back() ? view.total : (&run + 1)->first;
    last[run.source] = run.line + (std::min(end, number) - run.first) - 1;
  }
  for (const auto& [source, line] : last)
    sources_[source]->index.read(std::array{line}, [&](const LineIndex::Line& read) {
      place.take(number, sources_[source]->key, read.end);
      return true;
    });
  place.number = number;
}

Json Console::page(const ConsoleQuery& query) {
  LogPlace before;
  return page(query, before);
}

Json Console::page(const ConsoleQuery& query, LogPlace& before) {
  const auto error = first_error(query.rank);
  const bool at_error = query.first_error && error && query.show == Lines::all;
  const View& chosen = view(query.rank, query.show);
  std::uint64_t from = 0;
  const bool same = query.after && query.after->generation == generation_;
  const bool again = query.after && !same && !query.after->whole;
  before = query.after && !again ? *query.after : LogPlace{};
  if (query.after)
    from = same ? query.after->number : first_new(chosen, before);
  else if (at_error)
    from = *error - std::min(*error, kLinesBefore);
  else if (query.from < 0)
    from = chosen.total - std::min(chosen.total, static_cast<std::uint64_t>(-(query.from + 1)) + 1);
  else if (query.from > 0)
    from = static_cast<std::uint64_t>(query.from) - 1;
  const std::size_t most = std::clamp<std::size_t>(query.lines, 1, kMaxPage);
  from = std::min(from, chosen.total);
  if (!query.after && query.placed)
    take_before(chosen, from, before);
  else if (!query.after)
    before.whole = from == 0;
  before.generation = generation_;
  before.number = from;
  const std::string needle = to_lower(query.search);
  Json lines = Json::array();
  std::size_t bytes = 0;
  std::uint64_t looked = 0;
  std::uint64_t next = from;
  while (next < chosen.total && lines.size() < most && bytes < kMaxAnswer && looked < kMaxSearch) {
    const std::size_t count =
        needle.empty() ? std::min<std::size_t>(most - lines.size(), 256) : kBlock;
    for (const Found& found : read(chosen, next, count, kMaxText)) {
      if (lines.size() == most || bytes >= kMaxAnswer) break;
      next = found.number + 1;
      looked += found.text.size() + 1;
      if (query.after && !found.line.gone &&
          before.has(sources_[found.source]->key, found.line.end))
        continue;
      if (!needle.empty() && to_lower(found.text).find(needle) == std::string::npos) continue;
      bytes += found.text.size() + 100;
      lines.push_back(to_json(found));
    }
  }
  std::set<int> ranks;
  Json problems = Json::array();
  for (const auto& source : sources_) {
    if (source->log.rank >= 0) ranks.insert(source->log.rank);
    if (!source->index.problem().empty() && problems.size() < 20)
      problems.push_back(printable(source->index.problem()));
  }
  Json json{{"lines", std::move(lines)},
            {"next", next + 1},
            {"total", chosen.total},
            {"first_error", error ? Json(*error + 1) : Json(nullptr)},
            {"generation", generation_},
            {"indexing", indexing_},
            {"ranks", ranks}};
  if (!problems.empty()) json["problems"] = std::move(problems);
  if (again) json["again"] = true;
  return json;
}

Console::Given Console::add_pieces(std::string& out, std::size_t source, std::uint64_t first,
                                   std::uint64_t done, std::size_t most) const {
  constexpr std::uint64_t kAtOnce = 64;
  const LineIndex& index = sources_[source]->index;
  Given given{done, false};
  std::string kept;  // the beginning of a character that the next piece goes on with
  std::uint64_t next = first + done - (done == 0 ? 0 : 1);
  for (bool full = false; !full && !given.all && next < index.lines();) {
    std::vector<std::uint64_t> numbers;
    for (; numbers.size() < kAtOnce && next + numbers.size() < index.lines();)
      numbers.push_back(next + numbers.size());
    const std::uint64_t before = next;
    index.read(numbers, [&](const LineIndex::Line& piece) {
      if (piece.number > first && piece.begins && !piece.gone) {
        given.all = true;  // the log was cut there
        return false;
      }
      const bool last = !piece.open || piece.number + 1 == index.lines();
      std::string bytes = kept + std::string(piece.bytes);
      const std::size_t tail = last ? 0 : begun_character(bytes);
      const std::string next_kept = bytes.substr(bytes.size() - tail);
      bytes.resize(bytes.size() - tail);
      if (piece.number >= first + done) {
        const bool again = bytes.find('\r') < bytes.size() - 1 && given.pieces > 0;
        const std::string text = piece.gone ? kGone : (again ? "\n" : "") + shown(bytes);
        full = given.pieces > done && out.size() + text.size() > most;
        if (full) return false;
        out += text;
        ++given.pieces;
        given.all = last;
      }
      kept = next_kept;
      next = piece.number + 1;
      return !given.all;
    });
    if (next == before) break;
  }
  if (given.pieces == done) given.all = true;  // it is not there any more
  if (given.all) out += '\n';
  return given;
}

std::string Console::text(std::optional<int> rank, TextPlace& from, std::size_t most) {
  const View& chosen = view(rank, Lines::all);
  std::string out;
  std::uint64_t next = from.line > 0 ? static_cast<std::uint64_t>(from.line) - 1 : 0;
  std::uint64_t within = std::exchange(from.pieces, 0);
  for (bool full = false; next < chosen.total && !full;) {
    for (const Found& found : read(chosen, next, 64, LineIndex::kMaxLine)) {
      const LogFile& log = sources_[found.source]->log;
      const std::string who = !rank && log.rank >= 0 ? fmt::format("[{}] ", log.rank) : "";
      const std::uint64_t number = found.line.number;
      const auto known = from.given.find(found.source);
      if (!found.line.begins && !found.line.gone &&
          (known == from.given.end() || number <= known->second)) {
        next = found.number + 1;  // it came with the first piece of its line
        continue;
      }
      if (!found.line.open || found.line.gone) {
        const std::string line = who + (found.line.gone ? kGone : found.text) + '\n';
        full = !out.empty() && out.size() + line.size() > most;
        if (full) break;
        out += line;
        next = found.number + 1;
        continue;
      }
      const std::size_t before = out.size();
      if (within == 0) out += who;
      const Given given = add_pieces(out, found.source, number, within, most);
      full = !given.all;
      if (given.all) {
        from.given[found.source] = number + given.pieces - 1;
        next = found.number + 1;
      } else if (before > 0) {
        out.resize(before);
      } else {
        from.pieces = given.pieces;
      }
      within = 0;
      if (full) break;
    }
  }
  from.line = static_cast<std::int64_t>(next) + 1;
  return out;
}

std::string text_of(const TextPlace& place) {
  return place.pieces == 0 ? std::to_string(place.line)
                           : fmt::format("{}.{}", place.line, place.pieces);
}

std::optional<TextPlace> parse_text_place(std::string_view text) {
  const auto dot = text.find('.');
  const auto line = parse_number<std::int64_t>(text.substr(0, dot));
  const auto pieces = dot == std::string_view::npos
                          ? std::optional<std::uint64_t>(0)
                          : parse_number<std::uint64_t>(text.substr(dot + 1));
  if (!line || !pieces) return std::nullopt;
  return TextPlace{.line = std::max<std::int64_t>(*line, 1), .pieces = *pieces};
}

}  // namespace assay::live
