#pragma once

#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client/server_choice.h"
#include "core/error.h"
#include "core/json.h"
#include "core/time.h"
#include "http/client.h"
#include "jobs/submission.h"

namespace assay::client {

/// The server has answered, and does not do it. Kind usage for what is not possible (400, 404, 409,
/// 413, 422), environment when it does not let us in (401, 403) or has no room, launch when it is
/// not well.
class Refused : public Error {
 public:
  Refused(ErrorKind kind, const std::string& message, const std::string& where,
          const std::string& advice, int status, std::string code,
          std::vector<jobs::Problem> problems)
      : Error(kind, message, where, advice),
        status_(status),
        code_(std::move(code)),
        problems_(std::move(problems)) {}

  [[nodiscard]] int status() const noexcept { return status_; }
  [[nodiscard]] const std::string& code() const noexcept { return code_; }
  /// Of a submission, each with its field.
  [[nodiscard]] const std::vector<jobs::Problem>& problems() const noexcept { return problems_; }

 private:
  int status_;
  std::string code_;
  std::vector<jobs::Problem> problems_;
};

/// One request; its path is below /api/v1.
struct Ask {
  std::string method = "GET";
  std::string path{};
  http::Query query{};
  Json body{};          ///< null: none
  std::string bytes{};  ///< instead of the body, as they are
  http::Headers headers{};
  /// Sending it twice does no harm. GET, PUT and DELETE are so; a POST where its content makes it.
  bool repeatable = false;
  Nanoseconds limit = std::chrono::seconds(60);  ///< in all, with retries
};

/// The server's answers, or Errors: of kind launch when it cannot be reached or is none of ours,
/// Refused else. The token is in none of them. Thread-safe.
class Connection {
 public:
  explicit Connection(Server server, std::stop_token stop = {});

  [[nodiscard]] const Server& server() const noexcept { return server_; }

  [[nodiscard]] http::Response send(const Ask& ask) const;  ///< of status 2xx
  [[nodiscard]] Json ask(const Ask& ask) const;             ///< an object
  /// Hands over what comes until the server ends it or `stop` is asked for. Returns then; throws
  /// when it could not begin, or was cut.
  void stream(const Ask& ask, const std::stop_token& stop,
              const std::function<void(std::string_view)>& receive) const;
  /// Throws what an answer means that is not of status 2xx.
  [[noreturn]] void refuse(const http::Response& response) const;

 private:
  [[nodiscard]] http::Request request_of(const Ask& ask) const;
  [[nodiscard]] http::Response exchange(const Ask& ask, http::Exchange exchange) const;

  Server server_;
  std::stop_token stop_;
  mutable http::Client client_;
};

}  // namespace assay::client
