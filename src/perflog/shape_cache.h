#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "perflog/event.h"
#include "perflog/number.h"
#include "perflog/roles.h"

namespace assay::perflog::detail {

/// Stores numbers with a role in the event.
class Stamps {
 public:
  void apply(Role role, const Number& number, Event& event) noexcept;

 private:
  Role step_ = Role::none;
  Role time_ = Role::none;
};

/// A number that may differ in the next line of the same shape.
struct Slot {
  std::uint32_t begin = 0;  ///< offset in the line
  std::uint32_t end = 0;
  std::int32_t field = -1;  ///< index of its field, or none
  Role role = Role::none;
};

/// A trainer writes the same line repeatedly with different numbers. The cache keeps the newest
/// lines as text with gaps; a line that matches one of them byte for byte outside the gaps, and has
/// a number in each gap, needs no further syntax analysis. Everything else is left to the scanner,
/// so the cache affects only speed, never the result.
class ShapeCache {
 public:
  /// Same contract as LineScanner::scan; nullptr if no kept line fits. `event` is valid until the
  /// next call of either method.
  const char* replay(const char* at, const char* limit, Event& event);

  /// Keeps a line that was not in the cache: its text, its event, and its slots in order. Does
  /// nothing if the event has views outside the text.
  void record(const char* at, const char* end, const char* limit, const Event& event,
              const std::vector<Slot>& slots);

 private:
  struct Shape {
    std::string text;  // padded, so that 16 bytes can be loaded anywhere
    std::size_t size = 0;
    std::vector<Slot> slots;
    std::vector<Field> fields;
    Event event;
    int patience = 0;
  };

  [[nodiscard]] static std::size_t index(const char* at, const char* limit) noexcept;

  static constexpr std::size_t kShapes = 16;
  std::array<Shape, kShapes> shapes_;
};

}  // namespace assay::perflog::detail
