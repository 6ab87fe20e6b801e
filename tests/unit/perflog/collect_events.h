#pragma once

#include <cmath>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "perflog/parser.h"

namespace assay::perflog {

/// An event that outlives the callback.
struct Kept {
  EventKind kind = EventKind::unknown;
  std::string name;
  std::int64_t time_ms = 0;
  std::int64_t mono_us = 0;
  std::int64_t step = 0;
  std::uint64_t line = 0;
  /// "loss=2.5", "converged=true", "other='Finish initialization'", "x=null", in order.
  std::vector<std::string> fields;

  friend bool operator==(const Kept&, const Kept&) = default;
};

inline std::string describe(const Field& field) {
  char number[40];
  switch (field.type) {
    case Field::Type::number:
      std::snprintf(number, sizeof number, "%.17g", field.number);
      return std::string(field.key) + "=" + (std::isnan(field.number) ? "nan" : number);
    case Field::Type::boolean:
      return std::string(field.key) + (field.number != 0 ? "=true" : "=false");
    case Field::Type::text:
      return std::string(field.key) + "='" + std::string(field.text) + "'";
    case Field::Type::null:
      break;
  }
  return std::string(field.key) + "=null";
}

struct Collected {
  std::vector<Kept> events;
  std::vector<std::string> text;
  ParseStats stats;
};

inline Kept keep(const Event& event) {
  Kept kept{
      event.kind, std::string(event.name), event.time_ms, event.mono_us, event.step, event.line,
      {}};
  for (const Field& field : event.fields) kept.fields.push_back(describe(field));
  return kept;
}

/// Parses `text`, fed in pieces of `piece` bytes.
inline Collected collect(std::string_view text, std::size_t piece = std::string_view::npos) {
  Collected out;
  std::string begun;  // of a line that comes in pieces
  Parser parser([&](const Event& event) { out.events.push_back(keep(event)); },
                [&](std::string_view part, std::uint64_t number, bool ends) {
                  begun += part;
                  if (!ends) return;
                  out.text.push_back(std::to_string(number) + ":" + begun);
                  begun.clear();
                });
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view part = text.substr(at, piece);
    // A copy of its own: reading beyond the piece is an error that the address sanitizer sees.
    const std::vector<char> copy(part.begin(), part.end());
    parser.feed({copy.data(), copy.size()});
    at += part.size();
  }
  parser.finish();
  out.stats = parser.stats();
  return out;
}

}  // namespace assay::perflog
