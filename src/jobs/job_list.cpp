#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "core/json_access.h"
#include "core/parse_number.h"
#include "jobs/job_store.h"
#include "jobs/stored_words.h"

namespace assay::jobs {

using database::Statement;

JobPage JobStore::list(const JobFilter& filter) {
  std::string where = " WHERE 1";
  std::vector<std::string> values;
  const auto equals = [&](const char* column, const std::string& value) {
    if (value.empty()) return;
    where += fmt::format(" AND {} = ?", column);
    values.push_back(value);
  };
  equals("owner", filter.owner);
  equals("team", filter.team);
  equals("queue", filter.queue);
  if (!filter.states.empty()) {
    where += " AND state IN (";
    for (std::size_t i = 0; i < filter.states.size(); ++i) {
      where += i == 0 ? "?" : ", ?";
      values.emplace_back(to_text(filter.states[i]));
    }
    where += ")";
  }
  if (!filter.search.empty()) {
    std::string pattern = "%";
    for (const char c : filter.search) {
      if (c == '%' || c == '_' || c == '\\') pattern += '\\';
      pattern += c;
    }
    // The names are read from their index, which is much smaller than the table.
    where += " AND id IN (SELECT id FROM jobs WHERE name LIKE ? ESCAPE '\\'";
    values.push_back(pattern + "%");
    if (const auto id = parse_number<JobId>(filter.search, 1))
      where += fmt::format(" UNION ALL SELECT {}", *id);
    where += ")";
  }
  const auto bound = [&](const std::string& sql) {
    Statement query = database_.prepare(sql);
    for (std::size_t i = 0; i < values.size(); ++i) query.bind(static_cast<int>(i) + 1, values[i]);
    return query;
  };
  JobPage page;
  Statement count = bound("SELECT COUNT(*) FROM jobs" + where);
  if (count.step()) page.total = count.number(0);
  // As time_run() has it: all attempts that have ended, and what the last one has run until now.
  std::string holding;
  for (const State state : enum_values<State>())
    if (holds_nodes(state))
      holding += fmt::format("{}'{}'", holding.empty() ? "" : ", ", to_text(state));
  const std::string ran = fmt::format(
      "(SELECT COALESCE(SUM(to_ns - from_ns), 0) FROM usage WHERE job = jobs.id) +"
      " CASE WHEN started_ns <> 0 AND state IN ({}) THEN MAX({} - started_ns, 0) ELSE 0 END",
      holding, filter.now_ns);
  const std::array<const char*, 9> kColumns{"submitted_ns", "started_ns", "ended_ns",
                                            "name",         "owner",      "priority",
                                            "devices",      "state",      ran.c_str()};
  static_assert(kColumns.size() == enum_values<JobOrder>().size());
  const char* direction = filter.descending ? "DESC" : "ASC";
  Statement rows = bound(fmt::format(
      "SELECT id, name, owner, team, queue, priority, state, devices, device_type, verdict,"
      " submitted_ns, started_ns, ended_ns, array, array_index FROM jobs{} ORDER BY {} {}, id {}"
      " LIMIT {} OFFSET {}",
      where, kColumns[static_cast<std::size_t>(filter.order)], direction, direction,
      std::clamp<std::int64_t>(filter.limit, 1, kMaxPage),
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
  return page;
}

}  // namespace assay::jobs
