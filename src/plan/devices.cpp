#include "plan/devices.h"

#include <fmt/format.h>

#include "core/text.h"

namespace assay::plan {

namespace {

constexpr const char* kOnCpu = "quick";
constexpr const char* kOnDevices = "gpu-quick";

bool usable(const DeviceSearch& search) {
  return search.problem.empty() && search.devices.count > 0;
}

std::string why_not(const DeviceSearch& search) {
  return fmt::format("{}: {}", search.devices.vendor,
                     search.problem.empty() ? "no device" : search.problem);
}

}  // namespace

std::string Devices::text() const {
  return fmt::format("{} × {}", count, name.empty() ? vendor + " device" : name);
}

const DeviceSearch* best_search(const std::vector<DeviceSearch>& searches) {
  const DeviceSearch* best = nullptr;
  for (const DeviceSearch& search : searches)
    if (usable(search) && (best == nullptr || search.devices.count > best->devices.count))
      best = &search;
  return best;
}

std::string why_none(const std::vector<DeviceSearch>& searches) {
  if (searches.empty()) return "no vendor's tool that lists devices is installed here";
  std::vector<std::string> reasons;
  for (const DeviceSearch& search : searches) reasons.push_back(why_not(search));
  return join(reasons, "; ");
}

SuiteChoice choose_suite(const std::vector<DeviceSearch>& searches) {
  SuiteChoice choice;
  const DeviceSearch* best = best_search(searches);
  if (best == nullptr) {
    choice.suite = kOnCpu;
    if (searches.empty()) {
      choice.lines.push_back(fmt::format(
          "suite {}: this machine shows no accelerator, so the CPU is measured", kOnCpu));
      return choice;
    }
    choice.lines.push_back(
        fmt::format("suite {}: the CPU alone is measured, because the devices of this machine "
                    "cannot be used",
                    kOnCpu));
    for (const DeviceSearch& search : searches)
      choice.lines.push_back("  " + why_not(search) +
                             (search.advice.empty() ? "" : " (" + search.advice + ")"));
    return choice;
  }
  choice.suite = kOnDevices;
  choice.devices = best->devices;
  choice.lines.push_back(fmt::format(
      "suite {}: this machine has {} that can be used; 'assay run {}' measures its CPU instead",
      kOnDevices, best->devices.text(), kOnCpu));
  for (const std::string& note : best->notes) choice.lines.push_back("  " + note);
  for (const DeviceSearch& other : searches)
    if (&other != best)
      choice.lines.push_back(
          "  not measured: " +
          (usable(other) ? other.devices.text() + ", of which there are fewer" : why_not(other)));
  return choice;
}

}  // namespace assay::plan
