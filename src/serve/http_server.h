#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/files.h"
#include "serve/connection_table.h"
#include "serve/request_head.h"
#include "serve/tls_identity.h"

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
  bool is_old = false;                  ///< it is HTTP/1.0: its answer has no chunks
  HeadFault fault{};  ///< what is wrong with its head; its connection is closed after the answer

  [[nodiscard]] std::string header(const std::string& lower_name) const;  ///< or ""
};

/// An answer that goes on: what is written is sent as it comes. From any thread; never waits.
class HttpStream {
 public:
  virtual ~HttpStream() = default;
  /// False: nobody reads it any more. Who reads too slowly is sent the last words and let go.
  virtual bool write(std::string_view bytes) = 0;
  /// Bytes that can be written now without letting the reader go; for what is read from a file and
  /// can wait.
  [[nodiscard]] virtual std::size_t room() const = 0;
  [[nodiscard]] virtual bool gone() const = 0;
  /// What was written is sent, and the connection closed.
  virtual void end() = 0;
};
inline constexpr std::size_t kStreamBuffer = 256U << 10;

/// Makes an answer a stream. Where there are too many already, it is refused with 503.
struct HttpStreaming {
  std::function<void(const std::shared_ptr<HttpStream>&)> begin{};  ///< none: not a stream
  std::string when_idle{};   ///< sent after 15 s of silence: shows whether the peer is there
  std::string last_words{};  ///< to who reads too slowly
};

struct HttpResponse {
  int status = 200;
  std::string type = "application/json";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;
  HttpStreaming streaming{};  ///< follows the body
  /// Instead of an answer, somebody takes the connection: from now on all that is said on it, HTTP
  /// included, is theirs. Called once, in the server's thread; must not block. It is a socket that
  /// does not block; where there is TLS, one of a pair. Not called when the peer is gone.
  std::function<void(UniqueFd)> take_over{};
};

struct HttpOptions {
  std::string address = "127.0.0.1";             ///< numeric
  std::uint16_t port = 0;                        ///< 0: a free one
  std::shared_ptr<TlsIdentity> tls;              ///< with what to speak TLS; nothing: without
  std::chrono::milliseconds read_timeout{};      ///< for a whole request, not for TLS
  std::chrono::milliseconds handling_timeout{};  ///< until it is answered
  ConnectionLimits connections{};
  std::uint64_t max_body = 0;  ///< a larger one closes the connection
  /// Patterns of RESTinio's express router, with unnamed groups: "/tests/([^/]+)". The first that
  /// fits the path counts, whatever the method.
  std::vector<std::string> routes;
  /// What people give to have it listen elsewhere.
  std::string option = "--listen ADDRESS:PORT";
};

/// HTTP/1.1 on RESTinio, the only place that knows it. A peer that does not send HTTP, sends
/// too much or is too slow gets its connection closed; all else comes to the handler.
class HttpServer {
 public:
  using Respond = std::function<void(HttpResponse)>;  ///< once, from any thread
  /// Called in the server's own thread; must not block.
  using Handler = std::function<void(HttpRequest, Respond)>;

  /// Listens, and answers after start(). Throws Error of kind environment when that is not
  /// possible.
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
  /// Ends all streams; their connections close when what was written is sent.
  void end_streams();
  /// Requests whose answer has not been sent, and streams.
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
