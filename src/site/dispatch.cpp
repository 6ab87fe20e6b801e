#include "site/dispatch.h"

#include <utility>

#include "rest/guard.h"
#include "serve/log.h"
#include "serve/refusal.h"

namespace assay::site {

using serve::HttpRequest;
using serve::HttpResponse;
using serve::HttpServer;

namespace {

HttpResponse busy(const char* why) {
  serve::Refusal refusal(503, "busy", why, "try again in a moment");
  refusal.retry_after_s = 1;
  return serve::response_of(refusal);
}

// Requests that a job's nodes or another server must answer, in a time that nobody knows.
bool waits_for_others(const HttpRequest& request) {
  return request.route.find("/endpoints/") != std::string::npos ||
         request.route.ends_with("/enter") || request.route.ends_with("/terminal") ||
         request.route.find("/session/oidc") != std::string::npos;
}

// The tester ignores people's tokens: their owners may do what everybody may.
void ask_tester_without_token(tester::Api& api, HttpRequest& request, std::string& who,
                              const HttpServer::Respond& respond) {
  request.headers.erase("authorization");
  api.handle(request, who, [respond](HttpResponse response) {
    if (response.status == 401)
      response = serve::response_of(serve::Refusal(
          403, "wrong_kind_of_token", "this address wants a token of the tester, not a person's",
          "'assay serve token add NAME' makes one where the server runs"));
    respond(std::move(response));
  });
}

}  // namespace

Dispatch::Dispatch(const Parts& parts)
    : parts_(parts),
      workers_(4, 1000),
      doormen_(parts.platform != nullptr ? 16 : 1, 500),
      // Room for all connections of one address, which get a quarter of it.
      clerk_(1, 4 * parts.connections) {}

void Dispatch::take(HttpRequest request, const HttpServer::Respond& respond) {
  const auto visit = std::make_shared<Visit>(Visit{parts_.audit, std::move(request), {}, respond});
  const HttpRequest& asked = visit->request;
  if (const serve::HeadFault& fault = asked.fault; fault.status != 0)
    return refuse(visit, serve::response_of(serve::Refusal(
                             fault.status, std::string(serve::code_of(fault)), fault.text)));
  if (parts_.platform != nullptr && parts_.platform->door.takes(asked))
    return hand_to(doormen_, visit, [this, visit] {
      parts_.platform->door.handle(visit->request, visit->who, [visit](HttpResponse response) {
        visit->answer(std::move(response));
      });
    });
  if (parts_.platform != nullptr)
    if (auto refusal = rest::wrong_host(asked, parts_.platform->context.hosts))
      return refuse(visit, std::move(*refusal));
  if (auto refusal = parts_.tester.turned_away(asked)) return refuse(visit, std::move(*refusal));
  hand_to(waits_for_others(asked) ? doormen_ : workers_, visit, work_of(visit));
}

std::function<void()> Dispatch::work_of(const VisitPtr& visit) {
  // If the platform has no pages, the first page is the tester's.
  const bool of_platform = parts_.platform != nullptr && rest::Rest::takes(visit->request) &&
                           (visit->request.path != "/" || parts_.has_pages);
  return [this, visit, of_platform] {
    PlatformSide* side = parts_.platform;
    HttpRequest& request = visit->request;
    const auto respond = [visit](HttpResponse response) { visit->answer(std::move(response)); };
    if (of_platform)
      side->rest.handle(request, visit->who, respond);
    else if (side != nullptr && side->rest.knows_token(request))
      ask_tester_without_token(parts_.tester, request, visit->who, respond);
    else  // Everybody who is signed in may see the tests' pages; the API has tokens.
      parts_.tester.handle(request, visit->who, respond,
                           side != nullptr && !request.path.starts_with("/api/")
                               ? side->rest.signed_in(request)
                               : "");
  };
}

void Dispatch::hand_to(serve::WorkerPool& pool, const VisitPtr& visit, std::function<void()> work) {
  if (ending_)
    refuse(visit, busy("the server is being stopped"));
  else if (!pool.post(visit->request.address, std::move(work)))
    refuse(visit, busy("too many requests wait"));
}

void Dispatch::Visit::answer(HttpResponse response) {
  audit.write(request, who, response.status, request.body.size(), response.body.size());
  respond(std::move(response));
}

void Dispatch::refuse(const VisitPtr& visit, HttpResponse response) {
  const auto shared = std::make_shared<HttpResponse>(std::move(response));
  if (clerk_.post(visit->request.address, [visit, shared] { visit->answer(std::move(*shared)); }))
    return;
  // The disk hangs while requests come and go. None of them has had any effect.
  if (!unwritten_.exchange(true))
    serve::log_error("the audit log is too slow: some refused requests are not in it");
  visit->respond(std::move(*shared));
}

void Dispatch::call(std::function<void()> task) {
  if (!clerk_.post("", std::move(task)))
    serve::log_error("the audit log is too slow: somebody has to ask again");
}

}  // namespace assay::site
