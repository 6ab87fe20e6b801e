#include "client/rest_client.h"

#include <random>

#include <fmt/format.h>

#include "client/event_stream.h"
#include "core/any_fields.h"
#include "core/json_access.h"
#include "core/parse_number.h"
#include "core/text.h"

namespace assay::client {

namespace {

std::string job_path(jobs::JobId id) {
  return fmt::format("/jobs/{}", id);
}

// Whatever sends the path encodes it.
std::string schedule_path(const std::string& name) {
  if (name.find('/') != std::string::npos)
    throw Error(ErrorKind::usage, "a name of a schedule has no '/': '" + printable(name) + "'", {},
                "letters, digits, '.', '-', '_' and '@'; 'assay submit --name' gives another");
  return "/schedules/" + name;
}

std::string secret_path(const std::string& team, const std::string& name) {
  for (const std::string* part : {&team, &name})
    if (part->find('/') != std::string::npos)
      throw Error(ErrorKind::usage, "a name has no '/': '" + printable(*part) + "'");
  return "/secrets/" + (team.empty() ? "own" : "team:" + team) + "/" + name;
}

Json body_of(const NewSubmission& job) {
  Json body = job.submission;
  if (!job.team.empty()) body["team"] = job.team;
  if (!job.code.empty()) body["code"] = job.code;
  return body;
}

http::Query query_of(const UsageQuery& asked) {
  http::Query query;
  if (!asked.from.empty()) query.emplace_back("from", asked.from);
  if (!asked.to.empty()) query.emplace_back("to", asked.to);
  if (!asked.by.empty()) query.emplace_back("by", asked.by);
  return query;
}

// A cookie as it is sent back: without its attributes.
std::string session_cookie(const http::Response& response) {
  for (const auto& [name, value] : response.headers)
    if (name == "set-cookie" && value.starts_with("assay_session="))
      return value.substr(0, value.find(';'));
  return {};
}

}  // namespace

Client::Client(Server server, std::stop_token stop)
    : connection_(std::move(server), std::move(stop)) {}

std::string Client::page_of(jobs::JobId id) const {
  return fmt::format("{}/#/jobs/{}/brief", connection_.server().url, id);
}

std::string Client::make_token(const std::string& user, const std::string& password,
                               const std::string& token_name) const {
  const http::Response signed_in = connection_.send(
      {.method = "POST", .path = "/session", .body = {{"name", user}, {"password", password}}});
  const std::string csrf = text_at(parse_json_or_null(signed_in.body), "csrf");
  const http::Headers as{{"Cookie", session_cookie(signed_in)}, {"X-CSRF-Token", csrf}};
  const Json made = connection_.ask(
      {.method = "POST", .path = "/tokens", .body = {{"name", token_name}}, .headers = as});
  (void)connection_.send({.method = "DELETE", .path = "/session", .headers = as});
  std::string token = text_at(made, "token");
  if (token.empty())
    throw Error(ErrorKind::launch, "the server made no token", connection_.server().url);
  return token;
}

Answer<SessionAnswer> Client::session() const {
  Json json = connection_.ask({.path = "/session"});
  return {read_session(json), json};
}

Answer<PreviewAnswer> Client::preview(const NewSubmission& job) const {
  Json json = connection_.ask(
      {.method = "POST", .path = "/jobs/preview", .body = body_of(job), .repeatable = true});
  return {read_preview(json), json};
}

Answer<JobList> Client::submit(const NewSubmission& job, const std::string& request_key) const {
  Json body = body_of(job);
  body["request_key"] = request_key;
  Json json = connection_.ask(
      {.method = "POST", .path = "/jobs", .body = std::move(body), .repeatable = true});
  return {read_jobs(json), json};
}

Answer<JobList> Client::list(const JobQuery& query) const {
  http::Query words;
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) words.emplace_back(name, value);
  };
  add("state", join(query.states, ","));
  add("owner", query.owner);
  add("team", query.team);
  add("queue", query.queue);
  add("search", query.search);
  add("order", query.order);
  if (query.ascending) add("descending", "false");
  if (query.offset > 0) add("offset", std::to_string(query.offset));
  add("limit", std::to_string(query.limit));
  Json json = connection_.ask({.path = "/jobs", .query = std::move(words)});
  return {read_jobs(json), json};
}

Answer<JobDetails> Client::job(jobs::JobId id) const {
  Json json = connection_.ask({.path = job_path(id)});
  return {read_details(json), json};
}

Answer<std::vector<TimelineRow>> Client::timeline(jobs::JobId id) const {
  Json json = connection_.ask({.path = job_path(id) + "/timeline"});
  return {read_timeline(json), json};
}

std::string Client::suite(jobs::JobId id) const {
  return connection_.send({.path = job_path(id) + "/suite"}).body;
}

std::string Client::report(jobs::JobId id) const {
  return connection_.send({.path = job_path(id) + "/report"}).body;
}

Json Client::result(jobs::JobId id) const {
  return connection_.ask({.path = job_path(id) + "/result"});
}

Json Client::pushed_result(const std::string& test) const {
  return connection_.ask({.path = "/pushed/" + test + "/result"});
}

Answer<JobDetails> Client::ask_of(jobs::JobId id, const std::string& deed) const {
  // A deed that was done already is refused as one that does not fit: it is not sent twice.
  Json json = connection_.ask({.method = "POST", .path = job_path(id) + "/" + deed});
  return {read_details(json), json};
}

ManyChanged Client::ask_of_many(const std::string& numbers, const std::string& deed) const {
  ManyChanged out;
  std::int64_t from = 0;
  do {
    // A deed that was done already is refused as one that does not fit: it is not sent twice.
    Ask ask{.method = "POST", .path = "/jobs/" + deed, .body = {{"jobs", numbers}}};
    if (from != 0) ask.query = {{"from", std::to_string(from)}};
    const Json answer = connection_.ask(ask);
    for (const Json& job : list_at(answer, "jobs"))
      out.changed[integer_at(job, "id", 0)] = text_at(job, "state");
    for (const Json& job : list_at(answer, "failed"))
      out.failed[integer_at(job, "id", 0)] = text_at(job, "words");
    out.refused += integer_at(answer, "refused", 0);
    from = integer_at(answer, "next", 0);
  } while (from != 0);
  return out;
}

Answer<LogPage> Client::log(jobs::JobId id, const LogQuery& query) const {
  http::Query words{{"rank", query.rank},
                    {"from", std::to_string(query.from)},
                    {"lines", std::to_string(query.lines)}};
  if (query.attempt) words.emplace_back("attempt", std::to_string(*query.attempt));
  Ask ask{.path = job_path(id) + "/log", .query = std::move(words)};
  // Of many ranks it is longer than an address may be.
  if (!query.after.empty()) ask.headers.emplace_back("Last-Event-ID", query.after);
  Json json = connection_.ask(ask);
  return {read_log(json), json};
}

LogText Client::log_text(jobs::JobId id, const LogQuery& query, const std::string& from) const {
  http::Query words{{"rank", query.rank}, {"most", "4194304"}};
  if (!from.empty()) words.emplace_back("from", from);
  if (query.attempt) words.emplace_back("attempt", std::to_string(*query.attempt));
  http::Response response =
      connection_.send({.path = job_path(id) + "/log/download", .query = std::move(words)});
  LogText out{std::move(response.body), response.header("x-assay-next")};
  // The last line is for people who look at the file; within a line ("17.1024") there is none.
  if (!out.next.empty() && out.next.find('.') == std::string::npos && out.text.size() > 1)
    out.text.erase(out.text.rfind('\n', out.text.size() - 2) + 1);
  return out;
}

Answer<jobs::NodesAnswer> Client::nodes() const {
  Json json = connection_.ask({.path = "/nodes"});
  return {fields_from_any<jobs::NodesAnswer>(json), json};
}

Answer<std::vector<OtherJobRow>> Client::others() const {
  Json json = connection_.ask({.path = "/others"});
  return {read_others(json), json};
}

void Client::drain(const std::string& node, const std::string& reason) const {
  (void)connection_.send({.method = "POST",
                          .path = "/nodes/" + node + "/drain",
                          .body = {{"reason", reason}},
                          .repeatable = true});
}

void Client::undrain(const std::string& node) const {
  (void)connection_.send(
      {.method = "POST", .path = "/nodes/" + node + "/undrain", .repeatable = true});
}

Answer<std::vector<QueueRow>> Client::queues() const {
  Json json = connection_.ask({.path = "/queues"});
  return {read_queues(json), json};
}

Answer<jobs::UsageAnswer> Client::usage(const UsageQuery& query) const {
  Json json = connection_.ask({.path = "/usage", .query = query_of(query)});
  return {fields_from_any<jobs::UsageAnswer>(json), json};
}

std::string Client::usage_csv(const UsageQuery& query) const {
  http::Query words = query_of(query);
  words.emplace_back("format", "csv");
  return connection_.send({.path = "/usage", .query = std::move(words)}).body;
}

Json Client::put_schedule(const std::string& name, const std::string& cron,
                          const NewSubmission& job) const {
  return connection_.ask({.method = "PUT",
                          .path = schedule_path(name),
                          .body = {{"cron", cron}, {"job", body_of(job)}, {"paused", false}}});
}

Json Client::schedules() const {
  return connection_.ask({.path = "/schedules"});
}

void Client::remove_schedule(const std::string& name, const std::string& owner) const {
  http::Query words;
  if (!owner.empty()) words.emplace_back("owner", owner);
  (void)connection_.send(
      {.method = "DELETE", .path = schedule_path(name), .query = std::move(words)});
}

void Client::put_secret(const std::string& team, const std::string& name,
                        const std::string& value) const {
  (void)connection_.ask(
      {.method = "PUT", .path = secret_path(team, name), .body = {{"value", value}}});
}

Json Client::secrets() const {
  return connection_.ask({.path = "/secrets"});
}

void Client::remove_secret(const std::string& team, const std::string& name) const {
  (void)connection_.send({.method = "DELETE", .path = secret_path(team, name)});
}

Json Client::template_named(const std::string& name) const {
  const Json answer = connection_.ask({.path = "/templates"});
  std::vector<std::string> names;
  const Json* found = nullptr;
  int rank = 3;
  for (const Json& known : list_at(answer, "templates")) {
    names.push_back(text_at(known, "name"));
    const std::string scope = text_at(known, "scope");
    const int its = scope == "own" ? 0 : scope == "all" ? 2 : 1;
    if (names.back() != name || its >= rank) continue;
    found = &known;
    rank = its;
  }
  if (found == nullptr)
    throw Error(ErrorKind::usage,
                "there is no template '" + printable(name) + "'" + did_you_mean(name, names),
                connection_.server().url,
                names.empty() ? "there are none" : "templates: " + join(names, ", "));
  return object_at(*found, "content");
}

void Client::watch(const std::stop_token& stop,
                   const std::function<void(const JobNews&)>& listener) const {
  EventStream stream([&](const StreamEvent& event) {
    if (event.name == "job") listener(read_news(parse_json_or_null(event.data)));
  });
  connection_.stream({.path = "/events", .headers = {{"Accept", "text/event-stream"}}}, stop,
                     [&](std::string_view piece) { stream.feed(piece); });
}

std::string new_request_key() {
  std::random_device entropy;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", entropy(), entropy(), entropy(), entropy());
}

}  // namespace assay::client
