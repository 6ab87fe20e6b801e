#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace assay::door {

// The server side of WebSockets (RFC 6455), for the terminal in the browser.

/// The Sec-WebSocket-Accept value for a Sec-WebSocket-Key value.
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

/// Extracts a browser's frames from bytes. Pure.
class WebSocketReader {
 public:
  void feed(std::string_view bytes) { bytes_ += bytes; }
  /// The next complete frame. Throws Error of kind config for anything a browser does not send: no
  /// mask, a length over kMaxWebSocketFrame, reserved bits, unknown kinds.
  [[nodiscard]] std::optional<WebSocketFrame> next();

 private:
  std::string bytes_;
};

}  // namespace assay::door
