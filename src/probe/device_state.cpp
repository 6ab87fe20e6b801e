#include "probe/device_state.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/error.h"
#include "core/text.h"
#include "core/units.h"

namespace assay::probe {

namespace {

constexpr std::size_t kMaxDevices = 4096;

const DeviceState* same_device(const DeviceState& device, const std::vector<DeviceState>& among) {
  const auto found = std::ranges::find_if(among, [&](const DeviceState& other) {
    return device.uuid.empty() || other.uuid.empty() ? device.index == other.index
                                                     : device.uuid == other.uuid;
  });
  return found == among.end() ? nullptr : &*found;
}

std::string shown_value(bool value) {
  return value ? "on" : "off";
}
std::string shown_value(double value) {
  return format_number(value);
}

/// Finds the changes of one device.
class Comparison {
 public:
  Comparison(const DeviceState& before, const DeviceState& after)
      : before_(before), after_(after), who_(fmt::format("device {}", before.index)) {}

  template <class T>
  void growth(std::optional<T> DeviceState::*member, std::string_view what,
              std::vector<std::string>& to) const {
    const auto& was = before_.*member;
    const auto& is = after_.*member;
    if (was && is && *is > *was)
      to.push_back(fmt::format("{}: {} more {}", who_, *is - *was, what));
  }
  void became(std::optional<bool> DeviceState::*member, std::string_view what,
              std::vector<std::string>& to) const {
    if (!(before_.*member).value_or(true) && (after_.*member).value_or(false))
      to.push_back(fmt::format("{}: {}", who_, what));
  }
  template <class T>
  void setting(std::optional<T> DeviceState::*member, std::string_view what, std::string_view unit,
               std::vector<std::string>& to) const {
    const auto& was = before_.*member;
    const auto& is = after_.*member;
    if (!was || !is || *was == *is) return;
    to.push_back(fmt::format("{}: {} {}{} before, {}{} after", who_, what, shown_value(*was), unit,
                             shown_value(*is), unit));
  }
  void fall(std::optional<int> DeviceState::*member, std::string_view what,
            std::vector<std::string>& to) const {
    const auto& was = before_.*member;
    const auto& is = after_.*member;
    if (was && is && *is < *was)
      to.push_back(fmt::format("{}: {} {} before, {} after", who_, what, *was, *is));
  }

 private:
  const DeviceState& before_;
  const DeviceState& after_;
  std::string who_;
};

}  // namespace

DeviceStates device_states_from_text(const std::string& text) {
  DeviceStates states;
  try {
    states = fields_from_json<DeviceStates>(parse_json(text, "the state of the devices"),
                                            "the state of the devices");
  } catch (const Error& error) {
    return {printable(error.what())};
  }
  if (states.problem.empty() && states.devices.empty()) return {"no device was named"};
  if (states.devices.size() > kMaxDevices)
    return {fmt::format("{} devices are more than there can be", states.devices.size())};
  return states;
}

DeviceChanges compare_device_states(const DeviceStates& before, const DeviceStates& after) {
  DeviceChanges out;
  if (!before.problem.empty() || !after.problem.empty()) return out;
  const auto version = [&](const std::string& was, const std::string& is, std::string_view what) {
    if (!was.empty() && !is.empty() && was != is)
      out.settings.push_back(
          fmt::format("{} {} before, {} after", what, printable(was), printable(is)));
  };
  version(before.driver, after.driver, "driver");
  version(before.library, after.library, "library");
  for (const DeviceState& device : before.devices) {
    const DeviceState* now = same_device(device, after.devices);
    if (now == nullptr || (!now->error.empty() && device.error.empty())) {
      out.errors.push_back(fmt::format(
          "device {}: {}", device.index,
          now == nullptr ? std::string("gone") : "does not answer: " + printable(now->error)));
      continue;
    }
    const Comparison compare(device, *now);
    compare.growth(&DeviceState::ecc_uncorrected, "uncorrected memory errors", out.errors);
    // Counts since a reset start again with the reset; lifetime counts do not.
    if (!device.ecc_uncorrected || !now->ecc_uncorrected ||
        *now->ecc_uncorrected < *device.ecc_uncorrected)
      compare.growth(&DeviceState::uncorrected_ever, "uncorrected memory errors", out.errors);
    compare.growth(&DeviceState::rows_uncorrected, "remapped rows", out.errors);
    compare.growth(&DeviceState::rows_corrected, "remapped rows after corrected errors",
                   out.errors);
    compare.became(&DeviceState::rows_pending, "rows wait for a reset to be remapped", out.errors);
    compare.became(&DeviceState::rows_failed, "a row could not be remapped", out.errors);
    compare.growth(&DeviceState::ecc_corrected, "corrected memory errors", out.corrected);
    compare.setting(&DeviceState::power_limit_w, "power limit", " W", out.settings);
    compare.setting(&DeviceState::clock_set_mhz, "application clock", " MHz", out.settings);
    compare.setting(&DeviceState::ecc, "ECC", "", out.settings);
    compare.setting(&DeviceState::partitioned, "MIG", "", out.settings);
    compare.setting(&DeviceState::persistence, "persistence mode", "", out.settings);
    compare.fall(&DeviceState::pcie_width, "PCIe lanes", out.links);
    compare.fall(&DeviceState::links_active, "active links to other devices", out.links);
  }
  for (const DeviceState& device : after.devices)
    if (same_device(device, before.devices) == nullptr)
      out.settings.push_back(fmt::format("device {}: was not there before", device.index));
  return out;
}

}  // namespace assay::probe
