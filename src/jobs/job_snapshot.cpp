#include "jobs/job_snapshot.h"

namespace assay::jobs {

void add_jobs(Snapshot& snapshot, JobStore& store, Nanoseconds default_time, Nanoseconds half_life,
              WallTime now_ns) {
  for (const Job& job : store.unfinished()) {
    const Life& life = job.life;
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
  snapshot.fair_share = store.fair_share(half_life, now_ns);
}

}  // namespace assay::jobs
