#pragma once

#include <optional>
#include <string>

#include "rest/call.h"

namespace assay::rest {

/// Whether the Host header has one of these names, without a port.
[[nodiscard]] bool is_asked_as(const serve::HttpRequest& request,
                               const std::vector<std::string>& hosts);

/// Whether the Host header names this server. A page of another site whose name leads to the
/// loopback address (DNS rebinding) comes with that name. Throws Refusal 421.
void check_host(const serve::HttpRequest& request, const std::vector<std::string>& hosts);

/// The same as an answer; nothing where the host is right.
[[nodiscard]] std::optional<serve::HttpResponse> wrong_host(const serve::HttpRequest& request,
                                                            const std::vector<std::string>& hosts);

/// A request of a browser that changes something comes from a page of this server. Throws Refusal
/// 403.
void check_origin(const serve::HttpRequest& request, bool tls);

/// The value of the session's cookie; empty where there is none, or more than one: then somebody
/// has planted one.
[[nodiscard]] std::string session_cookie(const serve::HttpRequest& request);
[[nodiscard]] std::string set_session(const std::string& secret, bool tls);
[[nodiscard]] std::string forget_session(bool tls);

/// What a browser keeps of a sign-in by a provider, from its beginning to the session, in a cookie
/// that no script can read: so nobody ends in their own account what another browser has begun.
/// Empty as the session's cookie is.
[[nodiscard]] std::string provider_cookie(const serve::HttpRequest& request);
/// An empty value: it is forgotten.
[[nodiscard]] std::string set_provider(const std::string& value, int seconds, bool tls);

/// Who asks; nothing where they do not say. Throws Refusal 401 for a token that is not known.
[[nodiscard]] std::optional<Caller> caller_of(const serve::HttpRequest& request, Context& context,
                                              jobs::WallTime now_ns);

/// Counts a step of a sign-in that cannot fail by what somebody guesses. Throws Refusal 429 where
/// the caller's address had too many of late.
void limit_sign_in_step(Call& call, SignInWay way);

/// An attempt to sign in: it counts as a failed one until it succeeded(). Throws Refusal 429 where
/// there were too many of late.
class SignInAttempt {
 public:
  SignInAttempt(Call& call, SignInWay way, std::string name = {});
  void succeeded();

 private:
  SignInLimits& limits_;
  SignInTry one_;
};

/// What is answered when something fails that is not the request's fault: 503 where a database
/// cannot be used now, else 500.
[[nodiscard]] serve::HttpResponse failure(const std::exception& error);

/// Headers of every answer.
void secure(serve::HttpResponse& response);

}  // namespace assay::rest
