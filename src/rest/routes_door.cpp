#include <fmt/format.h>

#include "core/text.h"
#include "door/door.h"
#include "door/http_head.h"
#include "rest/call.h"
#include "rest/guard.h"

namespace assay::rest {

using jobs::Deed;

namespace {

constexpr std::size_t kMaxKey = 2000;

door::Door& door_of(Call& call) {
  if (call.context.door == nullptr)
    throw serve::Refusal(404, "no_door", "this server has no way into jobs");
  return *call.context.door;
}

door::Visit visitor_of(const Call& call) {
  return {.by = call.caller().by, .job = call.job_id()};
}

serve::Refusal refusal_of(const door::Closed& closed) {
  serve::Refusal refusal(409, std::string(to_text(closed.obstacle)), closed.words);
  if (!closed.detail.empty()) refusal.more = {{"detail", closed.detail}};
  return refusal;
}

serve::HttpResponse list_endpoints(Call& call) {
  Json list = Json::array();
  for (const jobs::Endpoint& endpoint : door::endpoints_of(call.job->job.submission)) {
    Json one{{"name", door::label_of(endpoint)}, {"kind", to_text(endpoint.kind)}};
    if (endpoint.kind == jobs::EndpointKind::port) {
      one["title"] = endpoint.name;
      one["port"] = endpoint.port.value_or(0);
    }
    list.push_back(std::move(one));
  }
  const bool sites = call.context.door != nullptr && !call.context.door->options().domain.empty();
  return json_answer(
      {{"endpoints", std::move(list)},
       {"running", call.job->job.life.state == jobs::State::running},
       {"sites", sites},
       {"may_enter", door::may_enter(call.context.accounts, call.job->job, call.caller().name)}});
}

serve::HttpResponse look_at_endpoint(Call& call) {
  const std::string& name = call.parameter(1);
  Json out{{"name", name}, {"state", "open"}};
  if (const auto closed = door_of(call).look_at(call.job_id(), name)) {
    out["state"] = to_text(closed->obstacle);
    out["words"] = closed->words;
    if (!closed->detail.empty()) out["detail"] = closed->detail;
  }
  return json_answer(out);
}

serve::HttpResponse open_endpoint(Call& call) {
  // A ticket into a job that has ended, or has not begun, would lead nowhere.
  if (call.job->job.life.state != jobs::State::running)
    if (const auto closed = door_of(call).look_at(call.job_id(), call.parameter(1)))
      throw refusal_of(*closed);
  try {
    return json_answer({{"url", door_of(call).ticket(visitor_of(call), call.parameter(1),
                                                     call.request.header("host"))}});
  } catch (const door::Closed& closed) {
    throw refusal_of(closed);
  }
}

std::optional<int> rank_of(const Call& call) {
  if (call.asked("rank").empty()) return std::nullopt;
  return static_cast<int>(call.asked_number("rank", 0, 0, 1'000'000'000));
}

/// One line of a public key, as ssh-keygen writes it: nothing that sshd would read as more.
std::string key_of(const Call& call) {
  std::string key = call.request.header("x-assay-key");
  const auto words = split(key, ' ');
  const bool fits = key.size() <= kMaxKey && words.size() >= 2 &&
                    (words[0].starts_with("ssh-") || words[0].starts_with("ecdsa-") ||
                     words[0].starts_with("sk-")) &&
                    printable(key) == key;
  if (!key.empty() && !fits)
    throw serve::Refusal(400, "bad_key", "'X-Assay-Key' is not a public key of SSH");
  return key;
}

serve::HttpResponse enter_as(Call& call, const std::string& key, door::Door::Manner manner) {
  // A browser asks with its cookie wherever the page is from.
  check_origin(call.request, call.context.tls);
  try {
    return door_of(call).enter(visitor_of(call), rank_of(call), key, manner, call.request);
  } catch (const door::Closed& closed) {
    throw refusal_of(closed);
  }
}

serve::HttpResponse enter_job(Call& call) {
  if (to_lower(call.request.header("upgrade")) != "assay-entry")
    throw serve::Refusal(400, "no_upgrade", "this is for 'assay ssh': it wants another protocol",
                         "send 'Connection: Upgrade' and 'Upgrade: assay-entry'");
  return enter_as(call, key_of(call), door::Door::Manner::bytes);
}

serve::HttpResponse terminal(Call& call) {
  if (!door::wants_websocket(call.request) || call.request.header("sec-websocket-key").empty() ||
      call.request.header("sec-websocket-version") != "13")
    throw serve::Refusal(400, "no_websocket", "this is a WebSocket of version 13");
  return enter_as(call, "", door::Door::Manner::websocket);
}

}  // namespace

std::vector<Route> door_routes() {
  return {{.method = "GET",
           .path = "/api/v1/jobs/{id}/endpoints",
           .handler = list_endpoints,
           .deed = Deed::read_job,
           .of = Of::job,
           .summary = "What of a job can be opened in a browser",
           .answer = "Endpoints"},
          {.method = "GET",
           .path = "/api/v1/jobs/{id}/endpoints/{name}",
           .handler = look_at_endpoint,
           .deed = Deed::enter_job,
           .of = Of::job,
           .summary = "Whether an endpoint answers now",
           .answer = "EndpointState"},
          {.method = "POST",
           .path = "/api/v1/jobs/{id}/endpoints/{name}/open",
           .handler = open_endpoint,
           .deed = Deed::enter_job,
           .of = Of::job,
           .summary = "The address of an endpoint, good once and for a minute; starts a service",
           .answer = "OpenedEndpoint"},
          {.method = "GET",
           .path = "/api/v1/jobs/{id}/enter",
           .handler = enter_job,
           .deed = Deed::enter_job,
           .of = Of::job,
           .summary = "A program beside a rank, as 'assay ssh' uses it (an upgrade)",
           .query = {{"rank", "integer", "beside which one; nothing: the first that runs"}},
           .status = 101},
          {.method = "GET",
           .path = "/api/v1/jobs/{id}/terminal",
           .handler = terminal,
           .deed = Deed::enter_job,
           .of = Of::job,
           .summary = "A program beside a rank, for a page (a WebSocket)",
           .query = {{"rank", "integer", "beside which one; nothing: the first that runs"}},
           .status = 101}};
}

}  // namespace assay::rest
