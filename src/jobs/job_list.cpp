#include <algorithm>
#include <array>
#include <functional>
#include <memory>

#include <fmt/format.h>

#include "core/json_access.h"
#include "core/parse_number.h"
#include "jobs/job_store.h"
#include "jobs/stored_words.h"

namespace assay::jobs {

using database::Database;
using database::Statement;

namespace {

/// Which rows are in a list: a condition, and its values in their order.
struct Condition {
  std::string sql = " WHERE 1";
  std::vector<std::string> values{};

  void equals(const char* column, const std::string& value) {
    if (value.empty()) return;
    sql += fmt::format(" AND {} = ?", column);
    values.push_back(value);
  }
  [[nodiscard]] Statement of(Database& database, const std::string& text) const {
    Statement query = database.prepare(text);
    for (std::size_t i = 0; i < values.size(); ++i) query.bind(static_cast<int>(i) + 1, values[i]);
    return query;
  }
};

// From so many on, being one of them is asked row by row.
constexpr std::size_t kNamed = 500;

// Names are looked at once, in their index, which is much smaller than the table: by a search in
// the condition they would be once for the rows and once for their number.
std::vector<JobId> named_like(Database& database, const std::string& search) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  std::string wanted = search;
  std::ranges::transform(wanted, wanted.begin(), lower);
  database.define("named_like",
                  std::function<bool(std::string_view)>([wanted, lower](std::string_view name) {
                    return !std::ranges::search(name, wanted, {}, lower).empty();
                  }));
  std::vector<JobId> found;
  Statement names =
      database.prepare("SELECT id FROM jobs INDEXED BY jobs_by_name WHERE named_like(name)");
  while (names.step()) found.push_back(names.number(0));
  std::ranges::sort(found);
  return found;
}

void add_search(Condition& condition, Database& database, const std::string& search) {
  if (search.empty()) return;
  auto found = std::make_shared<std::vector<JobId>>(named_like(database, search));
  if (const auto id = parse_number<JobId>(search, 1))
    if (const auto at = std::ranges::lower_bound(*found, *id); at == found->end() || *at != *id)
      found->insert(at, *id);
  if (found->size() <= kNamed) {
    condition.sql += fmt::format(" AND id IN ({})", fmt::join(*found, ", "));
    return;
  }
  database.define("is_found", std::function<bool(std::int64_t)>([found](std::int64_t id) {
                    return std::ranges::binary_search(*found, id);
                  }));
  condition.sql += " AND is_found(id)";
}

Condition condition_of(const JobFilter& filter, Database& database) {
  Condition out;
  out.equals("owner", filter.owner);
  out.equals("team", filter.team);
  out.equals("queue", filter.queue);
  if (filter.array != 0) out.sql += fmt::format(" AND array = {0} AND array <> 0", filter.array);
  if (!filter.states.empty()) {
    out.sql += " AND state IN (";
    for (std::size_t i = 0; i < filter.states.size(); ++i) {
      out.sql += i == 0 ? "?" : ", ?";
      out.values.emplace_back(to_text(filter.states[i]));
    }
    out.sql += ")";
  }
  add_search(out, database, filter.search);
  return out;
}

std::int64_t total_of(const Condition& all, bool arrays_as_one, Database& database) {
  Statement count = all.of(database, "SELECT COUNT(*) FROM jobs" + all.sql);
  const std::int64_t rows = count.step() ? count.number(0) : 0;
  if (!arrays_as_one || rows == 0) return rows;
  Statement arrays =
      all.of(database, "SELECT COUNT(*), COUNT(DISTINCT array) FROM jobs INDEXED BY jobs_by_array" +
                           all.sql + " AND array <> 0");
  return arrays.step() ? rows - arrays.number(0) + arrays.number(1) : rows;
}

// As time_run() has it: all attempts that have ended, and what the last one has run until now.
std::string ran_until(WallTime now_ns) {
  std::string holding;
  for (const State state : enum_values<State>())
    if (holds_nodes(state))
      holding += fmt::format("{}'{}'", holding.empty() ? "" : ", ", to_text(state));
  return fmt::format(
      "(SELECT COALESCE(SUM(to_ns - from_ns), 0) FROM usage WHERE job = jobs.id) +"
      " CASE WHEN started_ns <> 0 AND state IN ({}) THEN MAX({} - started_ns, 0) ELSE 0 END",
      holding, now_ns);
}

}  // namespace

JobPage JobStore::list(const JobFilter& filter) {
  Condition condition = condition_of(filter, database_);
  JobPage page;
  page.total = total_of(condition, filter.arrays_as_one, database_);
  if (filter.arrays_as_one) {
    condition.sql += " AND (array = 0 OR id IN (SELECT MIN(id) FROM jobs INDEXED BY jobs_by_array" +
                     condition.sql + " AND array <> 0 GROUP BY array))";
    const std::vector<std::string> again = condition.values;
    condition.values.insert(condition.values.end(), again.begin(), again.end());
  }
  const std::string ran = ran_until(filter.now_ns);
  const std::array<const char*, 9> kColumns{"submitted_ns", "started_ns", "ended_ns",
                                            "name",         "owner",      "priority",
                                            "devices",      "state",      ran.c_str()};
  static_assert(kColumns.size() == enum_values<JobOrder>().size());
  const char* direction = filter.descending ? "DESC" : "ASC";
  Statement rows = condition.of(
      database_,
      fmt::format("SELECT id, name, owner, team, queue, priority, state, devices, device_type,"
                  " verdict, submitted_ns, started_ns, ended_ns, array, array_index FROM jobs{}"
                  " ORDER BY {} {}, id {} LIMIT {} OFFSET {}",
                  condition.sql, kColumns[static_cast<std::size_t>(filter.order)], direction,
                  direction, std::clamp<std::int64_t>(filter.limit, 1, kMaxPage),
                  std::max<std::int64_t>(filter.offset, 0)));
  // Of the page alone: in the same query SQLite may read it of all rows that it sorts.
  Statement life = database_.prepare("SELECT life FROM details WHERE job = ?");
  while (rows.step()) {
    page.rows.push_back({rows.number(0), rows.text(1), rows.text(2), rows.text(3), rows.text(4),
                         static_cast<int>(rows.number(5)), word_of<State>(rows.text(6)),
                         static_cast<int>(rows.number(7)), rows.text(8),
                         word_of<Verdict>(rows.text(9)), rows.number(10), rows.number(11),
                         rows.number(12), rows.number(13)});
    JobRow& row = page.rows.back();
    if (!rows.is_null(14)) row.array_index = static_cast<int>(rows.number(14));
    life.bind(1, row.id);
    if (life.step()) row.ran_ns = integer_at(parse_json_or_null(life.text(0)), "ran_ns", 0);
    life.reset();
  }
  if (filter.arrays_as_one) add_standings(page.rows);
  return page;
}

void JobStore::add_standings(std::vector<JobRow>& rows) {
  Statement groups = database_.prepare(
      "SELECT state, verdict, COUNT(*), MIN(id), MAX(id) FROM jobs INDEXED BY jobs_by_array"
      " WHERE array = ? AND array <> 0 GROUP BY state, verdict");
  for (JobRow& row : rows) {
    if (row.array == 0) continue;
    ArrayStanding& all = row.all.emplace();
    groups.reset();
    groups.bind(1, row.array);
    while (groups.step()) {
      const std::int64_t count = groups.number(2);
      all.elements += count;
      all.states[word_of<State>(groups.text(0))] += count;
      if (const auto verdict = word_of<Verdict>(groups.text(1)); verdict != Verdict::none)
        all.verdicts[verdict] += count;
      all.first = all.first == 0 ? groups.number(3) : std::min(all.first, groups.number(3));
      all.last = std::max(all.last, groups.number(4));
    }
  }
}

std::vector<ArrayElement> JobStore::elements(JobId array) {
  Statement query = database_.prepare(
      "SELECT id, array_index, state FROM jobs INDEXED BY jobs_by_array"
      " WHERE array = ? AND array <> 0 ORDER BY id");
  query.bind(1, array);
  std::vector<ArrayElement> out;
  while (query.step())
    out.push_back(
        {query.number(0), static_cast<int>(query.number(1)), word_of<State>(query.text(2))});
  return out;
}

}  // namespace assay::jobs
