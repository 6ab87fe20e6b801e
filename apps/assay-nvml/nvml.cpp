#include "nvml.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "core/error.h"
#include "library.h"

namespace assay::nvml {

Nvml::Nvml() : library_(std::make_unique<Library>()) {}
Nvml::~Nvml() = default;

unsigned Nvml::count() const {
  unsigned count = 0;
  if (const Return rc = library_->get_count(&count); rc != kSuccess)
    throw Error(ErrorKind::environment,
                fmt::format("the devices cannot be counted: {}", library_->text(rc)), {},
                "nvidia-smi must work");
  return count;
}

Sample Nvml::sample(unsigned index) const {
  const Library& lib = *library_;
  Sample out;
  Device device = nullptr;
  if (const Return rc = lib.get_handle(index, &device); rc != kSuccess) {
    out.lost = rc;
    return out;
  }
  int answers = 0;
  Return first_error = kSuccess;
  // Returns true if the function exists and gave a value.
  const auto ask = [&](auto function, auto&&... arguments) {
    if (function == nullptr) return false;
    const Return rc = function(device, arguments...);
    if (rc == kSuccess || rc == kNotSupported || rc == kNoPermission) ++answers;
    if (rc == kGpuIsLost || (rc != kSuccess && first_error == kSuccess)) first_error = rc;
    return rc == kSuccess;
  };
  Utilization utilization{};
  if (ask(lib.utilization, &utilization)) out.util = utilization.gpu / 100.0;
  // The second version separates the programs' memory from what the driver reserves.
  MemoryV2 memory_v2{};
  memory_v2.version = kMemoryV2;
  Memory memory{};
  if (lib.memory_v2 != nullptr && lib.memory_v2(device, &memory_v2) == kSuccess) {
    ++answers;
    out.mem_used_bytes = memory_v2.used;
    out.mem_total_bytes = memory_v2.total;
  } else if (ask(lib.memory, &memory)) {
    out.mem_used_bytes = memory.used;
    out.mem_total_bytes = memory.total;
  }
  unsigned number = 0;
  unsigned long long wide = 0;
  if (ask(lib.power, &number)) out.power_w = number / 1e3;
  if (ask(lib.energy, &wide)) out.energy_j = static_cast<double>(wide) / 1e3;
  if (ask(lib.temperature, kTemperatureGpu, &number)) out.temp_c = number;
  if (ask(lib.clock, kClockSm, &number)) out.clock_mhz = number;
  if (ask(lib.clock, kClockMem, &number)) out.mem_clock_mhz = number;
  if (ask(lib.reasons, &wide)) out.throttle_reasons = wide;
  if (ask(lib.ecc, kUncorrected, kVolatile, &wide)) out.ecc_errors = wide;
  if (ask(lib.power_limit, &number)) out.power_limit_w = number / 1e3;
  if (ask(lib.max_clock, kClockSm, &number)) out.clock_max_mhz = number;
  if (answers == 0 || first_error == kGpuIsLost)
    out.lost = first_error == kSuccess ? kNotSupported : first_error;
  return out;
}

std::vector<unsigned> Nvml::processes(unsigned index) const {
  std::array<Process, 64> found{};
  auto count = static_cast<unsigned>(found.size());
  Device device = nullptr;
  const Library& lib = *library_;
  if (lib.processes == nullptr || lib.get_handle(index, &device) != kSuccess ||
      lib.processes(device, &count, found.data()) != kSuccess)
    return {};
  std::vector<unsigned> out;
  for (std::size_t i = 0; i < std::min<std::size_t>(count, found.size()); ++i)
    out.push_back(found[i].pid);
  return out;
}

DeviceInfo Nvml::info(unsigned index) const {
  const Library& lib = *library_;
  DeviceInfo out;
  out.index = index;
  Device device = nullptr;
  if (lib.get_handle(index, &device) != kSuccess) return out;
  std::array<char, 128> text{};
  const auto size = static_cast<unsigned>(text.size() - 1);
  if (lib.name != nullptr && lib.name(device, text.data(), size) == kSuccess)
    out.name = text.data();
  text.fill('\0');
  if (lib.uuid != nullptr && lib.uuid(device, text.data(), size) == kSuccess)
    out.uuid = text.data();
  Memory memory{};
  if (lib.memory != nullptr && lib.memory(device, &memory) == kSuccess)
    out.memory_bytes = memory.total;
  return out;
}

std::string Nvml::driver_version() const {
  std::array<char, 128> text{};
  if (library_->driver_version == nullptr ||
      library_->driver_version(text.data(), static_cast<unsigned>(text.size() - 1)) != kSuccess)
    return {};
  return text.data();
}

}  // namespace assay::nvml
