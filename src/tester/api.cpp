#include "tester/api.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>
#include <openssl/evp.h>

#include "core/error.h"
#include "core/json_error.h"
#include "core/text.h"
#include "core/time.h"
#include "http/url.h"
#include "lang/language.h"
#include "page/bilingual.h"
#include "serve/log.h"
#include "tester/api_call.h"
#include "tester/failure.h"
#include "tester/pages.h"

namespace assay::tester {

namespace {

serve::Refusal not_found() {
  return {404, "not_found", "there is nothing at this address", "docs/tester.md lists the API"};
}

serve::Refusal wrong_method(const std::string& method, const std::string& allowed) {
  serve::Refusal refusal(405, "method_not_allowed",
                         printable(ellipsize(method, 20)) + " is not possible here",
                         "possible: " + allowed);
  refusal.allow = allowed;
  return refusal;
}

// HEAD is GET without the body, which the server omits.
std::string method_of(const serve::HttpRequest& request) {
  return request.method == "HEAD" ? "GET" : request.method;
}

// "Basic" is what a browser sends after asking for name and password.
std::string password_of_basic(std::string_view encoded) {
  if (encoded.size() > 1024 || encoded.size() % 4 != 0) return {};
  std::string out(encoded.size() / 4 * 3 + 1, '\0');
  const int size = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                   reinterpret_cast<const unsigned char*>(encoded.data()),
                                   static_cast<int>(encoded.size()));
  if (size < 0) return {};
  std::size_t padding = 0;
  while (padding < 2 && encoded.ends_with(padding == 0 ? "=" : "==")) ++padding;
  out.resize(static_cast<std::size_t>(size) - padding);
  const auto colon = out.find(':');
  return colon == std::string::npos ? std::string() : out.substr(colon + 1);
}

serve::HttpResponse too_often(int seconds) {
  serve::Refusal refusal(429, "too_many_requests", "too many requests",
                         fmt::format("try again in {} s", seconds));
  refusal.retry_after_s = seconds;
  return serve::response_of(refusal);
}

void secure(serve::HttpResponse& response) {
  response.headers.emplace_back("X-Content-Type-Options", "nosniff");
  response.headers.emplace_back("Referrer-Policy", "no-referrer");
  response.headers.emplace_back("Cache-Control", "no-store");
}

}  // namespace

Api::Api(Records& records, Uploads& uploads, Judgements& judgements, ApiLimits limits,
         BoardOptions board, bool public_read, CallAfter call_after)
    : records_(records),
      uploads_(uploads),
      judgements_(judgements),
      limits_(limits),
      board_(std::move(board)),
      public_read_(public_read),
      call_after_(std::move(call_after)),
      by_address_(limits.address_rate, 2 * limits.address_rate),
      by_token_(limits.token_rate, 2 * limits.token_rate),
      wrong_tokens_(1, 20) {}

std::optional<serve::HttpResponse> Api::turned_away(const serve::HttpRequest& request) {
  const int wait = by_address_.take(serve::rate_key(request.address), mono_now_ns());
  if (wait == 0) return std::nullopt;
  serve::HttpResponse response = too_often(wait);
  secure(response);
  return response;
}

std::string Api::identify(const serve::HttpRequest& request) {
  const std::string header = request.header("authorization");
  if (header.empty()) return {};
  std::string token;
  if (to_lower(header.substr(0, 7)) == "bearer ")
    token = std::string(trim(header.substr(7)));
  else if (to_lower(header.substr(0, 6)) == "basic " && method_of(request) == "GET")
    token = password_of_basic(trim(std::string_view(header).substr(6)));
  const std::string key = serve::rate_key(request.address);
  const auto name = token.empty() ? std::nullopt : records_.token_name(token);
  if (name) return *name;
  if (const int wait = wrong_tokens_.take(key, mono_now_ns()); wait > 0) {
    serve::Refusal refusal(429, "too_many_requests", "too many wrong tokens from this address");
    refusal.retry_after_s = wait;
    throw refusal;
  }
  throw serve::Refusal(401, "wrong_token", "the token is not known, or was revoked",
                       "'assay serve token add NAME' makes one where the tester runs");
}

void Api::handle(const serve::HttpRequest& request, std::string& token_name,
                 const serve::HttpServer::Respond& respond, const std::string& reader) {
  const bool for_people = !request.path.starts_with("/api/");
  const lang::Language language = lang::preferred_language(request.header("accept-language"));
  const auto answer = [respond, for_people, language](serve::HttpResponse response) {
    if (for_people && response.type.starts_with("text/html"))
      response.body = page::in_language(response.body, language);
    if (response.status == 401)
      response.headers.emplace_back(
          "WWW-Authenticate",
          for_people ? "Basic realm=\"Assay tester: the password is a token\"" : "Bearer");
    secure(response);
    respond(std::move(response));
  };
  try {
    Call call{.request = request, .token = identify(request)};
    call.known_reader = !reader.empty();
    token_name = call.token.empty() ? reader : call.token;
    if (!call.token.empty())
      if (const int wait = by_token_.take(call.token, mono_now_ns()); wait > 0) {
        answer(too_often(wait));
        return;
      }
    call.query = http::parse_form(request.query);
    call.respond = answer;
    if (auto response = dispatch(call)) answer(std::move(*response));
  } catch (const serve::Refusal& refusal) {
    answer(for_people ? page_of(refusal) : serve::response_of(refusal));
  } catch (const std::exception& error) {
    serve::log_error(
        fmt::format("{} {}: {}", request.method, ellipsize(request.path, 200), plain_error(error)));
    const serve::Refusal refusal = failure_of(error, "the tester failed");
    answer(for_people ? page_of(refusal) : serve::response_of(refusal));
  }
}

struct Api::Route {
  const char* method;
  const char* pattern;
  Handler handler;
  bool for_anyone = false;  ///< needs no token
};

const std::vector<Api::Route>& Api::route_table() {
  static const std::vector<Route> kRoutes{
      {"GET", "/api/v1/health", &Api::health, true},
      {"GET", "/api/v1/tests", &Api::list},
      {"POST", "/api/v1/tests", &Api::make_test},
      {"GET", "/api/v1/tests/([^/]+)", &Api::show_test},
      {"PUT", "/api/v1/tests/([^/]+)/manifest", &Api::put_manifest},
      {"GET", "/api/v1/tests/([^/]+)/files/([^/]+)", &Api::file_state},
      {"PUT", "/api/v1/tests/([^/]+)/files/([^/]+)", &Api::put_part},
      {"POST", "/api/v1/tests/([^/]+)/finish", &Api::finish},
      {"GET", "/api/v1/tests/([^/]+)/result", &Api::result},
      {"POST", "/api/v1/challenges", &Api::make_challenge},
      {"GET", "/api/v1/challenges/([^/]+)", &Api::show_challenge},
      {"GET", "/api/v1/leaderboard", &Api::leaderboard},
      {"GET", "/api/v1/compare", &Api::compare_tests},
      {"GET", "/", &Api::page_of_tests},
      {"GET", "/tests", &Api::page_of_tests},
      {"GET", "/leaderboard", &Api::page_of_leaderboard},
      {"GET", "/compare", &Api::page_of_comparison},
      {"GET", "/tests/([^/]+)", &Api::page_of_test},
      {"GET", "/tests/([^/]+)/report.html", &Api::report},
  };
  return kRoutes;
}

std::vector<std::string> Api::routes() {
  std::vector<std::string> patterns;
  for (const Route& route : route_table())
    if (patterns.empty() || patterns.back() != route.pattern) patterns.emplace_back(route.pattern);
  return patterns;
}

std::optional<serve::HttpResponse> Api::dispatch(const Call& call) {
  const std::string method = method_of(call.request);
  const Route* wanted = nullptr;
  std::vector<std::string> methods;
  bool for_anyone = false;
  for (const Route& route : route_table()) {
    if (route.pattern != call.request.route) continue;
    if (route.method == method) wanted = &route;
    methods.emplace_back(route.method);
    if (methods.back() == "GET") methods.emplace_back("HEAD");
    for_anyone = for_anyone || route.for_anyone;
  }
  const bool reads = method == "GET";
  if (call.token.empty() && !for_anyone && !(reads && (public_read_ || call.known_reader)))
    throw serve::Refusal(401, "no_token", reads ? "reading needs a token" : "this needs a token",
                         "send it as 'Authorization: Bearer TOKEN'");
  if (methods.empty()) throw not_found();
  if (wanted == nullptr) throw wrong_method(method, join(methods, ", "));
  return (this->*wanted->handler)(call);
}

}  // namespace assay::tester
