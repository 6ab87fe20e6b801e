#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "core/time.h"
#include "live/live_run.h"
#include "rest/call.h"

namespace assay::rest {

using jobs::Deed;

namespace {

serve::Refusal no_run(const Call& call, int attempt) {
  const jobs::Life& life = call.job->job.life;
  if (attempt > life.attempt)
    return {404, "no_run", fmt::format("job {} has no attempt {}", call.job_id(), attempt),
            fmt::format("its last one is {}", life.attempt)};
  if (jobs::is_final(life.state))
    return {404, "no_run",
            fmt::format("job {} never ran: it is {}", call.job_id(), to_text(life.state)),
            life.message};
  return {404, "no_run", fmt::format("job {} has no run yet", call.job_id()),
          "it is there when the job has started"};
}

std::shared_ptr<live::LiveRun> run_of_call(Call& call) {
  const int attempt = static_cast<int>(call.asked_number("attempt", 0, 0, 1'000'000));
  const std::filesystem::path run = call.context.platform.run_of(call.job_id(), attempt);
  if (run.empty()) throw no_run(call, attempt);
  if (jobs::is_final(call.job->job.life.state))
    if (const std::string at = call.context.platform.logs_removed_at(call.job_id()); !at.empty())
      throw serve::Refusal(
          410, "logs_removed",
          fmt::format("the logs of job {} were removed at {}", call.job_id(), at),
          "the server keeps them for so many days; its result and its report are still there");
  return call.context.runs.open(run);
}

std::map<std::string, std::string> parameters_of_call(const Call& call) {
  std::map<std::string, std::string> parameters;
  for (const auto& [name, value] : call.query) parameters[name] = value;
  return parameters;
}

// A stream ends after ten minutes, so that what nobody reads any more does not stay: browsers come
// back by themselves.
std::int64_t end_of_stream() {
  return mono_now_ns() + std::int64_t{600} * 1'000'000'000;
}

serve::HttpResponse job_log(Call& call) {
  const live::ConsoleQuery query = live::console_query(parameters_of_call(call));
  return json_answer(run_of_call(call)->log(query));
}

// Where a browser goes on after its connection was lost.
std::optional<std::string> last_event(const Call& call) {
  const std::string header = call.request.header("last-event-id");
  return header.empty() ? std::nullopt : std::optional(header);
}

serve::HttpResponse log_stream(Call& call) {
  auto parameters = parameters_of_call(call);
  const auto last = last_event(call);
  if (last) parameters["from"] = *last;
  live::ConsoleQuery query = live::console_query(parameters);
  if (last) ++query.from;
  query.lines = 500;
  const auto run = run_of_call(call);
  auto next = [run, query, until = end_of_stream(),
               over = false](std::size_t room) mutable -> std::optional<std::string> {
    if (over || mono_now_ns() > until) return std::nullopt;
    const Json page = run->log(query);
    std::string text;
    for (const Json& line : page["lines"]) {
      const auto number = line["n"].get<std::int64_t>();
      const std::string piece = server_sent("line", line, std::to_string(number));
      if (!text.empty() && text.size() + piece.size() > room) break;
      text += piece;
      query.from = number + 1;
    }
    if (page["lines"].empty()) query.from = page["next"].get<std::int64_t>();
    over = query.from > page["total"].get<std::int64_t>() && page["ended"].get<bool>() &&
           !page["indexing"].get<bool>();
    if (over) text += server_sent("end", Json{{"total", page["total"]}});
    return text;
  };
  return event_stream(
      call, [&follower = call.context.follower, next](
                const std::shared_ptr<serve::HttpStream>& stream) { follower.add(stream, next); });
}

// A part; where it is not the last one, its last line and a header say how to get the next. A line
// that is longer than a part is one.
serve::HttpResponse log_download(Call& call) {
  constexpr std::int64_t kMostBytes = 64 << 20;
  constexpr std::size_t kLastLine = 64;  // at most
  const auto most =
      static_cast<std::size_t>(call.asked_number("most", kMostBytes, 1 << 16, kMostBytes));
  const live::ConsoleQuery query = live::console_query(parameters_of_call(call));
  const auto run = run_of_call(call);
  serve::HttpResponse response;
  std::string& text = response.body;
  std::int64_t from = std::max<std::int64_t>(query.from, 1);
  while (true) {
    const std::size_t room = most - kLastLine - std::min(text.size(), most - kLastLine);
    std::int64_t next = from;
    const std::string more =
        run->log_text(query.rank, next, std::min(room, live::Console::kMaxAnswer));
    if (more.empty()) break;
    if (!text.empty() && more.size() > room) {
      text += fmt::format("… (goes on with from={})\n", from);
      response.headers.emplace_back("X-Assay-Next", std::to_string(from));
      break;
    }
    text += more;
    from = next;
  }
  response.type = "text/plain; charset=utf-8";
  response.headers.emplace_back(
      "Content-Disposition",
      fmt::format("attachment; filename=\"job{}{}.log\"", call.job_id(),
                  query.rank ? fmt::format("-rank{}", *query.rank) : std::string()));
  return response;
}

serve::HttpResponse job_metrics(Call& call) {
  const live::MetricsQuery query = live::metrics_query(parameters_of_call(call));
  return json_answer(run_of_call(call)->metrics(query));
}

serve::HttpResponse metrics_stream(Call& call) {
  live::MetricsQuery query = live::metrics_query(parameters_of_call(call));
  const auto run = run_of_call(call);
  auto next = [run, query, until = end_of_stream(), first = true,
               over = false](std::size_t room) mutable -> std::optional<std::string> {
    if (over || mono_now_ns() > until) return std::nullopt;
    const live::LiveRun::MetricsText answer = run->metrics_text(query);
    if (!first && !answer.ended && answer.newest <= query.span.from) return std::string();
    std::string text = server_sent_text("points", *answer.json);
    // With fewer points it fits, next time.
    if (text.size() > room && query.points > 2) {
      query.points /= 2;
      return std::string();
    }
    first = false;
    over = answer.ended;
    query.span.from = answer.newest;
    return text;
  };
  return event_stream(
      call, [&follower = call.context.follower, next](
                const std::shared_ptr<serve::HttpStream>& stream) { follower.add(stream, next); });
}

constexpr Parameter kOfAttempt{"attempt", "integer", "the last one by default"};
constexpr Parameter kOfRank{"rank", "string", "a number, or all"};

}  // namespace

std::vector<Route> live_routes() {
  const Parameter from{"from", "integer", "number of the first line; -200: 200 before the end"};
  const Parameter show{"show", "string", "all, text (without PerfLog), warnings or errors"};
  const Parameter points{"points", "integer", "of a series"};
  const Parameter since{"from", "number", "Unix seconds"};
  return {
      {.method = "GET",
       .path = "/api/v1/jobs/{id}/log",
       .handler = job_log,
       .deed = Deed::read_job,
       .of = Of::job,
       .summary = "What the ranks print",
       .answer = "Any",
       .query = {kOfAttempt,
                 kOfRank,
                 from,
                 show,
                 {"lines", "integer", "200 by default, 2000 at most"},
                 {"search", "string", "only lines that hold it"},
                 {"first_error", "boolean", "from the first error on"}}},
      {.method = "GET",
       .path = "/api/v1/jobs/{id}/log/stream",
       .handler = log_stream,
       .deed = Deed::read_job,
       .of = Of::job,
       .summary = "The same as events",
       .answer = "text/event-stream",
       .query = {kOfAttempt, kOfRank, from, show}},
      {.method = "GET",
       .path = "/api/v1/jobs/{id}/log/download",
       .handler = log_download,
       .deed = Deed::read_job,
       .of = Of::job,
       .summary = "All of it as a text, in parts: the header X-Assay-Next has the next part's from",
       .answer = "text/plain",
       .query = {kOfAttempt,
                 kOfRank,
                 from,
                 {"most", "integer", "bytes of a part, 64 MiB by default and at most"}}},
      {.method = "GET",
       .path = "/api/v1/jobs/{id}/metrics",
       .handler = job_metrics,
       .deed = Deed::read_job,
       .of = Of::job,
       .summary = "What the run measures",
       .answer = "Any",
       .query = {kOfAttempt, since, {"to", "number", "Unix seconds"}, points}},
      {.method = "GET",
       .path = "/api/v1/jobs/{id}/metrics/stream",
       .handler = metrics_stream,
       .deed = Deed::read_job,
       .of = Of::job,
       .summary = "The same as events",
       .answer = "text/event-stream",
       .query = {kOfAttempt, since, points}}};
}

}  // namespace assay::rest
