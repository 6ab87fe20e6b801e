#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/parse_number.h"
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

// Of a suite only its run knows, when it has ended: before, a rank may come that has no log yet.
void refuse_unknown_rank(const Call& call, std::optional<int> rank, live::LiveRun& run) {
  if (!rank) return;
  const jobs::Submission& submission = call.job->job.submission;
  std::string advice;
  if (submission.suite.empty()) {
    const auto ranks = std::int64_t{submission.nodes} * submission.procs;
    if (*rank < ranks) return;
    advice = ranks == 1 ? "it has one rank: 0" : fmt::format("its ranks are 0 to {}", ranks - 1);
  } else {
    const Json page = run.log({.lines = 1});
    const auto known = page["ranks"].get<std::vector<int>>();
    if (!page["ended"].get<bool>() || page["indexing"].get<bool>() || known.empty() ||
        std::ranges::find(known, *rank) != known.end())
      return;
    advice = "its ranks are 0 to " + std::to_string(known.back());
  }
  throw serve::Refusal(404, "no_rank", fmt::format("job {} has no rank {}", call.job_id(), *rank),
                       advice);
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

// Where a client goes on: a browser whose connection was lost, or who says so. A number is a
// line's, as servers before gave it.
live::ConsoleQuery followed_query(const Call& call) {
  auto parameters = parameters_of_call(call);
  const std::string last = call.request.header("last-event-id");
  const bool number = parse_number<std::int64_t>(last).has_value();
  if (!last.empty()) parameters[number ? "from" : "after"] = last;
  live::ConsoleQuery query = live::console_query(parameters);
  if (number) ++query.from;
  return query;
}

serve::HttpResponse job_log(Call& call) {
  const live::ConsoleQuery query = followed_query(call);
  const auto run = run_of_call(call);
  refuse_unknown_rank(call, query.rank, *run);
  return json_answer(run->log(query));
}

// Gives the lines of a run as events, each once, however the run's logs are merged meanwhile.
class LineEvents {
 public:
  LineEvents(std::shared_ptr<live::LiveRun> run, live::ConsoleQuery query)
      : run_(std::move(run)), query_(std::move(query)) {
    query_.lines = 500;
    query_.placed = true;
  }

  std::optional<std::string> next(std::size_t room) {
    if (over_ || mono_now_ns() > until_ns_) return std::nullopt;
    live::LogPlace place;
    const Json page = run_->log(query_, place);
    const Json& lines = page["lines"];
    const bool again = page.contains("again");
    std::string text;
    if (again) text += server_sent("again", Json::object());
    std::size_t taken = 0;
    for (const Json& line : lines) {
      const std::string data = dump_line(line);
      if (taken > 0 && text.size() + data.size() + kAroundLine > room) break;
      place.take(line["n"].get<std::uint64_t>(), line["log"].get_ref<const std::string&>(),
                 line["end"].get<std::uint64_t>());
      const bool brief = place.ends.size() <= kBriefPlace;
      text += server_sent_text("line", data, brief ? live::text_of(place) : std::string());
      ++taken;
    }
    if (taken == lines.size()) place.number = page["next"].get<std::uint64_t>() - 1;
    if (taken > 0 && place.ends.size() > kBriefPlace)
      text += "id: " + live::text_of(place) + "\n\n";
    over_ = place.number >= page["total"].get<std::uint64_t>() && page["ended"].get<bool>() &&
            !page["indexing"].get<bool>();
    if (over_) text += server_sent("end", Json{{"total", page["total"]}});
    query_.after = std::move(place);
    return text;
  }

 private:
  // Of more logs the place is a long word: it comes once for many lines.
  static constexpr std::size_t kBriefPlace = 16;
  static constexpr std::size_t kAroundLine = 1024;  // bytes of its event and of a brief place

  std::shared_ptr<live::LiveRun> run_;
  live::ConsoleQuery query_;
  std::int64_t until_ns_ = end_of_stream();
  bool over_ = false;
};

serve::HttpResponse log_stream(Call& call) {
  auto query = followed_query(call);
  auto run = run_of_call(call);
  refuse_unknown_rank(call, query.rank, *run);
  auto events = std::make_shared<LineEvents>(std::move(run), std::move(query));
  return event_stream(call, [&follower = call.context.follower,
                             events](const std::shared_ptr<serve::HttpStream>& stream) {
    follower.add(stream, [events](std::size_t room) { return events->next(room); });
  });
}

// Where a text of a log goes on: "from" of a download.
live::TextPlace asked_text_place(const Call& call) {
  const std::string from = call.asked("from");
  if (from.empty()) return {};
  const auto place = live::parse_text_place(from);
  if (!place)
    throw serve::Refusal(400, "bad_parameter", "'from' is not a place in a log",
                         "a line's number, or what X-Assay-Next said");
  return *place;
}

// A part; where it is not the last one, its last line and a header say how to get the next. Of a
// line that is longer than a part only the header says so: the next part goes on within it.
serve::HttpResponse log_download(Call& call) {
  constexpr std::int64_t kMostBytes = 64 << 20;
  constexpr std::size_t kLastLine = 64;  // at most
  const auto most =
      static_cast<std::size_t>(call.asked_number("most", kMostBytes, 1 << 16, kMostBytes)) -
      kLastLine;
  live::TextPlace from = asked_text_place(call);
  auto parameters = parameters_of_call(call);
  parameters.erase("from");
  const live::ConsoleQuery query = live::console_query(parameters);
  const auto run = run_of_call(call);
  refuse_unknown_rank(call, query.rank, *run);
  serve::HttpResponse response;
  std::string& text = response.body;
  std::size_t line_at = 0;  // where the line begins that is not complete
  while (true) {
    const std::size_t room = most - std::min(text.size(), most);
    live::TextPlace next = from;
    if (next.pieces == 0) line_at = text.size();
    const std::string more =
        run->log_text(query.rank, next, std::min(room, live::Console::kMaxAnswer));
    if (more.empty()) break;
    if (!text.empty() && more.size() > room) {
      if (line_at > 0 && from.pieces > 0) {
        text.resize(line_at);
        from.pieces = 0;
      }
      if (from.pieces == 0) text += fmt::format("… (goes on with from={})\n", live::text_of(from));
      response.headers.emplace_back("X-Assay-Next", live::text_of(from));
      break;
    }
    text += more;
    from = std::move(next);
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
  const Parameter after{"after", "string", "as Last-Event-ID"};
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
                 after,
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
       .query = {kOfAttempt, kOfRank, from, after, show}},
      {.method = "GET",
       .path = "/api/v1/jobs/{id}/log/download",
       .handler = log_download,
       .deed = Deed::read_job,
       .of = Of::job,
       .summary = "All of it as a text, in parts: the header X-Assay-Next has the next part's from",
       .answer = "text/plain",
       .query = {kOfAttempt,
                 kOfRank,
                 {"from", "string", "number of the first line, or what X-Assay-Next said"},
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
