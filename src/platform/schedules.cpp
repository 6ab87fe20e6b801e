#include "platform/schedules.h"

#include <algorithm>
#include <exception>

#include <fmt/format.h>

#include "core/error.h"
#include "core/files.h"
#include "core/json_fields.h"
#include "core/text.h"
#include "core/time.h"
#include "database/database.h"

namespace assay::platform {

namespace {

// A clock that was set is noticed by then.
constexpr Nanoseconds kMaxSleep = std::chrono::seconds(20);
// For a disk that is full, or a database that is locked.
constexpr Nanoseconds kAfterFailedTurn = std::chrono::seconds(5);

struct StoredSchedules {
  std::vector<Schedule> schedules{};

  static void fields(auto& self, auto&& field) { field("schedules", self.schedules); }
};

std::vector<Schedule> read_schedules(const std::filesystem::path& file) {
  if (!std::filesystem::exists(file)) return {};
  try {
    auto all =
        fields_from_json<StoredSchedules>(parse_json(read_file(file), file.string()), file.string())
            .schedules;
    for (const Schedule& one : all) (void)jobs::Cron::parse(one.cron, one.name);
    return all;
  } catch (const Error& error) {
    throw Error(ErrorKind::environment, "the schedules cannot be read: " + error.message(),
                error.where(), "correct the file, or restore it from a copy");
  }
}

bool is_named(const Schedule& schedule, const std::string& owner, const std::string& name) {
  return schedule.owner == owner && schedule.name == name;
}

}  // namespace

std::optional<jobs::WallTime> next_time(const Schedule& schedule, jobs::WallTime now_ns) {
  if (schedule.paused) return std::nullopt;
  if (schedule.again_ns > now_ns - kMakeUp.count()) return schedule.again_ns;
  const jobs::WallTime since =
      std::max({schedule.last_ns, schedule.made_ns, now_ns - kMakeUp.count()});
  return jobs::Cron::parse(schedule.cron, schedule.name).next(since);
}

Schedules::Schedules(std::filesystem::path file, Submit submit)
    : file_(std::move(file)), submit_(std::move(submit)), all_(read_schedules(file_)) {}

Schedules::~Schedules() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

void Schedules::start() {
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

void Schedules::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    Nanoseconds sleep = kMaxSleep;
    try {
      const jobs::WallTime now_ns = wall_now_ns();
      if (const auto next = submit_due(now_ns))
        sleep = std::min(sleep, Nanoseconds(std::max<std::int64_t>(*next - wall_now_ns(), 0)));
    } catch (const std::exception&) {
      sleep = kAfterFailedTurn;  // what is due stays due
    }
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, stop, sleep, [this] { return fresh_; });
    fresh_ = false;
  }
}

std::vector<Schedule> Schedules::of(const std::string& owner) {
  const std::scoped_lock lock(mutex_);
  std::vector<Schedule> out;
  for (const Schedule& one : all_)
    if (owner.empty() || one.owner == owner) out.push_back(one);
  return out;
}

void Schedules::put(Schedule schedule, jobs::WallTime now_ns) {
  (void)jobs::Cron::parse(schedule.cron, "cron");
  const std::scoped_lock lock(mutex_);
  std::vector<Schedule> next = all_;
  const auto found = std::ranges::find_if(
      next, [&](const Schedule& one) { return is_named(one, schedule.owner, schedule.name); });
  const auto own = std::ranges::count(next, schedule.owner, &Schedule::owner);
  if (found == next.end() && own >= static_cast<std::ptrdiff_t>(kMaxSchedules))
    throw Error(ErrorKind::usage, fmt::format("a person has at most {} schedules", kMaxSchedules));
  schedule.made_ns = now_ns;  // what was due before does not count for the new times
  if (found == next.end()) {
    next.push_back(std::move(schedule));
  } else {
    schedule.last_ns = found->last_ns;
    schedule.last_job = found->last_job;
    schedule.last_error = found->last_error;
    *found = std::move(schedule);
  }
  replace(std::move(next));
}

void Schedules::replace(std::vector<Schedule> next) {
  std::swap(all_, next);
  try {
    write();
  } catch (const Error&) {
    all_ = std::move(next);
    throw;
  }
  fresh_ = true;
  changed_.notify_all();
}

std::vector<Held::OfSchedule> Schedules::hold(const std::string& words) {
  const std::scoped_lock lock(mutex_);
  std::vector<Held::OfSchedule> out;
  std::vector<Schedule> next = all_;
  for (Schedule& one : next) {
    // With these words it was held by a start that was cut off.
    if (one.paused && one.last_error != words) continue;
    one.paused = true;
    one.last_error = words;
    out.push_back({one.owner, one.name});
  }
  if (!out.empty()) replace(std::move(next));
  return out;
}

void Schedules::release(const std::vector<Held::OfSchedule>& held, jobs::WallTime now_ns) {
  const std::scoped_lock lock(mutex_);
  std::vector<Schedule> next = all_;
  for (Schedule& one : next) {
    if (!one.paused || std::ranges::find(held, Held::OfSchedule{one.owner, one.name}) == held.end())
      continue;
    one.paused = false;
    one.last_error.clear();
    one.again_ns = 0;
    one.made_ns = now_ns;  // what was due meanwhile is not made up for
  }
  if (!held.empty()) replace(std::move(next));
}

bool Schedules::remove(const std::string& owner, const std::string& name) {
  const std::scoped_lock lock(mutex_);
  std::vector<Schedule> next = all_;
  if (std::erase_if(next, [&](const Schedule& one) { return is_named(one, owner, name); }) == 0)
    return false;
  replace(std::move(next));
  return true;
}

void Schedules::write() const {
  write_file_atomic(file_, dump_pretty(fields_to_json(StoredSchedules{all_})));
}

Schedule Schedules::submit_one(const Schedule& schedule, jobs::WallTime at_ns) {
  jobs::NewJob job;
  job.submission = schedule.submission;
  job.owner = schedule.owner;
  job.team = schedule.team;
  job.code = schedule.code;
  job.request_key = fmt::format("schedule:{}:{}", schedule.name, iso_utc(at_ns));
  Schedule after = schedule;
  after.last_ns = std::max(at_ns, schedule.last_ns);
  after.last_error.clear();  // where it fails, the last job is still the last
  after.again_ns = 0;
  try {
    if (const auto ids = submit_(job); !ids.empty()) after.last_job = ids.front();
  } catch (const database::DatabaseError&) {
    throw;  // nobody's job can be written down now
  } catch (const Error& refused) {
    after.last_error = refused.message();
    if (refused.kind() == ErrorKind::environment) after.again_ns = at_ns;
  } catch (const std::exception& failure) {
    after.last_error = failure.what();
    after.again_ns = at_ns;
  }
  const std::scoped_lock lock(mutex_);
  for (Schedule& one : all_) {
    // It may have been changed meanwhile: then that is due later which was due now.
    if (!is_named(one, schedule.owner, schedule.name)) continue;
    one.last_ns = after.last_ns;
    one.last_job = after.last_job;
    one.last_error = after.last_error;
    one.again_ns = one.made_ns == schedule.made_ns ? after.again_ns : 0;
  }
  unwritten_ = true;
  return after;
}

// What it says has happened later than now has happened before the clock was set back: it would
// wait for that time to come again. A moment that comes again is no new one (its request key).
void Schedules::follow_clock(jobs::WallTime now_ns) {
  const std::scoped_lock lock(mutex_);
  for (Schedule& one : all_) {
    if (std::max({one.last_ns, one.made_ns, one.again_ns}) <= now_ns) continue;
    one.last_ns = std::min(one.last_ns, now_ns);
    one.made_ns = std::min(one.made_ns, now_ns);
    if (one.again_ns > now_ns) one.again_ns = 0;
    unwritten_ = true;
  }
}

std::optional<jobs::WallTime> Schedules::submit_due(jobs::WallTime now_ns) {
  follow_clock(now_ns);
  std::optional<jobs::WallTime> next;
  std::exception_ptr failure;
  try {
    for (const Schedule& one : of({})) {
      auto at_ns = next_time(one, now_ns);
      if (at_ns && *at_ns <= now_ns) {
        const Schedule after = submit_one(one, *at_ns);
        at_ns = after.again_ns != 0 ? now_ns + kMaxSleep.count() : next_time(after, now_ns);
      }
      if (at_ns && (!next || *at_ns < *next)) next = at_ns;
    }
  } catch (const database::DatabaseError&) {
    failure = std::current_exception();
  }
  // Once for all of them; what was submitted before a failure is written down, too.
  const std::scoped_lock lock(mutex_);
  if (unwritten_) write();
  unwritten_ = false;
  if (failure) std::rethrow_exception(failure);
  return next;
}

}  // namespace assay::platform
