#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "http/url.h"

namespace assay::emulator {

struct ServerRequest {
  std::string method;
  std::string path;  ///< decoded
  http::Query query;
  std::map<std::string, std::string> headers;  ///< lower-case names
  std::string body;                            ///< if kept in memory
  std::filesystem::path body_file;  ///< if spooled; removed after handle() if it still exists
  std::uint64_t body_size = 0;
  std::string body_md5;  ///< raw bytes, for a spooled body

  [[nodiscard]] std::string header(const std::string& lower_name) const;  ///< or ""
  [[nodiscard]] std::optional<std::string> parameter(std::string_view name) const;
  /// A parameter that is a whole number; `fallback` if it is missing or not a number.
  [[nodiscard]] int number(std::string_view name, int fallback) const;
};

/// Part of a file, sent as (part of) a body.
struct FileRange {
  std::filesystem::path path;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};

struct ServerResponse {
  int status = 200;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  std::vector<FileRange> files;                 ///< sent after `body`
  std::optional<std::uint64_t> content_length;  ///< for a reply to HEAD
  std::chrono::milliseconds delay{};            ///< before the first byte
  std::chrono::milliseconds drip{};             ///< and before every byte of head and `body`
  std::optional<std::uint64_t> cut_after;       ///< closes the connection after so many body bytes
  bool drop = false;                            ///< sends nothing and closes the connection
};

/// How to handle a request's body.
struct Intake {
  std::optional<ServerResponse> refusal;     ///< sent without reading the body
  std::filesystem::path spool;               ///< a file for the body; empty: keep it in memory
  std::optional<std::uint64_t> close_after;  ///< closes the connection after so many of its bytes
};

/// Called from several threads at once.
class Handler {
 public:
  virtual ~Handler() = default;
  /// Called after the head was read.
  [[nodiscard]] virtual Intake intake(const ServerRequest& head) = 0;
  [[nodiscard]] virtual ServerResponse handle(ServerRequest& request) = 0;
};

/// A small HTTP/1.1 server on Asio with keep-alive, Expect, bodies streamed to and from files in
/// bounded memory, and connections that can be broken at any byte.
class HttpServer {
 public:
  /// `handler` must outlive the server. Throws Error of kind environment if the address is in use.
  HttpServer(Handler& handler, const std::string& address, int port);
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  ~HttpServer();

  [[nodiscard]] int port() const;
  /// Serves on `threads` threads until SIGTERM or SIGINT.
  void run(int threads);
  /// The number of connections so far.
  [[nodiscard]] std::uint64_t connections() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace assay::emulator
