#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/json.h"
#include "core/time.h"
#include "jobs/cluster_answers.h"
#include "jobs/job_state.h"
#include "jobs/submission.h"

// What the server answers, as types. Read tolerantly, because a server may be of another version:
// what is missing or unknown is empty. What the server wrote stays beside it.

namespace assay::client {

template <class T>
struct Answer {
  T value{};
  Json json{};  ///< as it came
};

/// A state by its name; `known` is nothing for one that this program does not know.
struct StateName {
  std::string text{};
  std::optional<jobs::State> known{};

  [[nodiscard]] bool is(jobs::State state) const { return known == state; }
  [[nodiscard]] bool is_final() const { return known && jobs::is_final(*known); }
};

/// Times are ISO 8601 as they came; empty: none.
struct JobRow {
  jobs::JobId id = 0;
  std::string name{};
  std::string owner{};
  std::string team{};
  std::string queue{};
  std::int64_t priority = 0;
  StateName state{};
  std::int64_t devices = 0;  ///< in all
  std::string device_type{};
  jobs::Verdict verdict = jobs::Verdict::none;
  std::string submitted{};
  std::string started{};
  std::string ended{};
  std::optional<double> ran_s{};  ///< in all attempts, until now; nothing: the server does not say
  jobs::JobId array = 0;          ///< 0: of none
  std::optional<std::int64_t> array_index{};
  std::string pending{};  ///< why it does not run, in words
  std::int64_t place = 0;
  std::string estimated_start{};
};

struct JobList {
  std::vector<JobRow> jobs{};
  std::int64_t total = 0;
};

struct JobDetails {
  JobRow row{};
  jobs::Submission submission{};
  std::string code{};  ///< the upload that it works in; empty: none
  std::int64_t attempt = 0;
  std::int64_t restarts = 0;
  std::int64_t retries = 0;
  std::string cause{};
  std::string message{};
  std::optional<std::int64_t> exit_code{};
  jobs::Placement placement{};
  std::string logs_removed{};  ///< when; empty: they are there
};

struct TimelineRow {
  std::string at{};
  std::string event{};
  std::string from{};
  std::string to{};
  std::int64_t attempt = 0;
  std::string who{};
  std::string words{};
};

struct PreviewAnswer {
  std::vector<jobs::Problem> problems{};
  std::string suite{};
  std::string plan{};
  jobs::Placement placement{};
  std::optional<double> time_s{};  ///< that it may run
  std::int64_t place = 0;
  std::string estimated_start{};
  std::string pending{};      ///< in words
  std::int64_t elements = 0;  ///< of an array; 0: it is none
  std::int64_t at_once = 0;   ///< elements that may run at a time; 0: any number
};

struct SessionAnswer {
  std::string user{};
  std::string role{};
  std::vector<std::string> teams{};
};

/// A job of the engine's scheduler that was not submitted to the server.
struct OtherJobRow {
  std::string id{};
  std::string name{};
  std::string user{};
  std::string queue{};
  std::string state{};
  std::string waiting{};  ///< what it waits for; empty: it does not
  std::string node_list{};
};

struct QueueRow {
  std::string name{};
  std::int64_t priority = 0;
  bool closed = false;
  bool preempts = true;
  bool approval = false;  ///< somebody has to approve what is submitted
  std::int64_t waiting = 0;
  std::int64_t running = 0;
};

struct LogLine {
  std::int64_t n = 0;
  std::string at{};
  std::string node{};
  std::string rank{};  ///< empty: of no rank
  std::string text{};
};

struct LogPage {
  std::vector<LogLine> lines{};
  std::int64_t next = 0;   ///< where to go on
  std::int64_t total = 0;  ///< of lines
  std::string place{};  ///< where to go on, whatever becomes of the numbers; empty: an old server
  bool ended = false;   ///< nothing will be added
};

/// A job has changed.
struct JobNews {
  jobs::JobId id = 0;
  StateName state{};
  std::string event{};
  std::string at{};
  std::string words{};
};

[[nodiscard]] JobRow read_row(const Json& json);
[[nodiscard]] JobList read_jobs(const Json& json);
[[nodiscard]] JobDetails read_details(const Json& json);
[[nodiscard]] std::vector<TimelineRow> read_timeline(const Json& json);
[[nodiscard]] PreviewAnswer read_preview(const Json& json);
[[nodiscard]] SessionAnswer read_session(const Json& json);
/// Why what the server says of nodes and others' jobs may be out of date; empty: it is not.
[[nodiscard]] std::string read_trouble(const Json& json);
[[nodiscard]] std::vector<OtherJobRow> read_others(const Json& json);
[[nodiscard]] std::vector<QueueRow> read_queues(const Json& json);
[[nodiscard]] LogPage read_log(const Json& json);
[[nodiscard]] JobNews read_news(const Json& json);

/// Nanoseconds since the Unix epoch of "2026-11-16T16:10:00.000Z"; nothing for what is no such
/// time.
[[nodiscard]] std::optional<std::int64_t> parse_time(const std::string& iso);

}  // namespace assay::client
