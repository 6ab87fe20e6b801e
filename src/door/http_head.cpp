#include "door/http_head.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "core/error.h"
#include "core/parse_number.h"
#include "core/text.h"
#include "http/head_syntax.h"

namespace assay::door {

namespace {

using Names = std::set<std::string, std::less<>>;

// Headers of a connection rather than a message.
const Names& hop_by_hop() {
  static const Names names{"connection",
                           "keep-alive",
                           "proxy-authenticate",
                           "proxy-authorization",
                           "proxy-connection",
                           "te",
                           "trailer",
                           "transfer-encoding",
                           "upgrade"};
  return names;
}

// Headers in an application's answer that affect more than its own site.
const Names& too_far() {
  static const Names names{"clear-site-data", "strict-transport-security",
                           "alt-svc",         "public-key-pins",
                           "set-cookie2",     "nel",
                           "report-to",       "reporting-endpoints"};
  return names;
}

Names named_in(std::string_view connection) {
  Names out;
  for (const std::string_view name : split(connection, ',')) out.insert(to_lower(trim(name)));
  return out;
}

bool is_own_cookie(std::string_view name) {
  std::string lower = to_lower(trim(name));
  for (const std::string_view prefix : {"__host-", "__secure-"})
    if (lower.starts_with(prefix)) lower.erase(0, prefix.size());
  return lower.starts_with(kOwnCookies);
}

std::string foreign_cookies(std::string_view header) {
  std::vector<std::string> kept;
  for (const std::string_view part : split(header, ';'))
    if (const std::string_view one = trim(part);
        !one.empty() && !is_own_cookie(one.substr(0, one.find('='))))
      kept.emplace_back(one);
  return join(kept, "; ");
}

// Proxies are asked for "http://host/path"; the application is asked for "/path".
std::string_view origin_form(std::string_view path) {
  if (path.starts_with('/')) return path;
  const auto authority = path.find("://");
  if (authority == std::string_view::npos) return path;
  const auto slash = path.find('/', authority + 3);
  return slash == std::string_view::npos ? "/" : path.substr(slash);
}

Error not_http(const std::string& why) {
  return {ErrorKind::config, why};
}

BodyEnd body_of(const AnswerHead& head, std::string_view method) {
  std::optional<std::uint64_t> length;
  bool chunked = false;
  for (const auto& [name, value] : head.headers) {
    const std::string lower = to_lower(name);
    if (lower == "content-length") {
      const auto number = parse_number<std::uint64_t>(trim(value));
      if (!number || (length && *length != *number))
        throw not_http("the answer has an invalid or conflicting Content-Length");
      length = number;
    } else if (lower == "transfer-encoding") {
      if (to_lower(trim(value)) != "chunked" || chunked)
        throw not_http("the answer has an unknown Transfer-Encoding");
      chunked = true;
    }
  }
  if (length && chunked) throw not_http("the answer gives its length in two ways");
  const bool none =
      method == "HEAD" || head.status < 200 || head.status == 204 || head.status == 304;
  if (none) return BodyEnd(BodyEnd::Kind::none);
  if (chunked) return BodyEnd(BodyEnd::Kind::chunked);
  return length ? BodyEnd(BodyEnd::Kind::length, *length) : BodyEnd(BodyEnd::Kind::until_close);
}

}  // namespace

bool wants_websocket(const serve::HttpRequest& request) {
  return request.method == "GET" && to_lower(request.header("upgrade")) == "websocket" &&
         named_in(request.header("connection")).contains("upgrade");
}

std::string cookie_of(const serve::HttpRequest& request, std::string_view name) {
  std::string found;
  const std::string header = request.header("cookie");
  for (std::string_view part : split(header, ';')) {
    part = trim(part);
    if (part.substr(0, part.find('=')) != name || part.size() <= name.size()) continue;
    if (!found.empty()) return {};
    found = std::string(part.substr(name.size() + 1));
  }
  return found;
}

std::string request_for(const serve::HttpRequest& request, bool with_authorization, bool tls) {
  std::string out = request.method + " " + std::string(origin_form(request.path)) +
                    (request.query.empty() ? "" : "?" + request.query) +
                    (request.is_old ? " HTTP/1.0\r\n" : " HTTP/1.1\r\n");
  const auto add = [&](std::string_view name, std::string_view value) {
    out.append(name).append(": ").append(value).append("\r\n");
  };
  add("Host", request.header("host"));
  const Names named = named_in(request.header("connection"));
  for (const auto& [name, value] : request.headers) {
    if (name == "host" || name == "content-length" || name == "expect" || name == kDoorHeader ||
        hop_by_hop().contains(name) || (named.contains(name) && name != "cookie") ||
        name.starts_with("x-forwarded-") || name == "forwarded")
      continue;
    if (name == "authorization" && !with_authorization) continue;
    if (name != "cookie")
      add(name, value);
    else if (const std::string kept = foreign_cookies(value); !kept.empty())
      add(name, kept);
  }
  add("X-Forwarded-Proto", tls ? "https" : "http");
  add("X-Forwarded-Host", request.header("host"));
  add("X-Forwarded-For", request.address);
  add(kDoorHeader, "1");
  if (!request.body.empty() || (request.method != "GET" && request.method != "HEAD"))
    add("Content-Length", std::to_string(request.body.size()));
  if (wants_websocket(request)) {
    add("Connection", "Upgrade");
    add("Upgrade", "websocket");
  } else {
    add("Connection", "close");
  }
  return out + "\r\n" + request.body;
}

AnswerHead parse_answer(std::string_view head, std::string_view method) {
  AnswerHead out;
  bool first = true;
  for (std::string_view line : split(head, '\n')) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (first) {
      first = false;
      const auto status = line.size() >= 12 ? parse_number<int>(line.substr(9, 3)) : std::nullopt;
      if (!(line.starts_with("HTTP/1.1 ") || line.starts_with("HTTP/1.0 ")) || !status ||
          *status < 100 || *status > 999 || (line.size() > 12 && line[12] != ' ') ||
          http::has_control(line))
        throw not_http("it does not answer with HTTP");
      out.status = *status;
      if (line.size() > 13) out.reason = std::string(line.substr(13));
      continue;
    }
    if (line.empty()) continue;
    const auto colon = line.find(':');
    const std::string_view name = line.substr(0, colon);
    if (colon == std::string_view::npos || !http::is_token(name) ||
        http::has_control(line.substr(colon + 1)))
      throw not_http("the answer has a malformed header");
    out.headers.emplace_back(name, trim(line.substr(colon + 1)));
  }
  out.body = body_of(out, method);
  return out;
}

std::optional<std::string> confined_cookie(std::string_view cookie) {
  std::vector<std::string> kept;
  bool first = true;
  for (const std::string_view part : split(cookie, ';')) {
    const std::string_view one = trim(part);
    const std::string_view name = trim(one.substr(0, one.find('=')));
    if (std::exchange(first, false)) {
      // A cookie without a name comes back as its value alone, which could be "assay_door=x".
      if (name.empty() || one.find('=') == std::string_view::npos || is_own_cookie(name))
        return std::nullopt;
    } else if (to_lower(name) == "domain") {
      continue;  // limits it to this host
    }
    kept.emplace_back(one);
  }
  return join(kept, "; ");
}

std::string answer_for(const AnswerHead& head) {
  std::string out = fmt::format("HTTP/1.1 {} {}\r\n", head.status, head.reason);
  const auto add = [&](std::string_view name, std::string_view value) {
    out.append(name).append(": ").append(value).append("\r\n");
  };
  const bool upgraded = head.status == 101;
  // These have no body, and must not mention one (RFC 9110, 8.6).
  const bool bodiless = upgraded || head.status == 204;
  bool has_length = false;
  Names named;
  for (const auto& [name, value] : head.headers)
    if (to_lower(name) == "connection") named.merge(named_in(value));
  for (const auto& [name, value] : head.headers) {
    const std::string lower = to_lower(name);
    if (lower == "set-cookie") {
      if (const auto kept = confined_cookie(value)) add(name, *kept);
      continue;
    }
    if (lower == "content-length" || lower == "transfer-encoding") {
      // A repetition has the same value. Chunks are passed on unchanged.
      if (!bodiless && !std::exchange(has_length, true)) add(name, value);
      continue;
    }
    if (upgraded && lower == "upgrade") {
      add(name, value);
      continue;
    }
    if (hop_by_hop().contains(lower) || too_far().contains(lower) || named.contains(lower))
      continue;
    add(name, value);
  }
  add("Connection", upgraded ? "Upgrade" : "close");
  return out + "\r\n";
}

}  // namespace assay::door
