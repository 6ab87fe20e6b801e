#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace assay::perflog {

/// The place of a key in an event.
enum class Place : std::uint8_t { top, value, metadata, nested };

/// A key's purpose besides being a field. Later entries are preferred to earlier ones with the same
/// meaning.
enum class Role : std::uint8_t {
  none,
  event,
  value,
  mono,
  top_time,
  metadata_time,
  global_step,
  global_steps,
  value_step,
  top_step,
  top_loss,
  value_loss,
  global_samples,
  samples,
  trial,
  accuracy,  ///< of EVALUATE, by a part of its name
};

struct KeyRole {
  Place place;
  std::string_view key;
  Role role;
};

/// The vocabulary of both readers, Parser and ProgressScanner.
inline constexpr std::array kRoles{
    KeyRole{Place::top, "event", Role::event},
    KeyRole{Place::top, "value", Role::value},
    KeyRole{Place::top, "mono_us", Role::mono},
    KeyRole{Place::metadata, "mono_us", Role::mono},
    KeyRole{Place::top, "time_ms", Role::top_time},
    KeyRole{Place::metadata, "time_ms", Role::metadata_time},
    KeyRole{Place::top, "global_step", Role::global_step},
    KeyRole{Place::value, "global_step", Role::global_step},
    KeyRole{Place::top, "global_steps", Role::global_steps},
    KeyRole{Place::value, "global_steps", Role::global_steps},
    KeyRole{Place::value, "step", Role::value_step},
    KeyRole{Place::top, "step", Role::top_step},
    KeyRole{Place::top, "loss", Role::top_loss},
    KeyRole{Place::value, "loss", Role::value_loss},
    KeyRole{Place::value, "global_samples", Role::global_samples},
    KeyRole{Place::value, "samples", Role::samples},
    KeyRole{Place::top, "trial", Role::trial},
};

/// The role of `key`, found by comparing with keys of known length because every key of a line
/// passes through here.
template <Place place, std::size_t first = 0>
[[nodiscard]] constexpr Role role_of(std::string_view key) noexcept {
  if constexpr (first == kRoles.size()) {
    return Role::none;
  } else {
    constexpr std::string_view known = kRoles[first].key;
    if constexpr (kRoles[first].place == place)
      if (key.size() == known.size() &&
          std::char_traits<char>::compare(key.data(), known.data(), known.size()) == 0)
        return kRoles[first].role;
    return role_of<place, first + 1>(key);
  }
}

[[nodiscard]] constexpr Role role_of(Place place, std::string_view key) noexcept {
  switch (place) {
    case Place::top:
      return role_of<Place::top>(key);
    case Place::value:
      return role_of<Place::value>(key);
    case Place::metadata:
      return role_of<Place::metadata>(key);
    case Place::nested:
      break;
  }
  return Role::none;
}
static_assert(std::ranges::all_of(kRoles, [](const KeyRole& known) {
  return role_of(known.place, known.key) == known.role;
}));

[[nodiscard]] constexpr bool is_step(Role role) noexcept {
  return role >= Role::global_step && role <= Role::top_step;
}

}  // namespace assay::perflog
