#include "door/door.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/text.h"
#include "core/time.h"
#include "door/http_head.h"
#include "door/jupyter_path.h"
#include "door/say_page.h"
#include "door/websocket.h"
#include "http/url.h"
#include "serve/http_status.h"
#include "serve/log.h"
#include "serve/refusal.h"

namespace assay::door {

using entry::Obstacle;
using entry::Wanted;
using jobs::EndpointKind;
using serve::HttpRequest;
using serve::HttpResponse;

namespace {

constexpr std::string_view kComeIn = "/.assay/enter";
constexpr Nanoseconds kEnterLimit = std::chrono::seconds(30);
constexpr Nanoseconds kStartServiceLimit = std::chrono::seconds(75);

std::string origin_of(const HttpRequest& request, bool tls) {
  return (tls ? "https://" : "http://") + to_lower(request.header("host"));
}

/// Another site's page can send requests with the visitor's cookie: the only one allowed is a link
/// to here.
bool is_foreign(const HttpRequest& request, bool tls) {
  const std::string origin = to_lower(request.header("origin"));
  if (!origin.empty() && origin != origin_of(request, tls)) return true;
  const std::string site = request.header("sec-fetch-site");
  if (site.empty() || site == "same-origin" || site == "none") return false;
  return !(request.method == "GET" && request.header("sec-fetch-mode") == "navigate" &&
           request.header("sec-fetch-dest") == "document");
}

std::string advice_of(const Closed& closed) {
  switch (closed.obstacle) {
    case Obstacle::refused:
      return "The job's program has to listen there, on 127.0.0.1 of the node of its first rank. "
             "It may not be ready yet, or it has ended: see the console of the job.";
    case Obstacle::not_started:
    case Obstacle::ended:
      return "Open it again from the page of the job: this restarts it.";
    case Obstacle::no_round:
      return "Endpoints can be opened while the job runs.";
    case Obstacle::not_installed:
      return "Install it on the node, or in the environment that the job's command uses.";
    default:
      return {};
  }
}

HttpResponse page_of(const Closed& closed, const HttpRequest& request) {
  const bool gone = closed.obstacle == Obstacle::no_round;
  return notice_page({gone ? 503 : 502, closed.words, advice_of(closed), closed.detail},
                     request.header("accept-language"));
}

HttpResponse refused_page(int status, const std::string& what, const std::string& advice,
                          const HttpRequest& request) {
  return notice_page({status, what, advice, ""}, request.header("accept-language"));
}

}  // namespace

bool may_enter(accounts::Accounts& accounts, const jobs::Job& job, const std::string& user) {
  const auto person = accounts.find(user);
  if (!person || person->disabled) return false;
  bool invited = job.owner == user;
  if (!invited) {
    const auto names = accounts.shared_with(job.id);
    invited = std::ranges::find(names, user) != names.end();
  }
  return jobs::may(person->role, jobs::Deed::enter_job,
                   invited ? jobs::Whose::own : jobs::Whose::foreign);
}

Door::Door(platform::Platform& platform, accounts::Accounts& accounts, DoorOptions options)
    : platform_(platform), accounts_(accounts), options_(std::move(options)), entrance_(platform) {}

bool Door::takes(const HttpRequest& request) const {
  return parse_host(request.header("host"), options_.domain).has_value();
}

bool Door::allowed(const Visit& visit) {
  try {
    const auto view = platform_.find(visit.job);
    return view && may_enter(accounts_, view->job, visit.by.user) &&
           accounts_.holder(visit.by, wall_now_ns()).has_value();
  } catch (const std::exception&) {
    return false;  // if asking fails, it is not allowed
  }
}

Relays::Terms Door::terms_of(const Visit& visit) {
  return {visit.by.user, [this, visit] { return allowed(visit); }};
}

jobs::Endpoint Door::endpoint_of(jobs::JobId job, const std::string& name) {
  const auto view = platform_.find(job);
  if (view)
    for (const jobs::Endpoint& endpoint : endpoints_of(view->job.submission))
      if (label_of(endpoint) == name || (!endpoint.name.empty() && endpoint.name == name))
        return endpoint;
  throw serve::Refusal(
      404, "not_found",
      fmt::format("job {} has no endpoint '{}'", job, printable(ellipsize(name, 60))),
      "ports are named when a job is submitted: --endpoint NAME=PORT");
}

Passage Door::open(jobs::JobId job, const jobs::Endpoint& endpoint, bool start) {
  entry::NodeRequest request;
  if (endpoint.kind == EndpointKind::port) {
    request.wanted = Wanted::port;
    request.port = endpoint.port.value_or(0);
  } else {
    request.wanted = Wanted::service;
    request.service = std::string(to_text(endpoint.kind));
    request.start = start;
  }
  return entrance_.open(job, std::nullopt, std::move(request),
                        start ? kStartServiceLimit : kEnterLimit);
}

std::string Door::ticket(const Visit& visitor, const std::string& name, const std::string& host) {
  if (options_.domain.empty())
    throw Error(ErrorKind::usage, "this server has no site for endpoints", "",
                "start it with --endpoint-domain DOMAIN, with *.DOMAIN leading to it");
  const jobs::Endpoint endpoint = endpoint_of(visitor.job, name);
  Visit visit = visitor;
  visit.label = label_of(endpoint);
  // Starts a service, and reports a port without a listener, only when somebody waits for it.
  (void)open(visit.job, endpoint, endpoint.kind != EndpointKind::port);
  const auto bracket = host.find(']');
  const auto colon = host.find(':', bracket == std::string::npos ? 0 : bracket);
  return fmt::format("{}://{}{}{}?ticket={}", options_.tls ? "https" : "http",
                     host_of({visit.job, visit.label}, options_.domain),
                     colon == std::string::npos ? "" : host.substr(colon), kComeIn,
                     visits_.make_ticket(visit, mono_now_ns()));
}

std::optional<Closed> Door::look_at(jobs::JobId job, const std::string& name) {
  try {
    (void)open(job, endpoint_of(job, name), false);
    return std::nullopt;
  } catch (const Closed& closed) {
    return closed;
  }
}

HttpResponse Door::enter(const Visit& visitor, std::optional<int> rank, const std::string& key,
                         Manner manner, const HttpRequest& request) {
  if (!relays_.has_room(visitor.by.user))
    throw serve::Refusal(503, "busy", "too many connections are open", "close some, and try again");
  entry::NodeRequest wanted;
  wanted.wanted = key.empty() ? Wanted::program : Wanted::ssh;
  wanted.key = key;
  auto passage =
      std::make_shared<Passage>(entrance_.open(visitor.job, rank, std::move(wanted), kEnterLimit));
  std::string hello = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ";
  hello += manner == Manner::websocket
               ? "websocket\r\nSec-WebSocket-Accept: " +
                     websocket_accept(request.header("sec-websocket-key")) + "\r\n\r\n"
               : "assay-entry\r\n\r\n";
  HttpResponse response;
  response.status = 101;
  response.take_over = [this, passage, terms = terms_of(visitor), hello, manner](UniqueFd peer) {
    if (manner == Manner::websocket)
      relays_.join_websocket(std::move(peer), std::move(*passage), terms, hello);
    else
      relays_.join(std::move(peer), std::move(*passage), terms, hello);
  };
  return response;
}

// A ticket becomes this site's cookie and is in no address afterwards.
HttpResponse Door::come_in(const HttpRequest& request, const EndpointHost& at) {
  std::string ticket;
  for (const auto& [name, value] : http::parse_query(request.query))
    if (name == "ticket") ticket = value;
  const auto secret = visits_.redeem(ticket, at.job, at.label, mono_now_ns());
  if (!secret)
    return refused_page(403, "This link was used, or is too old.",
                        "Open the endpoint from the page of the job.", request);
  HttpResponse response;
  response.status = 303;
  response.type = "text/plain";
  response.headers = {
      {"Location", "/"},
      {"Set-Cookie", fmt::format("{}={}; HttpOnly; SameSite=Lax; Path=/{}", kVisitCookie, *secret,
                                 options_.tls ? "; Secure" : "")},
      {"Referrer-Policy", "no-referrer"},
      {"Cache-Control", "no-store"}};
  return response;
}

HttpResponse Door::pass_on(const HttpRequest& request, const Visit& visit) {
  if (!relays_.has_room(visit.by.user))
    return refused_page(503, "Too many connections are open.", "Close some, and try again.",
                        request);
  const jobs::Endpoint endpoint = endpoint_of(visit.job, visit.label);
  auto passage = std::make_shared<Passage>(open(visit.job, endpoint, false));
  HttpRequest asked = request;
  if (endpoint.kind == EndpointKind::jupyter) asked.path = jupyter_path(request);
  // The platform's tokens are for the platform; any other belongs to the application.
  const std::string authorization = request.header("authorization");
  const bool own = to_lower(authorization.substr(0, 7)) == "bearer " &&
                   accounts_.token_use(trim(authorization.substr(7)), wall_now_ns()).has_value();
  Relays::Request out{
      .method = request.method,
      .bytes = request_for(asked, !own, options_.tls),
      .websocket = wants_websocket(request),
      .knows_chunks = !request.is_old,
      .refuse = [languages = request.header("accept-language"), label = visit.label](
                    int status, const std::string& words) {
        return serve::answer_bytes(notice_page(
            {status, "What was opened as '" + label + "' cannot be shown: " + words + ".",
             "The program that listens there has to speak HTTP.", ""},
            languages));
      }};
  HttpResponse response;
  response.status = 200;
  response.take_over = [this, passage, terms = terms_of(visit),
                        out = std::move(out)](UniqueFd peer) {
    relays_.exchange(std::move(peer), std::move(*passage), terms, out);
  };
  return response;
}

void Door::handle(const HttpRequest& request, std::string& who,
                  const serve::HttpServer::Respond& respond) {
  // Outside the try block, so that an answer that could not be sent is not sent twice.
  respond(answer(request, who));
}

HttpResponse Door::answer(const HttpRequest& request, std::string& who) {
  try {
    const auto at = parse_host(request.header("host"), options_.domain);
    if (!at) return refused_page(404, "There is no such endpoint.", "", request);
    if (!request.header(std::string(kDoorHeader)).empty())
      return refused_page(508, "This endpoint leads to itself.",
                          "Name the port of the job's own program.", request);
    if (request.path == kComeIn) return come_in(request, *at);
    const auto visit = visits_.find(cookie_of(request, kVisitCookie), mono_now_ns());
    if (!visit || visit->job != at->job || visit->label != at->label || !allowed(*visit))
      return refused_page(401, "You are not signed in to this endpoint.",
                          "Open the endpoint from the page of its job.", request);
    who = visit->by.user;
    if (is_foreign(request, options_.tls))
      return refused_page(403, "The request comes from a page of another site.", "", request);
    return pass_on(request, *visit);
  } catch (const Closed& closed) {
    return page_of(closed, request);
  } catch (const serve::Refusal& refusal) {
    return refused_page(refusal.status, refusal.message, refusal.advice, request);
  } catch (const std::exception& error) {
    HttpResponse page = failure_page(error, request.header("accept-language"));
    if (page.status >= 500)
      serve::log_error(fmt::format("{} {}{}: {}", request.method, request.header("host"),
                                   ellipsize(request.path, 200), error.what()));
    return page;
  }
}

}  // namespace assay::door
