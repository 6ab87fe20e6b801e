#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

namespace assay::perflog {

/// Where a key is in an event.
enum class Place : std::uint8_t { top, value, metadata, nested };

/// What a key is for, besides being a field. When several mean the same, the later one here is
/// preferred.
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

namespace detail {

inline constexpr std::size_t kMaxKeyLength = 15;

// The roles by place and length: what is left to compare is two keys or none, on the way of every
// key of a line.
struct RoleIndex {
  std::array<KeyRole, kRoles.size()> roles = kRoles;
  std::array<std::array<std::uint8_t, kMaxKeyLength + 2>, 4> first{};  ///< [place][length]

  constexpr RoleIndex() {
    const auto slot = [](const KeyRole& known) {
      return static_cast<std::size_t>(known.place) * (kMaxKeyLength + 1) + known.key.size();
    };
    std::ranges::sort(roles, {}, slot);
    for (std::size_t place = 0; place < first.size(); ++place)
      for (std::size_t length = 0; length < kMaxKeyLength + 2; ++length)
        first[place][length] =
            static_cast<std::uint8_t>(std::ranges::count_if(roles, [&](const KeyRole& known) {
              return slot(known) < place * (kMaxKeyLength + 1) + length;
            }));
  }
};
inline constexpr RoleIndex kRoleIndex;

}  // namespace detail

[[nodiscard]] constexpr Role role_of(Place place, std::string_view key) noexcept {
  if (key.size() > detail::kMaxKeyLength) return Role::none;
  const auto& first = detail::kRoleIndex.first[static_cast<std::size_t>(place)];
  for (std::size_t i = first[key.size()]; i < first[key.size() + 1]; ++i)
    if (detail::kRoleIndex.roles[i].key == key) return detail::kRoleIndex.roles[i].role;
  return Role::none;
}
static_assert(std::ranges::all_of(kRoles, [](const KeyRole& known) {
  return role_of(known.place, known.key) == known.role;
}));

[[nodiscard]] constexpr bool is_step(Role role) noexcept {
  return role >= Role::global_step && role <= Role::top_step;
}

}  // namespace assay::perflog
