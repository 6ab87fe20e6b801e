#include "client/answers.h"

#include <cmath>
#include <cstdio>
#include <ctime>

#include "core/json_access.h"

namespace assay::client {

namespace {

StateName state_at(const Json& json, const char* key) {
  StateName state{text_at(json, key), {}};
  state.known = parse_enum<jobs::State>(state.text);
  return state;
}

jobs::Placement placement_at(const Json& json, const char* key) {
  jobs::Placement placement;
  for (const Json& share : list_at(json, key))
    placement.push_back(
        {text_at(share, "node"), static_cast<int>(integer_at(share, "devices", 0))});
  return placement;
}

// Words, or an object that has them.
std::string words_at(const Json& json, const char* key) {
  const Json& value = member_at(json, key);
  return value.is_object() ? text_at(value, "words") : text_at(json, key);
}

}  // namespace

JobRow read_row(const Json& json) {
  JobRow row;
  row.id = integer_at(json, "id", 0);
  row.name = text_at(json, "name");
  row.owner = text_at(json, "owner");
  row.team = text_at(json, "team");
  row.queue = text_at(json, "queue");
  row.priority = integer_at(json, "priority", 0);
  row.state = state_at(json, "state");
  row.devices = integer_at(json, "devices", 0);
  row.device_type = text_at(json, "device_type");
  row.verdict = parse_enum<jobs::Verdict>(text_at(json, "verdict")).value_or(jobs::Verdict::none);
  row.submitted = text_at(json, "submitted");
  row.started = text_at(json, "started");
  row.ended = text_at(json, "ended");
  row.ran_s = number_at(json, "ran_s");
  row.array = integer_at(json, "array", 0);
  row.array_index = integer_at(json, "array_index");
  row.pending = words_at(json, "pending");
  row.place = integer_at(json, "place", 0);
  row.estimated_start = text_at(json, "estimated_start");
  return row;
}

JobList read_jobs(const Json& json) {
  JobList list;
  for (const Json& row : list_at(json, "jobs")) list.jobs.push_back(read_row(row));
  list.total = integer_at(json, "total", static_cast<std::int64_t>(list.jobs.size()));
  return list;
}

JobDetails read_details(const Json& json) {
  JobDetails details;
  details.row = read_row(json);
  details.submission = jobs::read_submission(member_at(json, "submission")).submission;
  details.code = text_at(json, "code");
  const Json& life = object_at(json, "life");
  details.attempt = integer_at(life, "attempt", 0);
  details.restarts = integer_at(life, "restarts", 0);
  details.retries = integer_at(life, "retries", 0);
  details.cause = text_at(life, "cause");
  details.message = text_at(life, "message");
  details.exit_code = integer_at(life, "exit_code");
  details.placement = placement_at(life, "placement");
  details.logs_removed = text_at(json, "logs_removed");
  return details;
}

std::vector<TimelineRow> read_timeline(const Json& json) {
  std::vector<TimelineRow> rows;
  for (const Json& event : list_at(json, "events"))
    rows.push_back({text_at(event, "at"), text_at(event, "event"), text_at(event, "from"),
                    text_at(event, "to"), integer_at(event, "attempt", 0), text_at(event, "who"),
                    text_at(event, "words")});
  return rows;
}

PreviewAnswer read_preview(const Json& json) {
  PreviewAnswer preview;
  for (const Json& problem : list_at(json, "problems"))
    preview.problems.push_back({text_at(problem, "path"), text_at(problem, "message")});
  preview.suite = text_at(json, "suite");
  preview.plan = text_at(json, "plan");
  preview.placement = placement_at(json, "placement");
  preview.time_s = number_at(json, "time_s");
  preview.place = integer_at(json, "place", 0);
  preview.estimated_start = text_at(json, "estimated_start");
  preview.pending = words_at(json, "pending");
  preview.elements = integer_at(json, "elements", 0);
  preview.at_once = integer_at(json, "at_once", 0);
  return preview;
}

SessionAnswer read_session(const Json& json) {
  SessionAnswer session{text_at(json, "user"), text_at(json, "role"), {}};
  for (const Json& team : list_at(json, "teams"))
    if (team.is_string()) session.teams.push_back(team.get<std::string>());
  return session;
}

std::string read_trouble(const Json& json) {
  return text_at(json, "trouble");
}

std::vector<OtherJobRow> read_others(const Json& json) {
  std::vector<OtherJobRow> jobs;
  for (const Json& job : list_at(json, "jobs"))
    jobs.push_back({text_at(job, "id"), text_at(job, "name"), text_at(job, "user"),
                    text_at(job, "queue"), text_at(job, "state"), text_at(job, "waiting"),
                    text_at(job, "node_list")});
  return jobs;
}

std::vector<QueueRow> read_queues(const Json& json) {
  std::vector<QueueRow> queues;
  for (const Json& queue : list_at(json, "queues"))
    queues.push_back({text_at(queue, "name"), integer_at(queue, "priority", 0),
                      true_at(queue, "closed"), true_at(queue, "preempts"),
                      true_at(queue, "approval"), integer_at(queue, "waiting", 0),
                      integer_at(queue, "running", 0)});
  return queues;
}

LogPage read_log(const Json& json) {
  LogPage page;
  for (const Json& line : list_at(json, "lines"))
    page.lines.push_back({integer_at(line, "n", 0), any_text_at(line, "at"),
                          any_text_at(line, "node"), any_text_at(line, "rank"),
                          text_at(line, "text")});
  page.next = integer_at(json, "next", 0);
  page.total = integer_at(json, "total", 0);
  page.place = text_at(json, "place");
  page.ended = true_at(json, "ended") && !true_at(json, "indexing");
  return page;
}

JobNews read_news(const Json& json) {
  return {integer_at(json, "id", 0), state_at(json, "state"), text_at(json, "event"),
          text_at(json, "at"), text_at(json, "words")};
}

std::optional<std::int64_t> parse_time(const std::string& iso) {
  std::tm parts{};
  double second = 0;
  char zone = 0;
  int used = 0;
  if (std::sscanf(iso.c_str(), "%4d-%2d-%2dT%2d:%2d:%lf%c%n", &parts.tm_year, &parts.tm_mon,
                  &parts.tm_mday, &parts.tm_hour, &parts.tm_min, &second, &zone, &used) != 7 ||
      zone != 'Z' || static_cast<std::size_t>(used) != iso.size())
    return std::nullopt;
  const bool sane = parts.tm_year >= 1970 && parts.tm_year <= 2200 && parts.tm_mon >= 1 &&
                    parts.tm_mon <= 12 && parts.tm_mday >= 1 && parts.tm_mday <= 31 &&
                    parts.tm_hour >= 0 && parts.tm_hour < 24 && parts.tm_min >= 0 &&
                    parts.tm_min < 60 && second >= 0 && second < 61;
  if (!sane) return std::nullopt;
  parts.tm_year -= 1900;
  parts.tm_mon -= 1;
  const std::int64_t whole = static_cast<std::int64_t>(::timegm(&parts)) * 1'000'000'000;
  return whole + std::llround(second * 1000) * 1'000'000;
}

}  // namespace assay::client
