#include "commands/suites/find_devices.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>

#include "commands/base/terminal.h"
#include "core/error.h"
#include "core/host.h"
#include "core/json_access.h"
#include "core/subprocess.h"
#include "core/text.h"
#include "core/units.h"
#include "probe/device_query.h"
#include "probe/system_info.h"

namespace assay::commands {

namespace {

using plan::DeviceSearch;

constexpr Nanoseconds kToolTimeout = std::chrono::seconds(10);
// Allows for gigabytes of libraries that are not in memory yet, and a context on every device.
constexpr Nanoseconds kTrainTimeout = std::chrono::minutes(2);

// Whether the PCI bus has an accelerator of the vendor: class 3D controller or accelerator, unlike
// graphics for a screen.
bool on_bus(const Json& accelerators, const std::string& vendor) {
  return std::ranges::any_of(accelerators, [&](const Json& device) {
    const std::string kind = text_at(device, "class");
    return text_at(device, "vendor") == vendor &&
           (kind.starts_with("0x0302") || kind.starts_with("0x12"));
  });
}

// The number of devices left by a variable such as CUDA_VISIBLE_DEVICES.
int count_visible(std::string_view value) {
  int count = 0;
  for (const std::string_view one : split(value, ',')) {
    if (trim(one).empty() || trim(one).starts_with('-')) break;  // as CUDA reads it
    ++count;
  }
  return count;
}

void name_devices(const catalog::Vendor& vendor, const Json& listed, DeviceSearch& search) {
  plan::Devices& devices = search.devices;
  devices.hardware = vendor.name;
  std::vector<std::string> names;
  for (const Json& device : listed)
    if (const std::string name = text_at(device, "name");
        !name.empty() && std::ranges::find(names, name) == names.end())
      names.push_back(name);
  if (names.empty()) return;
  devices.name = names.front();
  if (names.size() > 1)
    search.notes.push_back("the devices differ (" + join(names, ", ") +
                           "): together they are as fast as the slowest");
  if (const catalog::Hardware* type = vendor.hardware_of_device(devices.name))
    devices.hardware = type->name;
  else
    search.notes.push_back(
        fmt::format("{} has no entry for {}: its peak is not known, so there is no MFU",
                    vendor.origin, devices.name));
}

std::filesystem::path train_program() {
  return program_folder() / "assay-train";
}

CommandResult list_train_devices() {
  CommandOptions options;
  options.timeout = kTrainTimeout;
  return run_command({train_program().string(), "--devices"}, options);
}

// How it failed, as the rest of a sentence that begins with its name.
std::string failure_of(const CommandResult& result) {
  if (result.timed_out) return "did not answer within " + format_duration(kTrainTimeout);
  const std::string_view why = trim(result.err);
  return "failed: " + ellipsize(printable(why.substr(0, why.find('\n'))), 200);
}

// Finds out what assay-train can do with the devices.
void ask_train(DeviceSearch& search) {
  const auto cannot = [&](std::string problem, std::string advice) {
    search.problem = std::move(problem);
    search.advice = std::move(advice);
  };
  if (!std::filesystem::exists(train_program()))
    return cannot(fmt::format("{}, but assay-train is not built, which needs a libtorch",
                              search.devices.text()),
                  "install a PyTorch for these devices and run ./bench.sh: docs/training.md");
  const CommandResult result = list_train_devices();
  const Json said = result.ok() ? parse_json_or_null(result.out) : Json();
  if (!said.is_object() || !said.contains("devices") || !said["devices"].is_array())
    return cannot(fmt::format("{}, but assay-train {}", search.devices.text(), failure_of(result)),
                  "run 'assay-train --devices' by hand");
  if (const std::string problem = text_at(said, "problem"); !problem.empty())
    return cannot(fmt::format("{}, but {}", search.devices.text(), problem),
                  text_at(said, "advice"));
  if (said["devices"].empty())
    return cannot(fmt::format("{}, but assay-train sees no device", search.devices.text()),
                  "run 'assay-train --devices' by hand");
  search.devices.count = static_cast<int>(said["devices"].size());
  for (const Json& precision : said.value("precisions", Json::array()))
    if (precision.is_string()) search.devices.precisions.push_back(precision.get<std::string>());
}

DeviceSearch search_vendor(const catalog::Vendor& vendor, const probe::DeviceListing& listing,
                           bool built_in) {
  DeviceSearch search;
  search.devices.vendor = search.devices.hardware = vendor.name;
  search.problem = listing.problem;
  search.advice = listing.advice;
  if (!search.problem.empty()) return search;
  search.devices.count = static_cast<int>(listing.devices.size());
  name_devices(vendor, listing.devices, search);
  if (const char* visible =
          vendor.visible_devices.empty() ? nullptr : std::getenv(vendor.visible_devices.c_str())) {
    search.devices.visible = visible;
    search.devices.count = std::min(search.devices.count, count_visible(visible));
    search.notes.push_back(fmt::format("{} is {}: {} of {} are used", vendor.visible_devices,
                                       printable(visible), search.devices.count,
                                       counted(listing.devices.size(), "device")));
    if (search.devices.count == 0) {
      search.problem = fmt::format("{} hides all of {}", vendor.visible_devices,
                                   counted(listing.devices.size(), "device"));
      search.advice = "unset it, or name the devices in it";
      return search;
    }
  }
  if (built_in) ask_train(search);
  return search;
}

}  // namespace

std::vector<DeviceSearch> search_devices(const catalog::Catalog& catalog, const std::string& vendor,
                                         bool built_in) {
  std::vector<DeviceSearch> found;
  std::optional<Json> bus;
  for (const catalog::Vendor& candidate : catalog.vendors) {
    if (!candidate.query || (!vendor.empty() && candidate.name != vendor)) continue;
    probe::DeviceListing listing = probe::query_devices(
        {candidate.query->command, candidate.query->pattern, candidate.query->fields},
        kToolTimeout);
    if (!listing.installed && vendor.empty()) {
      if (!bus) bus = probe::system_info().value("accelerators", Json::array());
      if (!on_bus(*bus, candidate.name)) continue;
      listing.problem = "there is one on the PCI bus, but " + listing.problem;
      listing.advice = "install the vendor's driver and tools";
    }
    found.push_back(search_vendor(candidate, listing, built_in));
  }
  return found;
}

std::string why_no_training() {
  if (!std::filesystem::exists(train_program()))
    return "assay-train is not here (install its package, or run ./bench.sh where there is a "
           "libtorch)";
  const CommandResult result = list_train_devices();
  return result.ok() ? "" : "assay-train " + failure_of(result);
}

plan::Devices find_devices(const catalog::Catalog& catalog, const std::string& vendor,
                           bool built_in) {
  const std::vector<DeviceSearch> searches = search_devices(catalog, vendor, built_in);
  const DeviceSearch* best = plan::best_search(searches);
  if (best == nullptr) {
    std::string advice = searches.empty() || searches.front().advice.empty()
                             ? std::string()
                             : searches.front().advice + "; ";
    throw Error(ErrorKind::environment,
                "the suite needs devices, and none can be used: " + plan::why_none(searches), {},
                advice + "'assay run quick' measures the CPU");
  }
  tell_error(fmt::format("devices: {}\n", printable(best->devices.text())));
  for (const std::string& note : best->notes) tell_error(fmt::format("  {}\n", printable(note)));
  return best->devices;
}

}  // namespace assay::commands
