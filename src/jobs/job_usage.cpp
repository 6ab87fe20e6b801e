#include "jobs/job_store.h"

namespace assay::jobs {

using database::Statement;

namespace {

constexpr const char* kSelectUse =
    "SELECT job, attempt, owner, team, device_type, devices, from_ns, to_ns, idle_device_s,"
    " energy_j, watched_device_s FROM usage ";

AttemptUse use_in(const Statement& row) {
  return {row.number(0), static_cast<int>(row.number(1)),
          row.text(2),   row.text(3),
          row.text(4),   static_cast<int>(row.number(5)),
          row.number(6), row.number(7),
          row.real(8),   row.real(9),
          row.real(10)};
}

}  // namespace

void JobStore::measure(const AttemptUse& use) {
  database_
      .prepare(
          "UPDATE usage SET device_type = ?3, idle_device_s = ?4, energy_j = ?5,"
          " watched_device_s = ?6"
          " WHERE job = ?1 AND attempt = ?2")
      .bind(1, use.job)
      .bind(2, std::int64_t{use.attempt})
      .bind(3, use.device_type)
      .bind_real(4, use.idle_device_s)
      .bind_real(5, use.energy_j)
      .bind_real(6, use.watched_device_s)
      .run();
}

std::optional<AttemptUse> JobStore::use_of(JobId job, int attempt) {
  Statement query = database_.prepare(std::string(kSelectUse) + "WHERE job = ?1 AND attempt = ?2");
  query.bind(1, job).bind(2, std::int64_t{attempt});
  return query.step() ? std::optional(use_in(query)) : std::nullopt;
}

std::vector<AttemptUse> JobStore::uses(WallTime from_ns, WallTime to_ns) {
  Statement query = database_.prepare(std::string(kSelectUse) +
                                      "WHERE to_ns >= ?1 AND to_ns < ?2 ORDER BY to_ns, job");
  query.bind(1, from_ns).bind(2, to_ns);
  std::vector<AttemptUse> out;
  while (query.step()) out.push_back(use_in(query));
  return out;
}

FairShare JobStore::fair_share(Nanoseconds half_life, WallTime now_ns) {
  FairShare share(half_life);
  // What is twenty half-lives old counts for a millionth.
  Statement query = database_.prepare(
      "SELECT team, owner, devices, from_ns, to_ns FROM usage WHERE to_ns > ? ORDER BY to_ns");
  query.bind(1, now_ns - 20 * half_life.count());
  while (query.step())
    share.add(query.text(0), query.text(1),
              static_cast<double>(query.number(2)) *
                  static_cast<double>(query.number(4) - query.number(3)) / 1e9,
              query.number(4));
  return share;
}

}  // namespace assay::jobs
