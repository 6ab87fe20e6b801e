#pragma once

#include <functional>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "client/answers.h"
#include "client/connection.h"

namespace assay::client {

/// What is submitted: the fields of jobs::Submission, and what stands beside them.
struct NewSubmission {
  Json submission = Json::object();
  std::string team{};  ///< empty: the person's own choice at the server
  std::string code{};  ///< id of an upload; empty: none
};

/// Which jobs of all; empty fields do not limit.
struct JobQuery {
  std::vector<std::string> states{};
  std::string owner{};
  std::string team{};
  std::string queue{};
  std::string search{};
  std::string order{};  ///< empty: the server's
  bool ascending = false;
  std::int64_t offset = 0;
  std::int64_t limit = 50;
};

struct UsageQuery {
  std::string from{};  ///< "2026-11-01", or a whole time
  std::string to{};
  std::string by{};  ///< "user,team,month,device_type"
};

struct LogQuery {
  std::int64_t from = 0;
  std::string after{};  ///< instead of `from`: LogPage::place of what was read
  std::int64_t lines = 1000;
  std::string rank = "all";
  std::optional<int> attempt{};
};

/// What has become of many jobs, by their numbers.
struct ManyChanged {
  std::map<jobs::JobId, std::string> changed{};  ///< the state
  std::map<jobs::JobId, std::string> failed{};   ///< why not; of very many, the first
  std::int64_t refused = 0;                      ///< in all
};

/// A part of a log as text, each line with "[RANK] " first where it is of all ranks.
struct LogText {
  std::string text{};
  std::string next{};  ///< where the next part begins; empty: this was the last
};

/// A typed client of the platform's REST interface. Errors are those of Connection. Thread-safe.
class Client {
 public:
  explicit Client(Server server, std::stop_token stop = {});

  [[nodiscard]] const Connection& connection() const noexcept { return connection_; }
  /// Of the job's page, for a browser.
  [[nodiscard]] std::string page_of(jobs::JobId id) const;

  /// Signs in with name and password, and has the server make a token for this machine.
  [[nodiscard]] std::string make_token(const std::string& user, const std::string& password,
                                       const std::string& token_name) const;
  [[nodiscard]] Answer<SessionAnswer> session() const;

  [[nodiscard]] Answer<PreviewAnswer> preview(const NewSubmission& job) const;
  /// `request_key`: the same one gives the same jobs again, so that it is sent again when an answer
  /// gets lost.
  [[nodiscard]] Answer<JobList> submit(const NewSubmission& job,
                                       const std::string& request_key) const;
  [[nodiscard]] Answer<JobList> list(const JobQuery& query) const;
  [[nodiscard]] Answer<JobDetails> job(jobs::JobId id) const;
  [[nodiscard]] Answer<std::vector<TimelineRow>> timeline(jobs::JobId id) const;
  [[nodiscard]] std::string suite(jobs::JobId id) const;
  /// The page of the last attempt's report, HTML.
  [[nodiscard]] std::string report(jobs::JobId id) const;
  /// result.json of the last attempt.
  [[nodiscard]] Json result(jobs::JobId id) const;
  /// That the tester has computed of a run that was pushed.
  [[nodiscard]] Json pushed_result(const std::string& test) const;
  /// "kill", "pause", "resume", "approve" or "reject".
  Answer<JobDetails> ask_of(jobs::JobId id, const std::string& deed) const;
  /// "kill", "pause" or "resume" of "3,17-26", in as many requests as it takes.
  [[nodiscard]] ManyChanged ask_of_many(const std::string& numbers, const std::string& deed) const;
  [[nodiscard]] Answer<LogPage> log(jobs::JobId id, const LogQuery& query) const;
  /// All that there is now, faster than log(), from where LogText::next says: of the query only
  /// rank and attempt count. A line that is longer than a part ends in one of the next.
  [[nodiscard]] LogText log_text(jobs::JobId id, const LogQuery& query,
                                 const std::string& from = {}) const;

  [[nodiscard]] Answer<jobs::NodesAnswer> nodes() const;
  void drain(const std::string& node, const std::string& reason) const;
  void undrain(const std::string& node) const;
  [[nodiscard]] Answer<std::vector<OtherJobRow>> others() const;
  [[nodiscard]] Answer<std::vector<QueueRow>> queues() const;
  [[nodiscard]] Answer<jobs::UsageAnswer> usage(const UsageQuery& query) const;
  [[nodiscard]] std::string usage_csv(const UsageQuery& query) const;
  /// Makes or changes a schedule that submits the job. The schedule, as the server has it.
  [[nodiscard]] Json put_schedule(const std::string& name, const std::string& cron,
                                  const NewSubmission& job) const;
  [[nodiscard]] Json schedules() const;
  void remove_schedule(const std::string& name, const std::string& owner) const;
  /// Of a team, or one's own where that is empty.
  void put_secret(const std::string& team, const std::string& name, const std::string& value) const;
  [[nodiscard]] Json secrets() const;
  void remove_secret(const std::string& team, const std::string& name) const;
  /// The submission of a template, own ones before the team's and everybody's. Throws Error of kind
  /// usage, with the names that there are.
  [[nodiscard]] Json template_named(const std::string& name) const;

  /// Calls `listener` for every change of a job until `stop` is asked for or the server ends the
  /// stream. Throws when it cannot begin, or is cut.
  void watch(const std::stop_token& stop,
             const std::function<void(const JobNews&)>& listener) const;

 private:
  Connection connection_;
};

/// 32 hex digits that nobody has used before.
[[nodiscard]] std::string new_request_key();

}  // namespace assay::client
