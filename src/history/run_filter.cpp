#include "history/run_filter.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <unordered_map>

#include <fmt/format.h>
#include <fnmatch.h>

#include "core/error.h"
#include "core/parse_number.h"
#include "core/text.h"
#include "core/units.h"
#include "report/mllog.h"

namespace assay::history {

namespace {

using database::Statement;

std::string numbers_list(const std::vector<std::int64_t>& numbers) {
  return fmt::format("({})", fmt::join(numbers, ", "));
}

std::vector<std::int64_t> fitting_cases(RunIndex& index, const std::vector<std::string>& patterns) {
  std::vector<std::int64_t> out;
  Statement all = index.database().prepare("SELECT id, name FROM cases");
  while (all.step())
    if (case_fits(all.text(1), patterns)) out.push_back(all.number(0));
  return out;
}

std::vector<std::int64_t> metrics_named(RunIndex& index, const std::string& name) {
  std::vector<std::int64_t> out;
  std::vector<std::string> names;
  Statement all = index.database().prepare("SELECT id, name FROM metrics");
  while (all.step()) {
    names.push_back(all.text(1));
    if (names.back() == name) out.push_back(all.number(0));
  }
  if (out.empty())
    throw Error(ErrorKind::usage,
                "no run has the metric '" + printable(name) + "'" + did_you_mean(name, names), {},
                "'assay list metrics' describes them");
  return out;
}

/// A WHERE clause with its parameters' values.
class Where {
 public:
  void add(const std::string& clause) { clauses_.push_back("(" + clause + ")"); }
  void add(const std::string& clause, std::string text) {
    add(clause);
    texts_.push_back(std::move(text));
  }
  void bind_more(std::string text) { texts_.push_back(std::move(text)); }
  [[nodiscard]] std::string sql() const {
    return clauses_.empty() ? "" : " WHERE " + join(clauses_, " AND ");
  }
  void bind(Statement& statement) const {
    for (std::size_t i = 0; i < texts_.size(); ++i)
      statement.bind(static_cast<int>(i) + 1, texts_[i]);
  }

 private:
  std::vector<std::string> clauses_;
  std::vector<std::string> texts_;
};

Where where_of(RunIndex& index, const RunFilter& filter) {
  Where where;
  const std::vector<std::int64_t> cases = fitting_cases(index, filter.cases);
  if (!filter.cases.empty())
    where.add("id IN (SELECT run FROM run_cases WHERE case_id IN " + numbers_list(cases) + ")");
  if (!filter.hosts.empty()) {
    std::vector<std::string> any(filter.hosts.size(), "instr(hosts, ?) > 0");
    where.add(join(any, " OR "), "\n" + filter.hosts.front() + "\n");
    for (std::size_t i = 1; i < filter.hosts.size(); ++i)
      where.bind_more("\n" + filter.hosts[i] + "\n");
  }
  if (!filter.verdicts.empty()) {
    std::vector<std::int64_t> numbers;
    for (const judge::Validity verdict : filter.verdicts)
      numbers.push_back(static_cast<std::int64_t>(verdict));
    // An unjudged run has no verdict.
    where.add(fmt::format("state = {} AND validity IN {}", static_cast<int>(RunState::ended),
                          numbers_list(numbers)));
  }
  for (const std::string& tag : filter.tags)
    where.add("id IN (SELECT run FROM tags WHERE tag = ?)", tag);
  if (!filter.note.empty())
    where.add("id IN (SELECT run FROM notes WHERE instr(lower(text), lower(?)) > 0)", filter.note);
  for (const Condition& condition : filter.conditions)
    where.add(
        fmt::format("id IN (SELECT run FROM metric_values WHERE metric IN {} AND case_id IN "
                    "{} AND median {} {})",
                    numbers_list(metrics_named(index, condition.metric)), numbers_list(cases),
                    to_text(condition.relation), condition.value));
  if (filter.archived) where.add(*filter.archived ? "archived != ''" : "archived = ''");
  if (filter.since_ms) where.add(fmt::format("started >= {}", *filter.since_ms));
  if (filter.until_ms) where.add(fmt::format("started <= {}", *filter.until_ms));
  return where;
}

void add_labels(RunIndex& index, std::vector<FoundRun>& runs) {
  std::unordered_map<std::int64_t, FoundRun> labels;  // few runs have any
  Statement tags = index.database().prepare("SELECT run, tag FROM tags ORDER BY run, tag");
  while (tags.step()) labels[tags.number(0)].tags.push_back(tags.text(1));
  Statement notes = index.database().prepare("SELECT run, at, text FROM notes ORDER BY rowid");
  while (notes.step()) labels[notes.number(0)].notes.push_back({notes.text(1), notes.text(2)});
  if (labels.empty()) return;
  for (FoundRun& run : runs)
    if (const auto found = labels.find(run.id); found != labels.end()) {
      run.tags = std::move(found->second.tags);
      run.notes = std::move(found->second.notes);
    }
}

}  // namespace

Condition parse_condition(const std::string& text) {
  const auto fail = [&]() -> Error {
    return {ErrorKind::usage,
            "not a valid condition: '" + printable(text) + "'",
            {},
            "write METRIC RELATION NUMBER, as in 'steady_throughput > 100' (relations: " +
                enum_choices<Condition::Relation>() + ")"};
  };
  const std::size_t at = text.find_first_of("<>=");
  if (at == std::string::npos) throw fail();
  const std::size_t size = at + 1 < text.size() && text[at + 1] == '=' ? 2 : 1;
  std::string sign = text.substr(at, size);
  if (sign == "==") sign = "=";
  const auto relation = parse_enum<Condition::Relation>(sign);
  std::string_view number = trim(std::string_view(text).substr(at + size));
  const bool percent = number.ends_with('%');
  if (percent) number = trim(number.substr(0, number.size() - 1));
  const auto value = parse_number<double>(number);
  const std::string metric(trim(std::string_view(text).substr(0, at)));
  if (!relation || !value || !std::isfinite(*value) || metric.empty()) throw fail();
  return {metric, *relation, percent ? *value / 100 : *value};
}

namespace {

// "2026-11-15 10:15 UTC", as lists show times; also without the zone, and with seconds.
std::optional<std::int64_t> shown_time(std::string_view text) {
  constexpr std::size_t kDay = 10;
  constexpr std::size_t kMinutes = 16;
  constexpr std::size_t kSeconds = 19;
  for (const std::string_view zone : {" UTC", "Z"})
    if (text.ends_with(zone)) {
      text.remove_suffix(zone.size());
      break;
    }
  if ((text.size() != kMinutes && text.size() != kSeconds) ||
      (text[kDay] != ' ' && text[kDay] != 'T'))
    return std::nullopt;
  std::string iso(text);
  iso[kDay] = 'T';
  if (iso.size() == kMinutes) iso += ":00";
  return report::parse_iso_ms(iso + "Z");
}

}  // namespace

std::int64_t parse_when(const std::string& text, const std::string& option, std::int64_t now_ms) {
  if (const auto ms = shown_time(text)) return *ms;
  if (const auto ms = report::parse_iso_ms(text)) return *ms;
  if (const auto ms = report::parse_iso_ms(text + "T00:00:00Z")) return *ms;
  if (const auto ago = parse_duration(text); ago && !text.empty() && text.back() >= 'a')
    return now_ms - ago->count() / 1'000'000;
  throw Error(
      ErrorKind::usage, "not a valid time: '" + printable(text) + "'", option,
      "give a day (2026-11-15), a moment (2026-11-15 10:15 UTC), or how long ago (30d, 12h)");
}

bool case_fits(const std::string& name, const std::vector<std::string>& patterns) {
  return patterns.empty() || std::ranges::any_of(patterns, [&](const std::string& pattern) {
           return name.find(pattern) != std::string::npos ||
                  ::fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
         });
}

std::vector<FoundRun> find_runs(RunIndex& index, const RunFilter& filter) {
  const Where where = where_of(index, filter);
  Statement all = index.database().prepare(
      "SELECT id, folder, run_id, suite, state, problem, validity, started, ended, machine, "
      "version, environment, copy_of, archived FROM runs" +
      where.sql());
  where.bind(all);
  std::vector<FoundRun> out;
  while (all.step())
    out.push_back({all.number(0), all.text(1), all.text(2), all.text(3),
                   static_cast<RunState>(all.number(4)), all.text(5),
                   static_cast<judge::Validity>(all.number(6)), all.number(7), all.number(8),
                   all.text(9), all.text(10), all.number(11), all.text(12), all.text(13)});
  // Faster here than in SQLite, which would write the rows to sort them; they are mostly in order
  // already.
  const auto earlier = [](const FoundRun& a, const FoundRun& b) {
    return std::tie(a.started_ms, a.folder) < std::tie(b.started_ms, b.folder);
  };
  if (!std::ranges::is_sorted(out, earlier)) std::ranges::sort(out, earlier);
  add_labels(index, out);
  return out;
}

std::vector<std::string> remarks_about(const std::vector<FoundRun>& runs) {
  std::vector<std::string> unreadable;
  std::size_t without = 0;
  std::size_t archived = 0;
  std::map<std::string, std::vector<std::string>> by_id;
  for (const FoundRun& run : runs) {
    if (run.state == RunState::unreadable) unreadable.push_back(run.problem);
    if (run.state == RunState::no_result) ++without;
    if (!run.archived.empty()) ++archived;
    if (run.state == RunState::ended && run.copy_of.empty())
      by_id[run.run_id].push_back(run.folder);
  }
  std::vector<std::string> out;
  constexpr std::size_t kShown = 5;
  for (std::size_t i = 0; i < std::min(unreadable.size(), kShown); ++i)
    out.push_back("cannot be read: " + unreadable[i]);
  if (unreadable.size() > kShown)
    out.push_back(fmt::format("and {} more", counted(unreadable.size() - kShown, "run")));
  if (without > 0)
    out.push_back(fmt::format("{} not judged: 'assay report RUN' does so",
                              without == 1 ? "1 run is" : fmt::format("{} runs are", without)));
  if (archived > 0)
    out.push_back(fmt::format("{} archived: 'assay archive --restore RUN' brings the files back",
                              archived == 1 ? "1 run is" : fmt::format("{} runs are", archived)));
  for (const auto& [id, folders] : by_id)
    if (folders.size() > 1)
      out.push_back("different runs have the id " + id + ": " + join(folders, ", "));
  return out;
}

}  // namespace assay::history
