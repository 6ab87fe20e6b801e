#include "nvml.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include <dlfcn.h>
#include <fmt/format.h>

#include "core/error.h"

namespace assay::nvml {

// The part of NVML's public binary interface that is used here. Its structures are in a namespace
// with a name: GCC 13 crashes on pointers to functions that take types of an unnamed one, where
// several files are compiled at a time.
struct Utilization {
  unsigned gpu;
  unsigned memory;
};
struct Memory {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};
struct MemoryV2 {
  unsigned version;
  unsigned long long total;
  unsigned long long reserved;
  unsigned long long free;
  unsigned long long used;
};
struct Process {  // of the first version, which every driver has
  unsigned pid;
  unsigned long long used_memory;
};

namespace {

using Return = int;
using Device = void*;
constexpr Return kSuccess = 0;
constexpr Return kNotSupported = 3;
constexpr Return kNoPermission = 4;
constexpr Return kGpuIsLost = 15;
constexpr unsigned kTemperatureGpu = 0;
constexpr unsigned kClockSm = 1;
constexpr unsigned kClockMem = 2;
constexpr unsigned kUncorrected = 1;
constexpr unsigned kVolatile = 0;
constexpr unsigned kMemoryV2 = sizeof(MemoryV2) | (2U << 24);

std::string library_path() {
  const char* path = std::getenv("ASSAY_NVML_LIBRARY");
  return path != nullptr && *path != '\0' ? path : "libnvidia-ml.so.1";
}

Error no_nvml(const std::string& what) {
  return Error(ErrorKind::environment, what, {},
               "install the NVIDIA driver, or load it (nvidia-smi must work)");
}

}  // namespace

class Nvml::Library {
 public:
  // Never unmapped: driver libraries keep threads and memory of their own.
  Library() : handle_(::dlopen(library_path().c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)) {
    if (handle_ == nullptr) {
      const char* reason = ::dlerror();
      throw no_nvml(fmt::format("cannot load {}: {}", library_path(),
                                reason == nullptr ? "unknown reason" : reason));
    }
    load(init, "nvmlInit_v2");
    load(shutdown, "nvmlShutdown");
    load(error_string, "nvmlErrorString");
    load(driver_version, "nvmlSystemGetDriverVersion");
    load(get_count, "nvmlDeviceGetCount_v2");
    load(get_handle, "nvmlDeviceGetHandleByIndex_v2");
    load(name, "nvmlDeviceGetName");
    load(uuid, "nvmlDeviceGetUUID");
    load(utilization, "nvmlDeviceGetUtilizationRates");
    load(memory, "nvmlDeviceGetMemoryInfo");
    load(memory_v2, "nvmlDeviceGetMemoryInfo_v2");
    load(power, "nvmlDeviceGetPowerUsage");
    load(energy, "nvmlDeviceGetTotalEnergyConsumption");
    load(temperature, "nvmlDeviceGetTemperature");
    load(clock, "nvmlDeviceGetClockInfo");
    // Newer drivers have it under a second name, too.
    load(reasons, "nvmlDeviceGetCurrentClocksThrottleReasons");
    if (reasons == nullptr) load(reasons, "nvmlDeviceGetCurrentClocksEventReasons");
    load(ecc, "nvmlDeviceGetTotalEccErrors");
    load(power_limit, "nvmlDeviceGetEnforcedPowerLimit");
    if (power_limit == nullptr) load(power_limit, "nvmlDeviceGetPowerManagementLimit");
    load(max_clock, "nvmlDeviceGetMaxClockInfo");
    load(processes, "nvmlDeviceGetComputeRunningProcesses");
    if (init == nullptr || get_count == nullptr || get_handle == nullptr)
      throw no_nvml(fmt::format("{} is not NVML, or too old", library_path()));
    if (const Return rc = init(); rc != kSuccess)
      throw no_nvml(fmt::format("NVML cannot be started: {}", text(rc)));
    started_ = true;
  }
  ~Library() {
    if (started_ && shutdown != nullptr) shutdown();
    if (handle_ != nullptr) ::dlclose(handle_);
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  [[nodiscard]] std::string text(Return rc) const {
    const char* message = error_string == nullptr ? nullptr : error_string(rc);
    return message == nullptr ? fmt::format("error {}", rc) : fmt::format("{} ({})", message, rc);
  }

  Return (*init)() = nullptr;
  Return (*shutdown)() = nullptr;
  const char* (*error_string)(Return) = nullptr;
  Return (*driver_version)(char*, unsigned) = nullptr;
  Return (*get_count)(unsigned*) = nullptr;
  Return (*get_handle)(unsigned, Device*) = nullptr;
  Return (*name)(Device, char*, unsigned) = nullptr;
  Return (*uuid)(Device, char*, unsigned) = nullptr;
  Return (*utilization)(Device, Utilization*) = nullptr;
  Return (*memory)(Device, Memory*) = nullptr;
  Return (*memory_v2)(Device, MemoryV2*) = nullptr;
  Return (*power)(Device, unsigned*) = nullptr;
  Return (*energy)(Device, unsigned long long*) = nullptr;
  Return (*temperature)(Device, unsigned, unsigned*) = nullptr;
  Return (*clock)(Device, unsigned, unsigned*) = nullptr;
  Return (*reasons)(Device, unsigned long long*) = nullptr;
  Return (*ecc)(Device, unsigned, unsigned, unsigned long long*) = nullptr;
  Return (*power_limit)(Device, unsigned*) = nullptr;
  Return (*max_clock)(Device, unsigned, unsigned*) = nullptr;
  Return (*processes)(Device, unsigned*, Process*) = nullptr;

 private:
  template <class Function>
  void load(Function& function, const char* symbol) {
    function = reinterpret_cast<Function>(::dlsym(handle_, symbol));
  }

  void* handle_;
  bool started_ = false;
};

Nvml::Nvml() : library_(std::make_unique<Library>()) {}
Nvml::~Nvml() = default;

unsigned Nvml::count() const {
  unsigned count = 0;
  if (const Return rc = library_->get_count(&count); rc != kSuccess)
    throw no_nvml(fmt::format("the devices cannot be counted: {}", library_->text(rc)));
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
  // True when the function exists and gave a value.
  const auto ask = [&](auto function, auto&&... arguments) {
    if (function == nullptr) return false;
    const Return rc = function(device, arguments...);
    if (rc == kSuccess || rc == kNotSupported || rc == kNoPermission) ++answers;
    if (rc == kGpuIsLost || (rc != kSuccess && first_error == kSuccess)) first_error = rc;
    return rc == kSuccess;
  };
  Utilization utilization{};
  if (ask(lib.utilization, &utilization)) out.util = utilization.gpu / 100.0;
  // The second version separates what programs use from what the driver reserves.
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
