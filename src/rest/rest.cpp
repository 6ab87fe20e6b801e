#include "rest/rest.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "accounts/secret.h"
#include "core/error.h"
#include "core/text.h"
#include "core/time.h"
#include "database/database.h"
#include "lang/language.h"
#include "rest/guard.h"
#include "rest/translated.h"
#include "serve/log.h"

namespace assay::rest {

using jobs::Whose;

namespace {

std::string method_of(const serve::HttpRequest& request) {
  return request.method == "HEAD" ? "GET" : request.method;
}

const std::set<std::string, std::less<>>& known_patterns() {
  static const auto patterns = [] {
    std::set<std::string, std::less<>> out;
    for (const Route& route : route_table()) out.insert(pattern_of(route.path));
    return out;
  }();
  return patterns;
}

const Route& route_of(const serve::HttpRequest& request) {
  const std::string method = method_of(request);
  std::vector<std::string> methods;
  for (const Route& route : route_table()) {
    if (pattern_of(route.path) != request.route) continue;
    if (route.method == method) return route;
    methods.emplace_back(route.method);
    if (methods.back() == "GET") methods.emplace_back("HEAD");
  }
  if (methods.empty()) throw not_found("there is no such address");
  serve::Refusal refusal(405, "method_not_allowed",
                         printable(ellipsize(method, 20)) + " is not possible here",
                         "possible: " + join(methods, ", "));
  refusal.allow = join(methods, ", ");
  throw refusal;
}

std::string words_of(jobs::Deed deed) {
  std::string out(to_text(deed));
  std::ranges::replace(out, '_', ' ');
  return out;
}

Whose whose_of(Call& call) {
  switch (call.route.of) {
    case Of::cluster:
      return Whose::foreign;
    case Of::self:
      return Whose::own;
    case Of::user:
      return call.parameter(0) == call.caller().name ? Whose::own : Whose::foreign;
    case Of::scope: {
      const std::string& scope = call.parameter(0);
      if (scope == "own") return Whose::own;
      return scope.starts_with("team:") && call.caller().is_in(scope.substr(5)) ? Whose::team
                                                                                : Whose::foreign;
    }
    case Of::job: {
      call.job = readable_job(call, call.parameter(0));
      // Whom the owner lets in is inside as the owner is.
      if (call.route.deed == jobs::Deed::enter_job &&
          door::may_enter(call.context.accounts, call.job->job, call.caller().name))
        return Whose::own;
      return whose(call, call.job->job);
    }
  }
  return Whose::foreign;
}

// JSON has one kind of numbers: 1.0 is as whole as 1, as JSON Schema says.
void make_whole(Json& json) {
  constexpr double kExact = 9007199254740992;  // up to which doubles have every whole number
  if (json.is_structured()) {
    for (Json& one : json) make_whole(one);
  } else if (json.is_number_float()) {
    const double value = json.get<double>();
    if (std::abs(value) <= kExact && std::trunc(value) == value)
      json = static_cast<std::int64_t>(value);
  }
}

void read_body(Call& call) {
  const serve::HttpRequest& request = call.request;
  if (request.body.size() > call.route.max_body)
    throw serve::Refusal(413, "too_large",
                         fmt::format("the body has more than {} bytes", call.route.max_body));
  if (call.route.body != Body::json) return;
  const std::string header = request.header("content-type");
  const std::string type = to_lower(trim(header.substr(0, header.find(';'))));
  if (type != "application/json")
    throw serve::Refusal(415, "wrong_type", "the body must be application/json");
  call.body = serve::parse_body(request.body, call.route.max_body);
  make_whole(call.body);
}

serve::HttpResponse refused(const Error& error) {
  if (error.kind() == ErrorKind::usage || error.kind() == ErrorKind::config)
    return serve::response_of(serve::Refusal(400, "bad_request", error.message(), error.advice()));
  throw;  // it is being handled
}

}  // namespace

std::vector<std::string> Rest::patterns() {
  std::vector<std::string> out;
  for (const Route& route : route_table())
    if (std::string pattern = pattern_of(route.path); std::ranges::count(out, pattern) == 0)
      out.push_back(std::move(pattern));
  return out;
}

bool Rest::takes(const serve::HttpRequest& request) {
  return known_patterns().contains(request.route) ||
         (request.route.empty() && request.path.starts_with("/api/"));
}

std::string Rest::signed_in(const serve::HttpRequest& request) {
  if (!request.header("authorization").empty()) return {};
  try {
    const auto caller = caller_of(request, context_, wall_now_ns());
    return caller ? caller->name : "";
  } catch (const Error&) {
    return {};  // then it is not known now
  }
}

bool Rest::knows_token(const serve::HttpRequest& request) {
  const std::string header = request.header("authorization");
  try {
    return to_lower(header.substr(0, 7)) == "bearer " &&
           context_.accounts.token_use(trim(header.substr(7)), wall_now_ns()).has_value();
  } catch (const Error&) {
    return false;  // then it is not known now
  }
}

namespace {

// What is compared with a text in a database ends at a NUL: another thing would be meant than what
// was said.
void refuse_nul(const Call& call) {
  for (const auto& [name, value] : call.query)
    if (value.find('\0') != std::string::npos)
      throw serve::Refusal(
          400, "bad_parameter",
          fmt::format("'{}' has a NUL character in it", ellipsize(printable(name), 64)));
}

// What a misspelt parameter was to narrow would be done to everything.
void refuse_unknown(const Call& call) {
  if (!std::string_view(call.route.path).starts_with("/api/v1/")) return;
  for (const auto& [name, value] : call.query) {
    if (std::ranges::find(call.route.query, name, &Parameter::name) != call.route.query.end())
      continue;
    std::vector<std::string> known;
    for (const Parameter& one : call.route.query) known.emplace_back(one.name);
    throw serve::Refusal(
        400, "bad_parameter",
        fmt::format("there is no parameter '{}' here", ellipsize(printable(name), 64)),
        known.empty() ? "leave it out" : "one of: " + join(known, ", "));
  }
}

}  // namespace

void Rest::check(Call& call) {
  const serve::HttpRequest& request = call.request;
  const Route& route = call.route;
  const bool reads = method_of(request) == "GET";
  refuse_nul(call);
  if (!reads) check_origin(request, context_.tls);
  if (route.who == Who::anyone) return;
  refuse_unknown(call);
  call.who = caller_of(request, context_, call.now_ns);
  if (!call.who) {
    serve::Refusal refusal(401, "not_signed_in", "this needs somebody who is signed in",
                           "sign in, or send a token as 'Authorization: Bearer TOKEN'");
    throw refusal;
  }
  if (const int wait = context_.by_user.take(call.who->name, mono_now_ns()); wait > 0) {
    serve::Refusal refusal(429, "too_many_requests", "too many requests");
    refusal.retry_after_s = wait;
    throw refusal;
  }
  if (!reads && !call.who->session.empty() &&
      !accounts::same_secret(request.header("x-csrf-token"), call.who->csrf))
    throw serve::Refusal(403, "wrong_csrf", "the header X-CSRF-Token is missing or wrong",
                         "GET /api/v1/session gives it");
  if (route.who == Who::may && !call.who->may(route.deed, whose_of(call)))
    throw forbidden(words_of(route.deed));
}

serve::HttpResponse Rest::answer(Call& call) {
  try {
    check(call);
    read_body(call);
    return call.route.handler(call);
  } catch (const serve::Refusal& refusal) {
    return serve::response_of(refusal);
  } catch (const platform::Refused& error) {
    serve::Refusal refusal(422, "problems", error.message(), error.advice());
    for (const jobs::Problem& problem : error.problems())
      refusal.problems.push_back(fields_to_json(problem));
    return serve::response_of(refusal);
  } catch (const Error& error) {
    return refused(error);
  }
}

void Rest::record(const Call& call, int status) {
  // Who enters is written down, too, though it is asked for with GET.
  if (method_of(call.request) == "GET" && call.route.status != 101) return;
  if (call.route.asks || (!call.who && call.noted.empty())) return;
  std::string subject = ellipsize(printable(http::percent_decode(call.request.path)), 200);
  context_.accounts.record({.at_ns = call.now_ns,
                            .who = call.who ? call.who->name : call.noted,
                            .address = call.request.address,
                            .deed = call.route.who == Who::may
                                        ? std::string(to_text(call.route.deed))
                                        : std::string(call.who ? "sign_out" : "sign_in"),
                            .subject = call.request.method + " " + std::move(subject) +
                                       (call.did.empty() ? "" : ": " + call.did),
                            .status = status});
}

void Rest::handle(const serve::HttpRequest& request, std::string& who,
                  const serve::HttpServer::Respond& respond) {
  const std::int64_t began_ns = mono_now_ns();
  serve::HttpResponse response;
  std::string path = "-";
  try {
    check_host(request, context_.hosts);
    const Route& route = route_of(request);
    path = route.path;
    Call call{.context = context_,
              .request = request,
              .route = route,
              .query = http::parse_form(request.query),
              .now_ns = wall_now_ns()};
    response = answer(call);
    if (call.who) who = call.who->name;
    try {
      record(call, response.status);
    } catch (const database::DatabaseError& error) {
      // It has been done, so that there may be room again; the server's log says by whom.
      if (call.route.deed != jobs::Deed::stop_job || error.cause() != database::Cause::disk_full)
        throw;
      serve::log_error(fmt::format("{} {}: {}", request.method,
                                   ellipsize(request.path, 200) + " (" + who + ")", error.what()));
    }
  } catch (const serve::Refusal& refusal) {
    response = serve::response_of(refusal);
  } catch (const std::exception& error) {
    serve::log_error(
        fmt::format("{} {}: {}", request.method, ellipsize(request.path, 200), error.what()));
    response = failure(error);
  }
  if (response.status == 401) response.headers.emplace_back("WWW-Authenticate", "Bearer");
  // Not Accept-Language: what a browser saves to disk (result.json) has to stay as it was written.
  translate(response, lang::preferred_language(request.header("x-assay-language")));
  secure(response);
  context_.metrics.answered(method_of(request), path, response.status,
                            static_cast<double>(mono_now_ns() - began_ns) / 1e9);
  respond(std::move(response));
}

}  // namespace assay::rest
