#include "rest/call.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/parse_number.h"
#include "core/text.h"
#include "core/time.h"
#include "report/mllog.h"

namespace assay::rest {

bool Caller::is_in(const std::string& team) const {
  return std::ranges::find(teams, team) != teams.end();
}

std::string Call::asked(std::string_view name) const {
  for (const auto& [key, value] : query)
    if (key == name) return value;
  return {};
}

std::int64_t Call::asked_number(std::string_view name, std::int64_t otherwise, std::int64_t least,
                                std::int64_t most) const {
  const std::string text = asked(name);
  if (text.empty()) return otherwise;
  const auto number = parse_number<std::int64_t>(text);
  if (!number || *number < least || *number > most)
    throw serve::Refusal(400, "bad_parameter",
                         fmt::format("'{}' must be a number from {} to {}", name, least, most));
  return *number;
}

jobs::WallTime Call::asked_time(std::string_view name, jobs::WallTime otherwise) const {
  const std::string text = asked(name);
  if (text.empty()) return otherwise;
  const bool is_date = text.size() == std::string_view("2026-11-16").size();
  const auto at_ns = parse_time(is_date ? text + "T00:00:00Z" : text);
  if (!at_ns)
    throw serve::Refusal(400, "bad_parameter", fmt::format("'{}' is not a time", name),
                         "such as 2026-11-16 or 2026-11-16T16:10:00Z");
  return *at_ns;
}

serve::HttpResponse json_answer(const Json& json, int status) {
  serve::HttpResponse response;
  response.status = status;
  response.body = dump_line(json);
  response.body += '\n';
  return response;
}

Json time_json(jobs::WallTime at_ns) {
  return at_ns == 0 ? Json() : Json(iso_utc(at_ns, true));
}

std::optional<jobs::WallTime> parse_time(const std::string& text) {
  const auto ms = report::parse_iso_ms(text);
  if (!ms || *ms < 0 || *ms > 4'102'444'800'000) return std::nullopt;  // the year 2100
  return *ms * 1'000'000;
}

serve::Refusal not_found(std::string words) {
  return {404, "not_found", std::move(words)};
}

serve::Refusal forbidden(const std::string& what) {
  return {403, "may_not", "you may not " + what};
}

void check_same_name(const Call& call) {
  const auto name = call.body.find("name");
  if (name == call.body.end() || *name == call.parameter(0)) return;
  throw serve::Refusal(400, "bad_field", "'name' is not the name in the address",
                       "leave it out: names are not changed");
}

jobs::Whose whose(const Caller& caller, const std::string& owner, const std::string& team) {
  if (owner == caller.name) return jobs::Whose::own;
  return !team.empty() && caller.is_in(team) ? jobs::Whose::team : jobs::Whose::foreign;
}

jobs::Whose whose(accounts::Accounts& accounts, const Caller& caller, const jobs::Job& job) {
  const jobs::Whose of = whose(caller, job.owner, job.team);
  if (of != jobs::Whose::foreign) return of;
  const auto names = accounts.shared_with(job.id);
  return std::ranges::count(names, caller.name) > 0 ? jobs::Whose::team : of;
}

jobs::Whose whose(const Call& call, const jobs::Job& job) {
  return whose(call.context.accounts, call.caller(), job);
}

platform::JobView readable_job(Call& call, const std::string& id) {
  const auto number = parse_number<jobs::JobId>(id);
  // One address for one job: "01" is none.
  const bool plain = number && *number > 0 && std::to_string(*number) == id;
  auto view = plain ? call.context.platform.find(*number) : std::nullopt;
  if (!view) throw not_found("there is no such job");
  if (!call.caller().may(jobs::Deed::read_job, whose(call, view->job)))
    throw not_found("there is no such job");
  return *view;
}

namespace {

// Whether a stream would be given again to who has it.
OpenStreams::Holds holds_of(const Call& call) {
  return
      [&accounts = call.context.accounts, &platform = call.context.platform, caller = call.caller(),
       deed = call.route.deed, job = call.job ? std::optional(call.job_id()) : std::nullopt] {
        const auto person = accounts.holder(caller.by, wall_now_ns());
        if (!person || person->role != caller.role || person->teams != caller.teams) return false;
        if (!job) return caller.may(deed, jobs::Whose::foreign);
        const auto view = platform.find(*job);
        return view && caller.may(deed, whose(accounts, caller, view->job));
      };
}

}  // namespace

serve::HttpResponse event_stream(
    Call& call, std::function<void(const std::shared_ptr<serve::HttpStream>&)> begin) {
  serve::HttpResponse response;
  response.type = "text/event-stream";
  response.headers.emplace_back("X-Accel-Buffering", "no");
  response.body = "retry: 2000\n\n";
  response.streaming.begin = [&streams = call.context.streams, holds = holds_of(call),
                              place = std::make_shared<OpenStreams::Place>(
                                  call.context.streams.take_place(call.caller().name)),
                              begin = std::move(begin)](const auto& stream) {
    streams.add(stream, std::move(*place), holds);
    begin(stream);
  };
  response.streaming.when_idle = "event: ping\ndata: {}\n\n";
  response.streaming.last_words =
      "event: dropped\ndata: {\"message\":\"too slow: what was not read is left out\"}\n\n";
  return response;
}

std::string server_sent_text(std::string_view event, std::string_view json, std::string_view id) {
  std::string out = fmt::format("event: {}\n", event);
  if (!id.empty()) out += fmt::format("id: {}\n", id);
  return out.append("data: ").append(json).append("\n\n");
}

std::string server_sent(std::string_view event, const Json& data, std::string_view id) {
  return server_sent_text(event, dump_line(data), id);  // JSON has no raw line breaks
}

}  // namespace assay::rest
