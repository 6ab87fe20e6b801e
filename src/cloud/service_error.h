#pragma once

#include <string>

#include "core/error.h"
#include "http/client.h"
#include "http/exchange_error.h"

namespace assay::cloud {

/// A refusal by a service. The message contains the service's code and text and the request's id;
/// the advice explains common codes.
class ServiceError : public Error {
 public:
  ServiceError(int status, std::string code, ErrorKind kind, std::string message, std::string where,
               std::string advice)
      : Error(kind, std::move(message), std::move(where), std::move(advice)),
        status_(status),
        code_(std::move(code)) {}
  [[nodiscard]] int status() const noexcept { return status_; }
  [[nodiscard]] const std::string& code() const noexcept { return code_; }  ///< "NoSuchKey", or ""

 private:
  int status_;
  std::string code_;
};

/// The content of a refusal's body, in any of the services' forms.
struct Refusal {
  std::string code;
  std::string message;
  std::string request_id;
  std::string elsewhere;    ///< for a redirect: the other place according to the service
  bool understood = false;  ///< false: neither the services' XML nor their JSON
};
[[nodiscard]] Refusal read_refusal(const http::Response& response);

/// The error for a refusal. `what` names the operation and its object ("PUT bucket/key"), `host`
/// the server. Contains no secrets hidden by `client`. Mentions a clock that is off by minutes.
[[nodiscard]] ServiceError service_error(const http::Client& client, const http::Response& response,
                                         const std::string& what, const std::string& host);

/// The error for a 2xx answer that is not understood.
[[nodiscard]] http::ExchangeError unexpected_answer(const http::Client& client,
                                                    const http::Response& response,
                                                    const std::string& what,
                                                    const std::string& host);

}  // namespace assay::cloud
