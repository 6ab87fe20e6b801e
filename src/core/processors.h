#pragma once

#include <string_view>

namespace assay {

/// The vendor, hardware and device type of a machine without accelerators, whose processors are its
/// devices (conf/vendors/cpu.yaml).
inline constexpr const char* kProcessors = "cpu";

[[nodiscard]] constexpr bool are_processors(std::string_view devices) noexcept {
  return devices == kProcessors;
}

}  // namespace assay
