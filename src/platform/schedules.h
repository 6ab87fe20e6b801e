#pragma once

#include <condition_variable>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "jobs/cron.h"
#include "jobs/job_store.h"
#include "platform/folder_identity.h"

namespace assay::platform {

/// A job that is submitted again and again.
struct Schedule {
  std::string name{};  ///< unique among its owner's
  std::string owner{};
  std::string team{};
  std::string cron{};  ///< as jobs::Cron reads it, in UTC
  jobs::Submission submission{};
  std::string code{};  ///< the upload that the jobs work in; empty: none
  bool paused = false;
  jobs::WallTime made_ns = 0;
  // What happened last:
  jobs::WallTime last_ns = 0;  ///< the moment that was due; 0: none yet
  jobs::JobId last_job = 0;    ///< that was submitted, perhaps earlier; 0: none ever was
  std::string last_error{};    ///< why none was at that moment
  /// A moment at which the machine failed, not the submission; it is still due. 0: none.
  jobs::WallTime again_ns = 0;

  static void fields(auto& self, auto&& field) {
    field("name", self.name);
    field("owner", self.owner);
    field.optional("team", self.team);
    field("cron", self.cron);
    field("submission", self.submission);
    field.optional("code", self.code);
    field.optional("paused", self.paused);
    field.optional("made_ns", self.made_ns);
    field.optional("last_ns", self.last_ns);
    field.optional("last_job", self.last_job);
    field.optional("last_error", self.last_error);
    field.optional("again_ns", self.again_ns);
  }
};

/// What came due while the server was down, its clock stood still or its machine failed is made up
/// for this long.
inline constexpr Nanoseconds kMakeUp = std::chrono::minutes(10);
inline constexpr std::size_t kMaxSchedules = 100;  ///< of a person

/// The next moment at which it is to be submitted; at or before `now_ns`: it is due. Nothing:
/// never, or it is paused. Pure.
[[nodiscard]] std::optional<jobs::WallTime> next_time(const Schedule& schedule,
                                                      jobs::WallTime now_ns);

/// Schedules, in one file that is written as a whole, and the thread that submits what is due.
/// A moment is submitted at most once, whatever ends the server: its request key says which it is.
/// Thread-safe. Throws Error of kind usage for what cannot be done, environment when the disk
/// fails.
class Schedules {
 public:
  /// Submits a job, or throws Error with the reason why not; called from the thread.
  using Submit = std::function<std::vector<jobs::JobId>(const jobs::NewJob&)>;

  /// A file that cannot be read is an Error of kind environment: schedules are never dropped in
  /// silence.
  Schedules(std::filesystem::path file, Submit submit);
  Schedules(const Schedules&) = delete;
  Schedules& operator=(const Schedules&) = delete;
  ~Schedules();

  void start();
  /// All of a person's; of everybody with an empty name.
  [[nodiscard]] std::vector<Schedule> of(const std::string& owner);
  /// New, or in place of the one of that name; what happened last is kept.
  void put(Schedule schedule, jobs::WallTime now_ns);
  /// Pauses all that are not paused, with these words as their last error, and gives them.
  [[nodiscard]] std::vector<Held::OfSchedule> hold(const std::string& words);
  /// Those of them that are still paused go on.
  void release(const std::vector<Held::OfSchedule>& held, jobs::WallTime now_ns);
  /// False: there is none.
  bool remove(const std::string& owner, const std::string& name);
  /// Submits all that is due, and gives the next moment. The thread does that. A failure is the one
  /// schedule's own, and last_error; only that of a database, or of the schedules' file, is thrown:
  /// what is due stays due.
  [[nodiscard]] std::optional<jobs::WallTime> submit_due(jobs::WallTime now_ns);

 private:
  void run(const std::stop_token& stop);
  void follow_clock(jobs::WallTime now_ns);
  void write() const;
  /// With these in place of all; what cannot be written has not happened. With the mutex held.
  void replace(std::vector<Schedule> next);
  /// Gives what it is afterwards.
  [[nodiscard]] Schedule submit_one(const Schedule& schedule, jobs::WallTime at_ns);

  std::filesystem::path file_;
  Submit submit_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  bool fresh_ = false;
  bool unwritten_ = false;  ///< the file says less than what happened
  std::vector<Schedule> all_;
  std::jthread thread_;
};

}  // namespace assay::platform
