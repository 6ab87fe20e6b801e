// What follows from decisions and events: orders to the engine, and news.

#include <exception>
#include <new>

#include "core/error.h"
#include "platform/platform_state.h"

namespace assay::platform {

void Platform::State::act() {
  for (;;) {
    std::pair<jobs::JobId, jobs::Action> next;
    {
      const std::lock_guard guard(mutex);
      if (actions.empty()) return;
      next = actions.front();
    }
    const auto& [id, action] = next;
    const engine::Execution execution{id, action.attempt};
    switch (action.kind) {
      case jobs::ActionKind::start:
        start_job(id, action);
        break;
      case jobs::ActionKind::stop:
        engine->stop(execution, action.grace);
        break;
      case jobs::ActionKind::stop_now:
        engine->stop(execution, Nanoseconds(0));
        break;
      case jobs::ActionKind::warn_idle:
        break;  // it is in the timeline, and told as news
    }
    const std::lock_guard guard(mutex);
    actions.erase(actions.begin());
  }
}

std::string Platform::State::secret_for(const std::string& owner, const std::string& team,
                                        const std::string& name) const {
  if (!options.secret) throw Error(ErrorKind::usage, "this server keeps no secrets");
  return options.secret(owner, team, name);
}

void Platform::State::start_job(jobs::JobId id, const jobs::Action& action) {
  std::optional<jobs::Job> job;
  engine::Order order;
  {
    const std::lock_guard guard(mutex);
    job = store.find(id);
    if (!job) return;
    order = order_of(*job);
  }
  order.execution.attempt = action.attempt;
  order.restarts = action.restarts;
  order.folder = folders.of(id, action.attempt);
  try {
    if (!job->code.empty()) {
      if (!options.code) throw Error(ErrorKind::environment, "this server keeps no uploads");
      order.code = options.code(job->code);
    }
    // As it is now: it may have been given another value since the job was submitted, or be gone.
    for (const auto& [variable, name] : job->submission.secrets)
      order.secrets[variable] = secret_for(job->owner, job->team, name);
    engine->start(order);
  } catch (const std::bad_alloc&) {
    throw;  // there is memory later: it is started then
  } catch (const std::exception& error) {
    jobs::Event failed = event_for(jobs::EventKind::engine_error, error.what());
    failed.attempt = action.attempt;
    const std::lock_guard guard(mutex);
    reports.emplace_back(order.execution, failed);
  }
}

void Platform::State::publish() {
  std::vector<JobEvent> told;
  {
    const std::lock_guard guard(mutex);
    told.swap(news);
  }
  for (const JobEvent& event : told) listeners.tell(event);
}

}  // namespace assay::platform
