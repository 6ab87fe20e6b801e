#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace assay::door {

/// Finds where the body of an answer ends. The trailers of a chunked one do not belong to it:
/// nobody needs them, and no header may come in by them that is not let in by the head. Pure.
class BodyEnd {
 public:
  enum class Kind { none, length, chunked, until_close };

  BodyEnd() = default;
  explicit BodyEnd(Kind kind, std::uint64_t length = 0)
      : kind_(kind),
        left_(length),
        done_(kind == Kind::none || (kind == Kind::length && length == 0)) {}

  /// How many of the bytes belong to it; what follows does not. Throws Error of kind config for
  /// chunks that are none.
  [[nodiscard]] std::size_t feed(std::string_view bytes);
  /// How many bytes belong to it whatever they are, so that nobody has to look at them: those of
  /// its length, or of the chunk that has begun. Take them off with skip().
  [[nodiscard]] std::uint64_t unseen() const noexcept;
  void skip(std::uint64_t bytes);
  [[nodiscard]] bool done() const noexcept { return done_; }
  [[nodiscard]] Kind kind() const noexcept { return kind_; }
  /// What ends it for the reader after the bytes that belong to it: no trailers follow.
  [[nodiscard]] std::string_view last_words() const noexcept {
    return kind_ == Kind::chunked ? "\r\n" : "";
  }

 private:
  enum class Chunk { size, data, data_end };
  void take_line();

  Kind kind_ = Kind::none;
  std::uint64_t left_ = 0;  // of the length, or of the chunk
  bool done_ = true;
  Chunk chunk_ = Chunk::size;
  std::string line_;
};

}  // namespace assay::door
