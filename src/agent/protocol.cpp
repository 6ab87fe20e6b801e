#include "agent/protocol.h"

#include <vector>

#include <fmt/format.h>

namespace assay::agent {

namespace {

// Room for a chunk line's keys and numbers: {"node":…,"chunk":…,"part":…,"parts":…,"data":""}
constexpr std::size_t kChunkOverhead = 140;
// More unfinished messages than this mean a broken or hostile peer; the oldest is dropped.
constexpr std::size_t kMaxAssemblies = 4096;

// ASCII only, so that a chunk may be cut anywhere and a byte count is a character count.
std::string ascii(const Json& value) {
  return value.dump(-1, ' ', true, Json::error_handler_t::replace);
}

std::size_t escaped_size(char c) {
  return c == '"' || c == '\\' ? 2 : 1;  // the text is itself JSON: no control characters
}

std::vector<std::string_view> cut(std::string_view text) {
  std::vector<std::string_view> pieces;
  while (!text.empty()) {
    std::size_t used = 0;
    std::size_t length = 0;
    while (length < text.size() && used + escaped_size(text[length]) <= kMaxLine - kChunkOverhead)
      used += escaped_size(text[length++]);
    pieces.push_back(text.substr(0, length));
    text.remove_prefix(length);
  }
  return pieces;
}

}  // namespace

std::string Encoder::encode(int node, const Json& message) {
  Json addressed{{"node", node}};
  addressed.update(message);
  const std::string text = ascii(addressed);
  if (text.size() + 1 <= kMaxLine) return text + "\n";

  const std::uint64_t id = next_chunk_++;
  const std::vector<std::string_view> pieces = cut(text);
  std::string lines;
  for (std::size_t part = 0; part < pieces.size(); ++part) {
    lines += ascii(Json{{"node", node},
                        {"chunk", id},
                        {"part", part},
                        {"parts", pieces.size()},
                        {"data", pieces[part]}}) +
             "\n";
  }
  return lines;
}

Decoder::Decoder(OnMessage on_message, OnNoise on_noise)
    : on_message_(std::move(on_message)), on_noise_(std::move(on_noise)) {}

void Decoder::noise(std::string_view text) const {
  if (on_noise_ && !text.empty()) on_noise_(text);
}

void Decoder::feed(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto newline = bytes.find('\n');
    const std::string_view piece = bytes.substr(0, newline);
    const bool complete = newline != std::string_view::npos;
    bytes.remove_prefix(complete ? newline + 1 : bytes.size());
    if (!skipping_ && pending_.size() + piece.size() > kMaxLine) {
      noise(pending_);
      pending_.clear();
      skipping_ = true;
    }
    if (skipping_) {
      if (complete) skipping_ = false;
      continue;
    }
    pending_ += piece;
    if (complete) {
      const std::string whole = std::move(pending_);
      pending_.clear();
      line(whole);
    }
  }
}

void Decoder::line(std::string_view text) {
  if (!text.empty() && text.back() == '\r') text.remove_suffix(1);
  const Json frame = parse_json_or_null(text);
  if (!frame.is_object() || !frame.contains("node") || !frame["node"].is_number_integer())
    return noise(text);
  const auto node = frame["node"].get<std::int64_t>();
  if (node < kAllNodes || node > 1'000'000) return noise(text);
  if (frame.contains("chunk")) return chunk(static_cast<int>(node), frame);
  if (!frame.contains("type") || !frame["type"].is_string()) return noise(text);
  on_message_(static_cast<int>(node), frame);
}

void Decoder::chunk(int node, const Json& frame) {
  for (const char* key : {"chunk", "part", "parts"})
    if (!frame.contains(key) || !frame[key].is_number_unsigned()) return noise("malformed chunk");
  if (!frame.contains("data") || !frame["data"].is_string()) return noise("malformed chunk");

  const std::pair key(node, frame["chunk"].get<std::uint64_t>());
  const auto part = frame["part"].get<std::uint64_t>();
  const auto parts = frame["parts"].get<std::uint64_t>();
  if (part == 0) {
    if (assemblies_.size() >= kMaxAssemblies) assemblies_.erase(assemblies_.begin());
    assemblies_[key] = {parts, 0, {}};
  }
  const auto found = assemblies_.find(key);
  if (found == assemblies_.end()) return noise("chunk without a beginning");
  Assembly& assembly = found->second;
  const std::string& data = frame["data"].get_ref<const std::string&>();
  if (part != assembly.next || parts != assembly.parts || part >= parts ||
      assembly.text.size() + data.size() > kMaxMessage) {
    assemblies_.erase(found);
    return noise("chunk out of order or too large");
  }
  assembly.text += data;
  if (++assembly.next < assembly.parts) return;

  const std::string text = std::move(assembly.text);
  assemblies_.erase(found);
  const Json message = parse_json_or_null(text);
  if (!message.is_object() || !message.contains("type") || !message["type"].is_string() ||
      message.value("node", Json()) != Json(node))
    return noise("chunks that are not a message");
  on_message_(node, message);
}

}  // namespace assay::agent
