#include "library.h"

#include <cstdlib>

#include <fmt/format.h>

#include "core/error.h"

namespace assay::nvml {

namespace {

std::string library_path() {
  const char* path = std::getenv("ASSAY_NVML_LIBRARY");
  return path != nullptr && *path != '\0' ? path : "libnvidia-ml.so.1";
}

Error no_nvml(const std::string& what) {
  return Error(ErrorKind::environment, what, {},
               "install the NVIDIA driver, or load it (nvidia-smi must work)");
}

}  // namespace

// Never unmapped, because driver libraries have their own threads and memory.
Library::Library()
    : handle_(::dlopen(library_path().c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)) {
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
  // Newer drivers have it under a second name too.
  load(reasons, "nvmlDeviceGetCurrentClocksThrottleReasons");
  if (reasons == nullptr) load(reasons, "nvmlDeviceGetCurrentClocksEventReasons");
  load(ecc, "nvmlDeviceGetTotalEccErrors");
  load(power_limit, "nvmlDeviceGetEnforcedPowerLimit");
  if (power_limit == nullptr) load(power_limit, "nvmlDeviceGetPowerManagementLimit");
  load(max_clock, "nvmlDeviceGetMaxClockInfo");
  load(processes, "nvmlDeviceGetComputeRunningProcesses");
  load(library_version, "nvmlSystemGetNVMLVersion");
  load(cuda_version, "nvmlSystemGetCudaDriverVersion_v2");
  if (cuda_version == nullptr) load(cuda_version, "nvmlSystemGetCudaDriverVersion");
  load(process_name, "nvmlSystemGetProcessName");
  load(firmware, "nvmlDeviceGetVbiosVersion");
  load(persistence, "nvmlDeviceGetPersistenceMode");
  load(compute_mode, "nvmlDeviceGetComputeMode");
  load(ecc_mode, "nvmlDeviceGetEccMode");
  load(remapped_rows, "nvmlDeviceGetRemappedRows");
  load(pcie_generation, "nvmlDeviceGetCurrPcieLinkGeneration");
  load(pcie_generation_max, "nvmlDeviceGetMaxPcieLinkGeneration");
  load(pcie_width, "nvmlDeviceGetCurrPcieLinkWidth");
  load(pcie_width_max, "nvmlDeviceGetMaxPcieLinkWidth");
  load(link_state, "nvmlDeviceGetNvLinkState");
  load(application_clock, "nvmlDeviceGetApplicationsClock");
  load(default_clock, "nvmlDeviceGetDefaultApplicationsClock");
  load(mig_mode, "nvmlDeviceGetMigMode");
  load(default_power_limit, "nvmlDeviceGetPowerManagementDefaultLimit");
  load(threshold, "nvmlDeviceGetTemperatureThreshold");
  load(performance_state, "nvmlDeviceGetPerformanceState");
  if (init == nullptr || get_count == nullptr || get_handle == nullptr)
    throw no_nvml(fmt::format("{} is not NVML, or too old", library_path()));
  if (const Return rc = init(); rc != kSuccess)
    throw no_nvml(fmt::format("NVML cannot be started: {}", text(rc)));
  started_ = true;
}

Library::~Library() {
  if (started_ && shutdown != nullptr) shutdown();
  if (handle_ != nullptr) ::dlclose(handle_);
}

std::string Library::text(Return rc) const {
  const char* message = error_string == nullptr ? nullptr : error_string(rc);
  return message == nullptr ? fmt::format("error {}", rc) : fmt::format("{} ({})", message, rc);
}

}  // namespace assay::nvml
