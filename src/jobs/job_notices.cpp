#include <algorithm>

#include "jobs/job_store.h"

namespace assay::jobs {

using database::Statement;
using database::Transaction;

void JobStore::tell(const std::vector<std::string>& listeners) {
  Transaction transaction(database_);
  std::vector<std::string> known;
  Statement all = database_.prepare("SELECT DISTINCT listener FROM notices");
  while (all.step()) known.push_back(all.text(0));
  all.reset();
  for (const std::string& one : known)
    if (std::ranges::find(listeners, one) == listeners.end())
      database_.prepare("DELETE FROM notices WHERE listener = ?").bind(1, one).run();
  transaction.commit();
  listeners_ = listeners;
}

std::vector<Notice> JobStore::notices(const std::string& listener, std::int64_t limit,
                                      std::int64_t after) {
  Statement rows = database_.prepare(
      "SELECT number, notices.job, COALESCE(owner, ''), COALESCE(team, ''), notices.state,"
      " COALESCE(verdict, ''), at_ns, words, COALESCE(name, ''),"
      " CASE WHEN json_valid(life) THEN COALESCE(life ->> '$.cause', '') ELSE '' END"
      " FROM notices LEFT JOIN jobs ON jobs.id = notices.job"
      " LEFT JOIN details ON details.job = notices.job"
      " WHERE listener = ? AND number > ? ORDER BY number LIMIT ?");
  rows.bind(1, listener).bind(2, after).bind(3, limit);
  std::vector<Notice> out;
  while (rows.step())
    out.push_back({.number = rows.number(0),
                   .job = rows.number(1),
                   .name = rows.text(8),
                   .owner = rows.text(2),
                   .team = rows.text(3),
                   .state = parse_enum<State>(rows.text(4)).value_or(State::error),
                   .cause = parse_enum<Cause>(rows.text(9)).value_or(Cause::none),
                   .verdict = parse_enum<Verdict>(rows.text(5)).value_or(Verdict::none),
                   .at_ns = rows.number(6),
                   .words = rows.text(7)});
  return out;
}

void JobStore::told(std::int64_t number) {
  database_.prepare("DELETE FROM notices WHERE number = ?").bind(1, number).run();
}

}  // namespace assay::jobs
