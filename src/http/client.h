#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/time.h"
#include "http/retry.h"
#include "http/url.h"

namespace assay::http {

using Headers = std::vector<std::pair<std::string, std::string>>;

/// A part of a file that is read while it is sent; the file must not change meanwhile.
struct FileSlice {
  std::filesystem::path path;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};

struct Request {
  std::string method = "GET";
  std::string origin;      ///< "https://host:port"
  std::string path = "/";  ///< decoded
  Query query;
  Headers headers;
  std::variant<std::string, FileSlice> body;
  /// Whether sending it twice is harmless. If unset, true for all methods but POST and PATCH. A
  /// request that may not be repeated is tried again only if it certainly had no effect: no
  /// connection, 425, 429, or 503 with Retry-After.
  std::optional<bool> repeatable;

  [[nodiscard]] std::string host() const;  ///< as in the Host header
  [[nodiscard]] bool may_repeat() const;
  void set_header(const std::string& name, std::string value);
};

struct Response {
  int status = 0;
  Headers headers;   ///< names in lower case
  std::string body;  ///< empty if a receiver took it
  /// The server's clock minus this one's, from its Date header, accurate to a few seconds.
  std::optional<Nanoseconds> clock_offset;

  [[nodiscard]] bool ok() const noexcept { return status >= 200 && status < 300; }
  [[nodiscard]] std::string header(std::string_view lower_name) const;  ///< or ""
};

/// Adds whatever every attempt needs afresh to a copy of the request: dates, tokens, signatures.
class Authorizer {
 public:
  virtual ~Authorizer() = default;
  virtual void authorize(Request& request) = 0;
  /// Called when the service refused the request. Returns whether authorize() would now succeed:
  /// the request is then sent once more, whatever its method, because a refused request had no
  /// effect.
  [[nodiscard]] virtual bool renew(const Response& /*refusal*/) { return false; }
};

/// Callbacks and control for one request; all optional.
struct Exchange {
  Authorizer* authorizer = nullptr;
  std::stop_token stop;  ///< ends the request within a second by throwing Cancelled
  /// For a stream that is meant to last: only the stall limit applies, not `min_rate`.
  bool open_ended = false;
  /// Called before every attempt, before it is authorized; may change the request (a Range for
  /// resuming).
  std::function<void(Request&)> before_attempt;
  /// Called with every piece of the body that is sent.
  std::function<void(std::string_view)> on_sent;
  /// Takes the body of a 2xx reply, piece by piece, instead of Response::body; may throw Error.
  std::function<void(const Response& head, std::string_view piece)> receive;
};

struct ClientOptions {
  Nanoseconds connect_timeout = std::chrono::seconds(10);
  Nanoseconds stall_timeout = std::chrono::seconds(60);  ///< without a byte either way; in seconds
  /// In bytes per second. An attempt may take `stall_timeout` plus the time its bytes need at this
  /// rate: a server that drips is treated like a silent one.
  std::uint64_t min_rate = 1024;
  /// Limit for a request with all its attempts and pauses, even if data keeps coming; 0: none.
  /// Checked once a second.
  Nanoseconds total_limit{};
  RetryPolicy retry;
  std::string proxy;                ///< empty: from the environment (http_proxy etc.)
  std::filesystem::path ca_file;    ///< empty: the system's
  std::size_t max_body = 64 << 20;  ///< largest reply kept in memory, in bytes
};

/// HTTP/1.1 over libcurl. Keeps connections open and reuses them; always verifies certificates and
/// host names; does not follow redirects. Thread-safe: every sending thread has its own connection.
/// Nothing that was passed to hide() appears in an Error.
class Client {
 public:
  explicit Client(ClientOptions options = {});
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  ~Client();

  /// Returns the reply, whatever its status, after the allowed retries. Throws ExchangeError if
  /// there is none, naming the host, the cause, and how often and how long it was tried. Failures
  /// on this side (a file, a callback, memory for the reply) are thrown as they are.
  [[nodiscard]] Response send(const Request& request, const Exchange& exchange = {});

  /// Hides `secret` in every Error from now on.
  void hide(const std::string& secret);
  /// `text` with every hidden secret replaced by "***", for what other layers write.
  [[nodiscard]] std::string redact(std::string text) const;

  [[nodiscard]] const ClientOptions& options() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace assay::http
