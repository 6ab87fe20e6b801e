#include "jobs/job_snapshot.h"

namespace assay::jobs {

namespace {

/// Device seconds of an attempt that runs.
double used_so_far(const Life& life, WallTime now_ns) {
  if (!holds_nodes(life.state) || life.started_ns == 0) return 0;
  std::int64_t devices = 0;
  for (const NodeShare& share : life.placement) devices += share.devices;
  return static_cast<double>(devices) * static_cast<double>(now_ns - life.started_ns) / 1e9;
}

}  // namespace

void add_jobs(Snapshot& snapshot, JobStore& store, Nanoseconds default_time, Nanoseconds half_life,
              WallTime now_ns) {
  snapshot.fair_share = store.fair_share(half_life, now_ns);
  for (const Job& job : store.unfinished()) {
    const Life& life = job.life;
    snapshot.fair_share.add(job.team, job.owner, used_so_far(life, now_ns), now_ns);
    Request request = request_of(job, default_time);
    if (life.state == State::queued || life.state == State::unapproved) {
      // A job that there is not can never finish.
      for (const JobId id : job.submission.after)
        request.after.push_back({id, store.state_of(id).value_or(State::error)});
      (life.state == State::queued ? snapshot.queued : snapshot.unapproved)
          .push_back(std::move(request));
    } else if (holds_nodes(life.state)) {
      // Until it starts, its time has not begun; it cannot begin later than now.
      const WallTime since_ns = life.state == State::scheduling ? now_ns : life.started_ns;
      snapshot.occupants.push_back({std::move(request), life.placement,
                                    since_ns == 0 ? life.placed_ns : since_ns, life.stop_by_ns});
    }
  }
}

}  // namespace assay::jobs
