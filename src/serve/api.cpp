#include "serve/api.h"

#include <algorithm>
#include <array>
#include <utility>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <openssl/evp.h>

#include "core/error.h"
#include "core/text.h"
#include "core/time.h"
#include "core/version.h"
#include "http/url.h"
#include "serve/api_call.h"
#include "serve/pages.h"

namespace assay::serve {

namespace {

Refusal not_found() {
  return {404, "not_found", "there is nothing at this address", "docs/tester.md lists the API"};
}

Refusal wrong_method(const std::string& method, const char* allowed) {
  return {405, "method_not_allowed", printable(ellipsize(method, 20)) + " is not possible here",
          std::string("possible: ") + allowed};
}

// An IPv6 peer has as many addresses as it likes, in one network of 64 bits.
std::string rate_key(const std::string& address) {
  std::array<unsigned char, 16> bytes{};
  if (::inet_pton(AF_INET6, address.c_str(), bytes.data()) != 1) return address;
  return {reinterpret_cast<const char*>(bytes.data()), 8};
}

// "Basic": what a browser sends after it has asked for name and password.
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

HttpResponse too_often(int seconds) {
  Refusal refusal(429, "too_many_requests", "too many requests",
                  fmt::format("try again in {} s", seconds));
  refusal.retry_after_s = seconds;
  return response_of(refusal);
}

void secure(HttpResponse& response) {
  response.headers.emplace_back("X-Content-Type-Options", "nosniff");
  response.headers.emplace_back("Referrer-Policy", "no-referrer");
  response.headers.emplace_back("Cache-Control", "no-store");
}

}  // namespace

Api::Api(Records& records, Uploads& uploads, Judgements& judgements, ApiLimits limits,
         bool public_read, CallAfter call_after)
    : records_(records),
      uploads_(uploads),
      judgements_(judgements),
      limits_(limits),
      public_read_(public_read),
      call_after_(std::move(call_after)),
      by_address_(limits.address_rate, 2 * limits.address_rate),
      by_token_(limits.token_rate, 2 * limits.token_rate),
      wrong_tokens_(1, 20) {}

std::optional<HttpResponse> Api::turned_away(const HttpRequest& request) {
  const int wait = by_address_.take(rate_key(request.address), mono_now_ns());
  if (wait == 0) return std::nullopt;
  HttpResponse response = too_often(wait);
  secure(response);
  return response;
}

std::string Api::identify(const HttpRequest& request) {
  const std::string header = request.header("authorization");
  if (header.empty()) return {};
  std::string token;
  if (to_lower(header.substr(0, 7)) == "bearer ")
    token = std::string(trim(header.substr(7)));
  else if (to_lower(header.substr(0, 6)) == "basic " && request.method == "GET")
    token = password_of_basic(trim(std::string_view(header).substr(6)));
  const std::string key = rate_key(request.address);
  const auto name = token.empty() ? std::nullopt : records_.token_name(token);
  if (name) return *name;
  if (const int wait = wrong_tokens_.take(key, mono_now_ns()); wait > 0) {
    Refusal refusal(429, "too_many_requests", "too many wrong tokens from this address");
    refusal.retry_after_s = wait;
    throw refusal;
  }
  throw Refusal(401, "wrong_token", "the token is not known, or was revoked",
                "'assay serve token add NAME' makes one where the tester runs");
}

void Api::handle(const HttpRequest& request, std::string& token_name,
                 const HttpServer::Respond& respond) {
  const bool for_people = !request.path.starts_with("/api/");
  const auto answer = [respond, for_people](HttpResponse response) {
    if (response.status == 401)
      response.headers.emplace_back(
          "WWW-Authenticate",
          for_people ? "Basic realm=\"Assay tester: the password is a token\"" : "Bearer");
    secure(response);
    respond(std::move(response));
  };
  try {
    Call call{request, identify(request)};
    token_name = call.token;
    if (!call.token.empty())
      if (const int wait = by_token_.take(call.token, mono_now_ns()); wait > 0) {
        answer(too_often(wait));
        return;
      }
    for (const std::string_view part : split(request.path, '/'))
      if (!part.empty()) call.parts.push_back(http::percent_decode(part));
    call.query = http::parse_query(request.query);
    call.respond = answer;
    if (auto response = route(call)) answer(std::move(*response));
  } catch (const Refusal& refusal) {
    answer(for_people ? page_of(refusal) : response_of(refusal));
  } catch (const std::exception& error) {
    fmt::print(stderr, "assay serve: {} {}: {}\n", request.method,
               printable(ellipsize(request.path, 200)), error.what());
    answer(response_of(Refusal(500, "internal", "the tester failed",
                               "whoever runs the tester finds the cause in its messages")));
  }
}

std::optional<HttpResponse> Api::route(Call& call) {
  const std::string& method = call.request.method;
  const std::vector<std::string>& parts = call.parts;
  const bool api = parts.size() >= 3 && parts[0] == "api" && parts[1] == "v1";
  if (api && parts.size() == 3 && parts[2] == "health") {
    if (method != "GET") throw wrong_method(method, "GET");
    return json_response({{"status", "ok"}, {"assay", version_string()}});
  }
  const bool reads = method == "GET";
  if (call.token.empty() && !(reads && public_read_))
    throw Refusal(401, "no_token", reads ? "reading needs a token" : "this needs a token",
                  "send it as 'Authorization: Bearer TOKEN'");
  if (!api) {
    if (!reads) throw wrong_method(method, "GET");
    if (parts.empty()) return list_page(parse_json(list(call).body, "tests"), call.query);
    if (parts[0] == "tests" && (parts.size() == 2 || parts.size() == 3)) {
      call.parts.insert(call.parts.begin(), {"api", "v1"});
      const TestRecord test = test_of(call);
      if (call.parts.size() == 4) return test_page(test);
      if (call.parts[4] == "report.html")
        return file_of(call, "report.html", "text/html; charset=utf-8");
    }
    throw not_found();
  }
  if (parts[2] != "tests") throw not_found();
  if (parts.size() == 3) {
    if (method == "POST") return make_test(call);
    if (reads) return list(call);
    throw wrong_method(method, "GET, POST");
  }
  if (parts.size() == 4) {
    if (!reads) throw wrong_method(method, "GET");
    Json out = to_json(test_of(call));
    if (const TestRecord test = test_of(call); !test.answer.is_null()) out["answer"] = test.answer;
    return json_response(out);
  }
  if (parts.size() == 5 && parts[4] == "manifest") {
    if (method != "PUT") throw wrong_method(method, "PUT");
    return put_manifest(call);
  }
  if (parts.size() == 6 && parts[4] == "files") {
    if (!reads && method != "PUT") throw wrong_method(method, "GET, PUT");
    return file_part(call, parts[5]);
  }
  if (parts.size() == 5 && parts[4] == "finish") {
    if (method != "POST") throw wrong_method(method, "POST");
    finish(call);
    return std::nullopt;
  }
  if (parts.size() == 5 && parts[4] == "result") {
    if (!reads) throw wrong_method(method, "GET");
    return file_of(call, "result.json", "application/json");
  }
  throw not_found();
}

}  // namespace assay::serve
