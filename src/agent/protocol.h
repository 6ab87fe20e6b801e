#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "core/json.h"

namespace assay::agent {

inline constexpr int kProtocolVersion = 2;

/// The longest protocol line, including the newline. Slurm's srun passes lines of up to 1,022 bytes
/// whole; longer ones from several nodes arrive torn and mixed.
inline constexpr std::size_t kMaxLine = 1000;

/// The largest message accepted after reassembly.
inline constexpr std::size_t kMaxMessage = std::size_t{64} << 20;

/// The `node` of a controller's message to every agent.
inline constexpr int kAllNodes = -1;

/// Turns messages into protocol lines. A message is a JSON object, to which "node" is added (an
/// agent names itself, the controller names the addressee). A message too long for one line is cut
/// into {"node", "chunk", "part", "parts", "data"} lines.
class Encoder {
 public:
  /// The line or lines of `message` in pure ASCII, each with its newline.
  [[nodiscard]] std::string encode(int node, const Json& message);

 private:
  std::uint64_t next_chunk_ = 1;
};

/// Reassembles messages from bytes in pieces of any size. Anything that is not a protocol line (a
/// banner of ssh, a warning of srun, garbage) goes to on_noise and is otherwise ignored.
class Decoder {
 public:
  using OnMessage = std::function<void(int node, const Json& message)>;
  using OnNoise = std::function<void(std::string_view line)>;

  explicit Decoder(OnMessage on_message, OnNoise on_noise = {});
  void feed(std::string_view bytes);

 private:
  struct Assembly {
    std::uint64_t parts = 0;
    std::uint64_t next = 0;
    std::string text;
  };
  void line(std::string_view text);
  void chunk(int node, const Json& frame);
  void noise(std::string_view text) const;

  OnMessage on_message_;
  OnNoise on_noise_;
  std::string pending_;
  bool skipping_ = false;  // inside a line too long to be ours
  std::map<std::pair<int, std::uint64_t>, Assembly> assemblies_;
};

}  // namespace assay::agent
