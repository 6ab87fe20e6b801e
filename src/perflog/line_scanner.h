#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "perflog/event.h"
#include "perflog/shape_cache.h"

namespace assay::perflog::detail {

/// Storage for the few keys that do not appear verbatim in the line; views stay valid until
/// clear(). Bounded.
class KeyArena {
 public:
  void clear() noexcept;
  /// Room for `size` characters, or nullptr when the bound is reached.
  [[nodiscard]] char* allocate(std::size_t size);

 private:
  static constexpr std::size_t kBlock = 4096;
  static constexpr std::size_t kMaxBlocks = 256;
  std::vector<std::unique_ptr<char[]>> blocks_;
  std::size_t block_ = 0;
  std::size_t used_ = 0;
};

/// Reads one JSON object in a single pass, recursing only through an event's three levels; deeper
/// containers are checked and skipped, up to kMaxDepth.
class LineScanner {
 public:
  static constexpr std::size_t kMaxDepth = 1024;

  /// `at` follows the token. There must be a '
  /// ' at or after `at` and before `limit`; nothing from `limit` on is read. Returns the end of the
  /// object, or nullptr if it is not complete before the newline. Fills `event` except for `line`;
  /// valid until the next call.
  const char* scan(const char* at, const char* limit, Event& event);

  /// The same without the cache of line shapes; slower.
  const char* scan_fresh(const char* at, const char* limit, Event& event);

 private:
  struct Text {
    std::string_view raw;
    bool escaped = false;
  };

  bool object(Place place, std::string_view outer);
  bool member(Place place, std::string_view outer, std::string_view key);
  bool string(Text& out);
  bool skip_container();
  bool skip_scalar();
  void skip_spaces() noexcept;
  bool number(Place place, std::string_view outer, std::string_view key);
  void add(Place place, std::string_view outer, std::string_view key, Field::Type type,
           double number, std::string_view text);
  void restore_nonfinite();
  std::string_view unescape(std::string_view raw);

  const char* p_ = nullptr;
  const char* limit_ = nullptr;
  Event* event_ = nullptr;
  std::vector<Field> fields_;
  std::size_t count_ = 0;
  std::size_t value_begin_ = 0;
  const char* nonfinite_ = nullptr;
  const char* begin_ = nullptr;
  Stamps stamps_;
  std::vector<Slot> slots_;
  KeyArena arena_;
  ShapeCache shapes_;
};

}  // namespace assay::perflog::detail
