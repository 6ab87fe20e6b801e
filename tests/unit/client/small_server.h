#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "client/server_choice.h"
#include "core/error.h"
#include "core/json.h"
#include "serve/http_server.h"

namespace assay::client {

/// The Error that `f` throws.
template <class F>
Error thrown_by(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    return error;
  }
  return {ErrorKind::internal, "no error"};
}

/// A server in this process that answers as the test says, and remembers what it was asked.
class SmallServer {
 public:
  using Answer = std::function<serve::HttpResponse(const serve::HttpRequest&)>;

  explicit SmallServer(Answer answer)
      : answer_(std::move(answer)),
        http_(options(),
              [this](const serve::HttpRequest& request, const serve::HttpServer::Respond& respond) {
                {
                  const std::lock_guard lock(mutex_);
                  requests_.push_back(request);
                }
                respond(answer_(request));
              }) {
    http_.start();
  }

  [[nodiscard]] std::string url() const { return fmt::format("http://127.0.0.1:{}", http_.port()); }
  [[nodiscard]] Server as(const std::string& token) const { return {url(), token, {}, "the test"}; }
  [[nodiscard]] std::vector<serve::HttpRequest> requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
  }

  static serve::HttpResponse json(int status, const Json& body) {
    serve::HttpResponse response;
    response.status = status;
    response.body = dump_line(body);
    return response;
  }
  static serve::HttpResponse error(int status, const std::string& code,
                                   const std::string& message) {
    return json(status, {{"error", {{"code", code}, {"message", message}}}});
  }

 private:
  static serve::HttpOptions options() {
    serve::HttpOptions options;
    options.read_timeout = options.handling_timeout = std::chrono::seconds(60);
    options.connections.total = 20;
    options.max_body = 16 << 20;
    return options;
  }

  Answer answer_;
  mutable std::mutex mutex_;
  std::vector<serve::HttpRequest> requests_;
  serve::HttpServer http_;
};

}  // namespace assay::client
