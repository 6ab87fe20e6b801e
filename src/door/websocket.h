#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace assay::door {

// The server's side of WebSockets (RFC 6455), for the terminal in the browser.

/// The value of Sec-WebSocket-Accept for that of Sec-WebSocket-Key.
[[nodiscard]] std::string websocket_accept(std::string_view key);

enum class WebSocketKind : unsigned char {
  continuation = 0,
  text = 1,
  binary = 2,
  close = 8,
  ping = 9,
  pong = 10,
};

struct WebSocketFrame {
  WebSocketKind kind = WebSocketKind::binary;
  bool last = true;
  std::string content{};
};

inline constexpr std::size_t kMaxWebSocketFrame = std::size_t{1} << 20;

[[nodiscard]] std::string websocket_bytes(WebSocketKind kind, std::string_view content);

/// Takes a browser's frames out of bytes. Pure.
class WebSocketReader {
 public:
  void feed(std::string_view bytes) { bytes_ += bytes; }
  /// The next whole one. Throws Error of kind config for what a browser does not send: no mask, a
  /// length over kMaxWebSocketFrame, reserved bits, unknown kinds.
  [[nodiscard]] std::optional<WebSocketFrame> next();

 private:
  std::string bytes_;
};

}  // namespace assay::door
