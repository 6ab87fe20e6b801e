#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "door/body_end.h"
#include "serve/http_server.h"

namespace assay::door {

/// A visit's cookie, and the prefix of the platform's cookies: no application gets or sets them.
inline constexpr std::string_view kVisitCookie = "assay_door";
inline constexpr std::string_view kOwnCookies = "assay_";
/// Marks every request to an application; one that comes back is a loop.
inline constexpr std::string_view kDoorHeader = "x-assay-door";

inline constexpr std::size_t kMaxAnswerHead = 64U << 10;

/// Whether a request asks for a WebSocket.
[[nodiscard]] bool wants_websocket(const serve::HttpRequest& request);

/// The value of a cookie in the request; empty if it is missing or repeated.
[[nodiscard]] std::string cookie_of(const serve::HttpRequest& request, std::string_view name);

/// The request for the application: its connection ends with it, and it lacks the platform's
/// cookies and, unless it is the application's own, the Authorization.
[[nodiscard]] std::string request_for(const serve::HttpRequest& request, bool with_authorization,
                                      bool tls);

/// The head of an application's response.
struct AnswerHead {
  int status = 0;
  std::string reason{};
  std::vector<std::pair<std::string, std::string>> headers{};  ///< names as received
  BodyEnd body{};
};

/// Throws Error of kind config for anything but strict HTTP/1.x, because a browser might read it
/// differently. `method` is the request's.
[[nodiscard]] AnswerHead parse_answer(std::string_view head, std::string_view method);

/// The head for the browser: adapted to this connection, and without anything that would reach
/// beyond the endpoint's own site.
[[nodiscard]] std::string answer_for(const AnswerHead& head);

/// A Set-Cookie restricted to the endpoint's own host; nothing if it must not be set.
[[nodiscard]] std::optional<std::string> confined_cookie(std::string_view cookie);

}  // namespace assay::door
