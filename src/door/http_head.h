#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "door/body_end.h"
#include "serve/http_server.h"

namespace assay::door {

/// The cookie of a visit, and what begins with the platform's name: no application gets or sets it.
inline constexpr std::string_view kVisitCookie = "assay_door";
inline constexpr std::string_view kOwnCookies = "assay_";
/// In every request that goes to an application: one that comes back is a circle.
inline constexpr std::string_view kDoorHeader = "x-assay-door";

inline constexpr std::size_t kMaxAnswerHead = 64U << 10;

/// Whether a request asks for a WebSocket.
[[nodiscard]] bool wants_websocket(const serve::HttpRequest& request);

/// The value of a cookie of the request; empty where there is none, or more than one.
[[nodiscard]] std::string cookie_of(const serve::HttpRequest& request, std::string_view name);

/// The request as the application gets it: one that ends with its connection, without the
/// platform's cookies and, unless it is the application's own, without the Authorization.
[[nodiscard]] std::string request_for(const serve::HttpRequest& request, bool with_authorization,
                                      bool tls);

/// The head of an application's answer.
struct AnswerHead {
  int status = 0;
  std::string reason{};
  std::vector<std::pair<std::string, std::string>> headers{};  ///< names as they came
  BodyEnd body{};
};

/// Throws Error of kind config for what is no HTTP/1.x to the letter: a browser may read it in
/// another way. `method`: of the request.
[[nodiscard]] AnswerHead parse_answer(std::string_view head, std::string_view method);

/// The head as the browser gets it: for this connection, and without what would reach beyond the
/// endpoint's own site.
[[nodiscard]] std::string answer_for(const AnswerHead& head);

/// A Set-Cookie for the endpoint's own host alone; nothing: one that it must not set.
[[nodiscard]] std::optional<std::string> confined_cookie(std::string_view cookie);

}  // namespace assay::door
