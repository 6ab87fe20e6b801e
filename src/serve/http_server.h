#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "serve/connection_table.h"
#include "serve/request_head.h"

namespace assay::serve {

struct HttpRequest {
  std::string method;
  std::string path;   ///< as it came, encoded, without the query
  std::string query;  ///< as it came, without "?"
  std::map<std::string, std::string>
      headers;  ///< names in lower case; repeated ones joined by ", "
  std::string body;
  std::string address;                  ///< of the peer, without port
  std::string route;                    ///< which one of HttpOptions::routes fits the path, or ""
  std::vector<std::string> parameters;  ///< what the route's groups match, decoded
  HeadFault fault{};  ///< what is wrong with its head; its connection is closed after the answer

  [[nodiscard]] std::string header(const std::string& lower_name) const;  ///< or ""
};

struct HttpResponse {
  int status = 200;
  std::string type = "application/json";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;
};

struct HttpOptions {
  std::string address = "127.0.0.1";  ///< numeric
  std::uint16_t port = 0;             ///< 0: a free one
  std::filesystem::path certificate;  ///< PEM, with its chain; empty: no TLS
  std::filesystem::path key;
  std::chrono::milliseconds read_timeout{};      ///< for a whole request, and for a TLS handshake
  std::chrono::milliseconds handling_timeout{};  ///< until it is answered
  ConnectionLimits connections{};
  std::uint64_t max_body = 0;  ///< a larger one closes the connection
  /// Patterns of RESTinio's express router, with unnamed groups: "/tests/([^/]+)". The first that
  /// fits the path counts, whatever the method.
  std::vector<std::string> routes;
};

/// HTTP/1.1 on RESTinio, the only place that knows it. A peer that does not send HTTP, sends
/// too much or is too slow gets its connection closed; all else comes to the handler.
class HttpServer {
 public:
  using Respond = std::function<void(HttpResponse)>;  ///< once, from any thread
  /// Called in the server's own thread; must not block.
  using Handler = std::function<void(HttpRequest, Respond)>;

  /// Listens, and answers after start(). Throws Error of kind environment when that is not
  /// possible, or when certificate and key cannot be used.
  HttpServer(const HttpOptions& options, Handler handler);
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  /// Closes the connections that are still open.
  ~HttpServer();

  /// Starts its thread. Separate from the constructor, so that the handler may refer to this
  /// object.
  void start();
  [[nodiscard]] std::uint16_t port() const;
  /// Takes no more connections; those that are there stay.
  void close();
  /// Ends the server's thread: no handler is called any more, and no answer leaves.
  void stop();
  /// Requests whose answer has not been sent.
  [[nodiscard]] std::size_t unanswered() const;
  /// Calls `task` in the server's thread, unless the server is gone by then.
  void call_after(std::chrono::milliseconds delay, std::function<void()> task);

 private:
  struct Engine;
  template <class Traits>
  struct EngineOf;
  std::unique_ptr<Engine> engine_;
};

}  // namespace assay::serve
