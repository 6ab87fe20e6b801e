#include "door/websocket.h"

#include <array>
#include <cstdint>

#include <openssl/evp.h>
#include <openssl/sha.h>

#include "core/error.h"

namespace assay::door {

namespace {

// From RFC 6455.
constexpr std::string_view kWebSocketGuid = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

Error bad_frame(const char* why) {
  return {ErrorKind::config, why};
}

bool is_known(unsigned kind) {
  return kind <= 2 || (kind >= 8 && kind <= 10);
}

}  // namespace

std::string websocket_accept(std::string_view key) {
  const std::string text = std::string(key).append(kWebSocketGuid);
  std::array<unsigned char, SHA_DIGEST_LENGTH> digest{};
  ::SHA1(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  std::array<unsigned char, 4 * ((SHA_DIGEST_LENGTH + 2) / 3) + 1> out{};
  const int size = ::EVP_EncodeBlock(out.data(), digest.data(), static_cast<int>(digest.size()));
  return {reinterpret_cast<const char*>(out.data()), static_cast<std::size_t>(size)};
}

std::string websocket_bytes(WebSocketKind kind, std::string_view content) {
  std::string out;
  out += static_cast<char>(0x80U | static_cast<unsigned>(kind));
  const std::uint64_t size = content.size();
  int bytes = 0;
  if (size < 126) {
    out += static_cast<char>(size);
  } else {
    bytes = size < 65536 ? 2 : 8;
    out += static_cast<char>(bytes == 2 ? 126 : 127);
  }
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8)
    out += static_cast<char>((size >> static_cast<unsigned>(shift)) & 0xFFU);
  return out.append(content);
}

std::optional<WebSocketFrame> WebSocketReader::next() {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(bytes_[i]); };
  if (bytes_.size() < 2) return std::nullopt;
  const unsigned kind = byte(0) & 0x0FU;
  if ((byte(0) & 0x70U) != 0 || !is_known(kind)) throw bad_frame("a frame of no known kind");
  if ((byte(1) & 0x80U) == 0) throw bad_frame("a frame without a mask");
  std::uint64_t size = byte(1) & 0x7FU;
  std::size_t head = 2;
  if (size >= 126) {
    const std::size_t more = size == 126 ? 2 : 8;
    if (bytes_.size() < head + more) return std::nullopt;
    size = 0;
    for (std::size_t i = 0; i < more; ++i) size = (size << 8U) | byte(head + i);
    head += more;
  }
  if (size > kMaxWebSocketFrame || (kind >= 8 && size > 125))
    throw bad_frame("a frame is too long");
  if (bytes_.size() < head + 4 + size) return std::nullopt;
  WebSocketFrame out{static_cast<WebSocketKind>(kind), (byte(0) & 0x80U) != 0,
                     bytes_.substr(head + 4, size)};
  for (std::size_t i = 0; i < out.content.size(); ++i)
    out.content[i] = static_cast<char>(out.content[i] ^ bytes_[head + i % 4]);
  bytes_.erase(0, head + 4 + size);
  return out;
}

}  // namespace assay::door
