// A stand-in for libnvidia-ml.so.1, driven by the text file that FAKE_NVML_SCRIPT names:
//
//   devices 2                     number of devices (default 1)
//   driver 550.54.14
//   1 power 57120 57130 57140     values of device 1 per call; the last one stays
//   * util 35                     for all devices
//   * energy error 3              this call returns NVML's error code 3
//   1 handle error 15             getting device 1's handle fails
//   init error 9                  nvmlInit_v2 fails (9: driver not loaded)
//   hang init                     nvmlInit_v2 never returns
//   hang 25                       the 25th query of a value (all devices together) never returns
//   exit 25                       the process exits with status 1 at the 25th query
//   garbage 25                    from the 25th query on, text is written to stdout instead
//   * memory_v2 error 3           what the first version of the memory query gives is used
//   0 pids 12 34                  processes that compute on device 0
//   0 nvlinks 18                  device 0 has 18 links (default 0: not supported)
//   0 nvlinks_active 16           of which the first 16 are active (default: all)
//   process 12 /usr/bin/python3   name of a process
//
// FAKE_NVML_OLD: as a library of before 2018, without the functions for the state of a device.
// Values are NVML's units: util %, used and total bytes, power mW, energy mJ, temp C, sm and mem
// MHz, reasons as a bit mask (0x…), ecc a count, limit mW, max_sm MHz;
// for the state see the names at the end. Lines that begin with # are
// comments.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

namespace {

constexpr int kSuccess = 0;
constexpr int kUninitialized = 1;
constexpr int kInvalidArgument = 2;
constexpr int kAnyDevice = -1;

struct Values {
  int error = kSuccess;
  std::vector<std::uint64_t> values;
  std::size_t next = 0;
};

struct Script {
  unsigned devices = 1;
  std::string driver = "550.54.14";
  int init_error = kSuccess;
  bool hang_init = false;
  std::uint64_t hang_at = 0;
  std::uint64_t exit_at = 0;
  std::uint64_t garbage_at = 0;
  std::map<std::pair<int, std::string>, Values> values;
  std::map<unsigned, std::string> processes;
};

struct State {
  bool started = false;
  std::uint64_t queries = 0;
  Script script;
};

// The library's one state, as in the real one: its functions have no context argument.
State& state() {
  static State instance;
  return instance;
}

Script read_script() {
  Script script;
  const char* path = std::getenv("FAKE_NVML_SCRIPT");
  std::ifstream file(path == nullptr ? "" : path);
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string first;
    std::string second;
    words >> first >> second;
    if (first.empty() || first[0] == '#') continue;
    if (first == "devices") {
      script.devices = static_cast<unsigned>(std::stoul(second));
    } else if (first == "driver") {
      script.driver = second;
    } else if (first == "process") {
      words >> script.processes[static_cast<unsigned>(std::stoul(second))];
    } else if (first == "init") {
      words >> script.init_error;
    } else if (first == "hang" && second == "init") {
      script.hang_init = true;
    } else if (first == "hang") {
      script.hang_at = std::stoull(second);
    } else if (first == "exit") {
      script.exit_at = std::stoull(second);
    } else if (first == "garbage") {
      script.garbage_at = std::stoull(second);
    } else {
      Values& values = script.values[{first == "*" ? kAnyDevice : std::stoi(first), second}];
      std::string word;
      while (words >> word) {
        if (word == "error")
          words >> values.error;
        else
          values.values.push_back(std::stoull(word, nullptr, 0));
      }
    }
  }
  return script;
}

[[noreturn]] void hang() {
  for (;;) ::pause();
}

// Handles are 1 + index.
int index_of(void* device) {
  return static_cast<int>(reinterpret_cast<std::uintptr_t>(device)) - 1;
}

Values* find(int device, const std::string& name) {
  auto& values = state().script.values;
  auto place = values.find({device, name});
  if (place == values.end()) place = values.find({kAnyDevice, name});
  return place == values.end() ? nullptr : &place->second;
}

int query(void* device, const std::string& name, std::uint64_t fallback, std::uint64_t& out) {
  State& s = state();
  if (!s.started) return kUninitialized;
  ++s.queries;
  if (s.script.hang_at != 0 && s.queries >= s.script.hang_at) hang();
  if (s.script.exit_at != 0 && s.queries >= s.script.exit_at) ::_exit(1);
  if (s.script.garbage_at != 0 && s.queries >= s.script.garbage_at) {
    static constexpr char kText[] = "Xid 79 \x01\xff{[,,, NaN\n";
    if (::write(STDOUT_FILENO, kText, sizeof kText - 1) < 0) ::_exit(0);
  }
  out = fallback;
  Values* values = find(index_of(device), name);
  if (values == nullptr) return kSuccess;
  if (values->error != kSuccess) return values->error;
  if (!values->values.empty()) {
    out = values->values[std::min(values->next, values->values.size() - 1)];
    // A line for all devices advances when the last device has asked.
    if (find(index_of(device), name) != find(kAnyDevice, name) ||
        index_of(device) + 1 == static_cast<int>(s.script.devices))
      ++values->next;
  }
  return kSuccess;
}

template <class T>
int query_into(void* device, const char* name, std::uint64_t fallback, T* out) {
  std::uint64_t value = 0;
  const int rc = query(device, name, fallback, value);
  if (rc == kSuccess) *out = static_cast<T>(value);
  return rc;
}

int copy_text(const std::string& text, char* out, unsigned size) {
  if (text.size() + 1 > size) return kInvalidArgument;
  std::memcpy(out, text.c_str(), text.size() + 1);
  return kSuccess;
}

struct Utilization {
  unsigned gpu;
  unsigned memory;
};
struct Memory {
  unsigned long long total, free, used;
};
struct MemoryV2 {
  unsigned version;
  unsigned long long total, reserved, free, used;
};
struct Process {
  unsigned pid;
  unsigned long long used_memory;
};

constexpr int kNotSupported = 3;
constexpr int kNotFound = 6;
constexpr int kInsufficientSize = 7;
constexpr std::uint64_t kTotal = 40536ULL << 20;
constexpr std::uint64_t kUsed = 15ULL << 20;

}  // namespace

extern "C" {

int nvmlInit_v2() {
  state().script = read_script();
  if (state().script.hang_init) hang();
  if (state().script.init_error != kSuccess) return state().script.init_error;
  state().started = true;
  return kSuccess;
}

int nvmlShutdown() {
  state().started = false;
  return kSuccess;
}

const char* nvmlErrorString(int rc) {
  return rc == 9 ? "Driver Not Loaded" : "Some Error";
}

int nvmlSystemGetDriverVersion(char* out, unsigned size) {
  return copy_text(state().script.driver, out, size);
}

int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = state().script.devices;
  return state().started ? kSuccess : kUninitialized;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  if (index >= state().script.devices) return kInvalidArgument;
  if (const Values* values = find(static_cast<int>(index), "handle"); values != nullptr)
    return values->error;
  *device = reinterpret_cast<void*>(static_cast<std::uintptr_t>(index) + 1);
  return kSuccess;
}

int nvmlDeviceGetName(void*, char* out, unsigned size) {
  return copy_text("Fake A100-SXM4-40GB", out, size);
}

int nvmlDeviceGetUUID(void* device, char* out, unsigned size) {
  return copy_text("GPU-00000000-0000-0000-0000-00000000000" + std::to_string(index_of(device)),
                   out, size);
}

int nvmlDeviceGetUtilizationRates(void* device, Utilization* out) {
  out->memory = 0;
  return query_into(device, "util", 0, &out->gpu);
}

int nvmlDeviceGetMemoryInfo(void* device, Memory* out) {
  const int rc = query_into(device, "total", kTotal, &out->total);
  if (rc != kSuccess) return rc;
  return query_into(device, "used", kUsed, &out->used);
}

int nvmlDeviceGetMemoryInfo_v2(void* device, MemoryV2* out) {
  if (out->version != (sizeof(MemoryV2) | (2U << 24))) return kInvalidArgument;
  if (const Values* values = find(index_of(device), "memory_v2"); values != nullptr)
    return values->error;
  const int rc = query_into(device, "total", kTotal, &out->total);
  if (rc != kSuccess) return rc;
  return query_into(device, "used", kUsed, &out->used);
}

int nvmlDeviceGetComputeRunningProcesses(void* device, unsigned* count, Process* out) {
  const Values* values = find(index_of(device), "pids");
  const std::size_t found = values == nullptr ? 0 : values->values.size();
  if (found > *count) return kInsufficientSize;
  for (std::size_t i = 0; i < found; ++i) out[i] = {static_cast<unsigned>(values->values[i]), 0};
  *count = static_cast<unsigned>(found);
  return kSuccess;
}

int nvmlDeviceGetPowerUsage(void* device, unsigned* out) {
  return query_into(device, "power", 57000, out);
}

int nvmlDeviceGetTotalEnergyConsumption(void* device, unsigned long long* out) {
  return query_into(device, "energy", 1000, out);
}

int nvmlDeviceGetTemperature(void* device, unsigned sensor, unsigned* out) {
  return sensor != 0 ? kInvalidArgument : query_into(device, "temp", 31, out);
}

int nvmlDeviceGetClockInfo(void* device, unsigned type, unsigned* out) {
  if (type != 1 && type != 2) return kInvalidArgument;
  return query_into(device, type == 1 ? "sm" : "mem", type == 1 ? 1410 : 1215, out);
}

int nvmlDeviceGetCurrentClocksThrottleReasons(void* device, unsigned long long* out) {
  return query_into(device, "reasons", 1, out);
}

int nvmlDeviceGetEnforcedPowerLimit(void* device, unsigned* out) {
  return query_into(device, "limit", 400000, out);
}

int nvmlDeviceGetMaxClockInfo(void* device, unsigned type, unsigned* out) {
  return type != 1 ? kInvalidArgument : query_into(device, "max_sm", 1410, out);
}

int nvmlDeviceGetTotalEccErrors(void* device, unsigned type, unsigned counter,
                                unsigned long long* out) {
  if (type > 1 || counter > 1) return kInvalidArgument;
  const char* name = type == 1 ? (counter == 0 ? "ecc" : "ecc_ever")
                               : (counter == 0 ? "corrected" : "corrected_ever");
  return query_into(device, name, 0, out);
}

#ifndef FAKE_NVML_OLD

int nvmlSystemGetNVMLVersion(char* out, unsigned size) {
  return copy_text("12." + state().script.driver, out, size);
}

int nvmlSystemGetCudaDriverVersion_v2(int* out) {
  *out = 12040;
  return kSuccess;
}

int nvmlSystemGetProcessName(unsigned pid, char* out, unsigned size) {
  const auto found = state().script.processes.find(pid);
  return found == state().script.processes.end() ? kNotFound : copy_text(found->second, out, size);
}

int nvmlDeviceGetVbiosVersion(void*, char* out, unsigned size) {
  return copy_text("96.00.A5.00.01", out, size);
}

int nvmlDeviceGetPersistenceMode(void* device, unsigned* out) {
  return query_into(device, "persistence", 1, out);
}

int nvmlDeviceGetComputeMode(void* device, unsigned* out) {
  return query_into(device, "compute_mode", 0, out);
}

int nvmlDeviceGetEccMode(void* device, unsigned* now, unsigned* pending) {
  const int rc = query_into(device, "ecc_mode", 1, now);
  return rc != kSuccess ? rc : query_into(device, "ecc_mode_pending", *now, pending);
}

int nvmlDeviceGetRemappedRows(void* device, unsigned* corrected, unsigned* uncorrected,
                              unsigned* pending, unsigned* failed) {
  const int rc = query_into(device, "rows_corrected", 0, corrected);
  if (rc != kSuccess) return rc;
  if (query_into(device, "rows_uncorrected", 0, uncorrected) != kSuccess) return kNotSupported;
  if (query_into(device, "rows_pending", 0, pending) != kSuccess) return kNotSupported;
  return query_into(device, "rows_failed", 0, failed);
}

int nvmlDeviceGetCurrPcieLinkGeneration(void* device, unsigned* out) {
  return query_into(device, "pcie_generation", 4, out);
}

int nvmlDeviceGetMaxPcieLinkGeneration(void* device, unsigned* out) {
  return query_into(device, "pcie_generation_max", 4, out);
}

int nvmlDeviceGetCurrPcieLinkWidth(void* device, unsigned* out) {
  return query_into(device, "pcie_width", 16, out);
}

int nvmlDeviceGetMaxPcieLinkWidth(void* device, unsigned* out) {
  return query_into(device, "pcie_width_max", 16, out);
}

int nvmlDeviceGetNvLinkState(void* device, unsigned link, unsigned* active) {
  unsigned links = 0;
  if (const int rc = query_into(device, "nvlinks", 0, &links); rc != kSuccess) return rc;
  if (link >= links) return links == 0 ? kNotSupported : kInvalidArgument;
  unsigned up = 0;
  const int rc = query_into(device, "nvlinks_active", links, &up);
  *active = link < up ? 1 : 0;
  return rc;
}

int nvmlDeviceGetApplicationsClock(void* device, unsigned type, unsigned* out) {
  return type != 0 ? kInvalidArgument : query_into(device, "app_clock", 1410, out);
}

int nvmlDeviceGetDefaultApplicationsClock(void* device, unsigned type, unsigned* out) {
  return type != 0 ? kInvalidArgument : query_into(device, "default_clock", 1410, out);
}

int nvmlDeviceGetMigMode(void* device, unsigned* now, unsigned* pending) {
  const int rc = query_into(device, "mig", 0, now);
  return rc != kSuccess ? rc : query_into(device, "mig_pending", *now, pending);
}

int nvmlDeviceGetPowerManagementDefaultLimit(void* device, unsigned* out) {
  return query_into(device, "limit_default", 400000, out);
}

int nvmlDeviceGetTemperatureThreshold(void* device, unsigned type, unsigned* out) {
  return type != 1 ? kInvalidArgument : query_into(device, "slowdown", 89, out);
}

int nvmlDeviceGetPerformanceState(void* device, unsigned* out) {
  return query_into(device, "pstate", 0, out);
}

#endif

}  // extern "C"
