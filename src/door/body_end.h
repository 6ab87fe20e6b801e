#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace assay::door {

/// Finds the end of an answer's body. Excludes a chunked body's trailers: nobody needs them, and no
/// header may get through that way if the head does not allow it. Pure.
class BodyEnd {
 public:
  enum class Kind { none, length, chunked, until_close };

  BodyEnd() = default;
  explicit BodyEnd(Kind kind, std::uint64_t length = 0)
      : kind_(kind),
        left_(length),
        done_(kind == Kind::none || (kind == Kind::length && length == 0)) {}

  /// How many of the bytes belong to the body; the following ones do not. Throws Error of kind
  /// config for invalid chunks.
  [[nodiscard]] std::size_t feed(std::string_view bytes);
  /// How many of the next bytes belong to the body whatever they are, so that nobody must read
  /// them: the rest of its length or of the current chunk. Account for them with skip().
  [[nodiscard]] std::uint64_t unseen() const noexcept;
  void skip(std::uint64_t bytes);
  [[nodiscard]] bool done() const noexcept { return done_; }
  [[nodiscard]] Kind kind() const noexcept { return kind_; }
  /// The bytes that end it for the reader, after its own: no trailers follow.
  [[nodiscard]] std::string_view last_words() const noexcept {
    return kind_ == Kind::chunked ? "\r\n" : "";
  }

 private:
  enum class Chunk { size, data, data_end };
  void take_line();

  Kind kind_ = Kind::none;
  std::uint64_t left_ = 0;  // of the length or the chunk
  bool done_ = true;
  Chunk chunk_ = Chunk::size;
  std::string line_;
};

}  // namespace assay::door
