#include "entry/frame.h"

#include <cstdint>

#include "core/error.h"

namespace assay::entry {

namespace {

constexpr std::size_t kHead = 5;

bool is_kind(char letter) {
  return std::string_view("cizwoexf").find(letter) != std::string_view::npos;
}

}  // namespace

std::string frame_bytes(FrameKind kind, std::string_view content) {
  std::string out;
  do {
    const std::string_view piece = content.substr(0, kMaxFrame);
    content.remove_prefix(piece.size());
    const auto size = static_cast<std::uint32_t>(piece.size());
    out += static_cast<char>(kind);
    for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>((size >> shift) & 0xFFU);
    out += piece;
  } while (!content.empty());
  return out;
}

std::optional<Frame> FrameReader::next() {
  const std::string_view bytes = std::string_view(bytes_).substr(from_);
  if (bytes.empty()) return std::nullopt;
  if (!is_kind(bytes[0])) throw Error(ErrorKind::config, "not a frame");
  if (bytes.size() < kHead) return std::nullopt;
  std::size_t size = 0;
  for (std::size_t i = 1; i < kHead; ++i)
    size = (size << 8U) | static_cast<unsigned char>(bytes[i]);
  if (size > kMaxFrame) throw Error(ErrorKind::config, "a frame is too long");
  if (bytes.size() < kHead + size) return std::nullopt;
  Frame frame{static_cast<FrameKind>(bytes[0]), std::string(bytes.substr(kHead, size))};
  from_ += kHead + size;
  if (from_ == bytes_.size() || from_ > (std::size_t{1} << 20)) {
    bytes_.erase(0, from_);
    from_ = 0;
  }
  return frame;
}

}  // namespace assay::entry
