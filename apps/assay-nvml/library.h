#pragma once

#include <string>

#include <dlfcn.h>

namespace assay::nvml {

// The part of NVML's public binary interface used here. Its structures are in a named namespace,
// because GCC 13 crashes on pointers to functions with types from an unnamed one if several files
// are compiled at once.
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
struct Process {  // from the first version, which every driver has
  unsigned pid;
  unsigned long long used_memory;
};

using Return = int;
using Device = void*;
inline constexpr Return kSuccess = 0;
inline constexpr Return kNotSupported = 3;
inline constexpr Return kNoPermission = 4;
inline constexpr Return kFunctionNotFound = 13;
inline constexpr Return kGpuIsLost = 15;
inline constexpr Return kResetRequired = 16;
inline constexpr Return kDeprecated = 26;
inline constexpr unsigned kTemperatureGpu = 0;
inline constexpr unsigned kClockGraphics = 0;
inline constexpr unsigned kClockSm = 1;
inline constexpr unsigned kClockMem = 2;
inline constexpr unsigned kCorrected = 0;
inline constexpr unsigned kUncorrected = 1;
inline constexpr unsigned kVolatile = 0;
inline constexpr unsigned kAggregate = 1;
inline constexpr unsigned kSlowdown = 1;
inline constexpr unsigned kProhibited = 2;
inline constexpr unsigned kMemoryV2 = sizeof(MemoryV2) | (2U << 24);

/// The library and its functions; a missing function is null.
class Library {
 public:
  /// As Nvml::Nvml.
  Library();
  ~Library();
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  [[nodiscard]] std::string text(Return rc) const;

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
  // For a device's state.
  Return (*library_version)(char*, unsigned) = nullptr;
  Return (*cuda_version)(int*) = nullptr;
  Return (*process_name)(unsigned, char*, unsigned) = nullptr;
  Return (*firmware)(Device, char*, unsigned) = nullptr;
  Return (*persistence)(Device, unsigned*) = nullptr;
  Return (*compute_mode)(Device, unsigned*) = nullptr;
  Return (*ecc_mode)(Device, unsigned*, unsigned*) = nullptr;
  Return (*remapped_rows)(Device, unsigned*, unsigned*, unsigned*, unsigned*) = nullptr;
  Return (*pcie_generation)(Device, unsigned*) = nullptr;
  Return (*pcie_generation_max)(Device, unsigned*) = nullptr;
  Return (*pcie_width)(Device, unsigned*) = nullptr;
  Return (*pcie_width_max)(Device, unsigned*) = nullptr;
  Return (*link_state)(Device, unsigned, unsigned*) = nullptr;
  Return (*application_clock)(Device, unsigned, unsigned*) = nullptr;
  Return (*default_clock)(Device, unsigned, unsigned*) = nullptr;
  Return (*mig_mode)(Device, unsigned*, unsigned*) = nullptr;
  Return (*default_power_limit)(Device, unsigned*) = nullptr;
  Return (*threshold)(Device, unsigned, unsigned*) = nullptr;
  Return (*performance_state)(Device, unsigned*) = nullptr;

 private:
  template <class Function>
  void load(Function& function, const char* symbol) {
    function = reinterpret_cast<Function>(::dlsym(handle_, symbol));
  }

  void* handle_;
  bool started_ = false;
};

}  // namespace assay::nvml
