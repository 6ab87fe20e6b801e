#pragma once

#include <stop_token>
#include <string>

#include "core/json.h"
#include "http/client.h"
#include "push/tester_client.h"

namespace assay::push {

/// Returns the tester's answers, or throws Errors with its messages. Neither contains the token.
class Connection {
 public:
  Connection(const Tester& tester, std::stop_token stop);

  [[nodiscard]] const std::string& origin() const { return origin_; }

  struct Answer {
    int status = 0;
    Json body;
    std::string retry_after;
  };

  /// Throws Error of kind launch if the server cannot be reached or is not a tester.
  Answer ask(http::Request request);
  Answer ask(const std::string& method, const std::string& path, const Json& body = Json());

  /// Throws the Error for an unexpected answer.
  [[noreturn]] void refuse(const Answer& answer) const;

 private:
  std::string origin_;
  std::stop_token stop_;
  http::Client client_;
  std::string token_;
};

}  // namespace assay::push
