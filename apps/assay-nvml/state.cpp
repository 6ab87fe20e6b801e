#include <array>

#include <fmt/format.h>

#include "core/text.h"
#include "library.h"
#include "nvml.h"

namespace assay::nvml {

namespace {

constexpr unsigned kMaxLinks = 36;
constexpr std::size_t kMaxProcesses = 64;

std::string why(const Library& library, Return rc) {
  switch (rc) {
    case kNotSupported:
    case kDeprecated:
      return std::string(probe::kNotSupported);
    case kFunctionNotFound:
      return std::string(probe::kNotInLibrary);
    case kNoPermission:
      return "no permission";
    default:
      return library.text(rc);
  }
}

/// Queries one device; unanswered questions go to `unknown` in its state.
class Questions {
 public:
  Questions(const Library& library, Device device, probe::DeviceState& state)
      : library_(library), device_(device), state_(state) {}

  /// Returns true if there is an answer in the arguments.
  template <class Function, class... Arguments>
  bool ask(const char* key, Function function, Arguments... arguments) {
    const Return rc = function == nullptr ? kFunctionNotFound : function(device_, arguments...);
    if (rc == kSuccess) return true;
    if (rc == kGpuIsLost || rc == kResetRequired) state_.error = library_.text(rc);
    state_.unknown[key] = why(library_, rc);
    return false;
  }
  template <class T, class Function, class... Arguments>
  void number(const char* key, std::optional<T>& to, double factor, Function function,
              Arguments... arguments) {
    unsigned value = 0;
    if (ask(key, function, arguments..., &value)) to = static_cast<T>(value * factor);
  }
  template <class Function>
  void flag(const char* key, std::optional<bool>& to, Function function) {
    unsigned value = 0;
    if (ask(key, function, &value)) to = value != 0;
  }
  template <class Function>
  void text(const char* key, std::string& to, Function function) {
    std::array<char, 128> out{};
    if (ask(key, function, out.data(), static_cast<unsigned>(out.size() - 1)))
      to = printable(out.data());
  }

 private:
  const Library& library_;
  Device device_;
  probe::DeviceState& state_;
};

void ask_memory(const Library& library, Questions& questions, probe::DeviceState& state) {
  unsigned now = 0;
  unsigned pending = 0;
  if (questions.ask("ecc", library.ecc_mode, &now, &pending)) {
    state.ecc = now != 0;
    state.ecc_pending = pending != 0;
  }
  const auto errors = [&](const char* key, std::optional<std::uint64_t>& to, unsigned kind,
                          unsigned since) {
    unsigned long long count = 0;
    if (questions.ask(key, library.ecc, kind, since, &count)) to = count;
  };
  errors("ecc_corrected", state.ecc_corrected, kCorrected, kVolatile);
  errors("ecc_uncorrected", state.ecc_uncorrected, kUncorrected, kVolatile);
  errors("corrected_ever", state.corrected_ever, kCorrected, kAggregate);
  errors("uncorrected_ever", state.uncorrected_ever, kUncorrected, kAggregate);
  unsigned corrected = 0;
  unsigned uncorrected = 0;
  unsigned waiting = 0;
  unsigned failed = 0;
  if (!questions.ask("rows_failed", library.remapped_rows, &corrected, &uncorrected, &waiting,
                     &failed))
    return;
  state.rows_corrected = corrected;
  state.rows_uncorrected = uncorrected;
  state.rows_pending = waiting != 0;
  state.rows_failed = failed != 0;
}

// Links have numbers; asking shows which of them a device has.
void ask_links(const Library& library, Device device, probe::DeviceState& state) {
  int found = 0;
  int active = 0;
  Return first_error = library.link_state == nullptr ? kFunctionNotFound : kSuccess;
  for (unsigned link = 0; library.link_state != nullptr && link < kMaxLinks; ++link) {
    unsigned is_active = 0;
    const Return rc = library.link_state(device, link, &is_active);
    if (rc != kSuccess && first_error == kSuccess) first_error = rc;
    if (rc != kSuccess) continue;
    ++found;
    active += is_active != 0 ? 1 : 0;
  }
  if (found == 0) {
    state.unknown["links"] = why(library, first_error);
    return;
  }
  state.links = found;
  state.links_active = active;
}

void ask_processes(const Library& library, Questions& questions, probe::DeviceState& state) {
  std::array<Process, kMaxProcesses> found{};
  auto count = static_cast<unsigned>(found.size());
  if (!questions.ask("processes", library.processes, &count, found.data())) return;
  state.processes.emplace();
  for (std::size_t i = 0; i < std::min<std::size_t>(count, found.size()); ++i) {
    probe::DeviceProcess process{found[i].pid};
    std::array<char, 256> name{};
    if (library.process_name != nullptr &&
        library.process_name(found[i].pid, name.data(), static_cast<unsigned>(name.size() - 1)) ==
            kSuccess)
      process.name = printable(name.data());
    state.processes->push_back(std::move(process));
  }
}

probe::DeviceState state_of(const Library& library, unsigned index) {
  probe::DeviceState state;
  state.index = static_cast<int>(index);
  Device device = nullptr;
  if (const Return rc = library.get_handle(index, &device); rc != kSuccess) {
    state.error = library.text(rc);
    return state;
  }
  Questions questions(library, device, state);
  questions.text("name", state.name, library.name);
  questions.text("uuid", state.uuid, library.uuid);
  questions.text("firmware", state.firmware, library.firmware);
  questions.flag("persistence", state.persistence, library.persistence);
  if (unsigned mode = 0; questions.ask("prohibited", library.compute_mode, &mode))
    state.prohibited = mode == kProhibited;
  ask_memory(library, questions, state);
  questions.number("pcie_generation", state.pcie_generation, 1, library.pcie_generation);
  questions.number("pcie_generation_max", state.pcie_generation_max, 1,
                   library.pcie_generation_max);
  questions.number("pcie_width", state.pcie_width, 1, library.pcie_width);
  questions.number("pcie_width_max", state.pcie_width_max, 1, library.pcie_width_max);
  ask_links(library, device, state);
  questions.number("clock_max_mhz", state.clock_max_mhz, 1, library.max_clock, kClockSm);
  questions.number("clock_set_mhz", state.clock_set_mhz, 1, library.application_clock,
                   kClockGraphics);
  questions.number("clock_default_mhz", state.clock_default_mhz, 1, library.default_clock,
                   kClockGraphics);
  unsigned now = 0;
  unsigned pending = 0;
  if (questions.ask("partitioned", library.mig_mode, &now, &pending)) {
    state.partitioned = now != 0;
    state.partitioned_pending = pending != 0;
  }
  questions.number("power_limit_w", state.power_limit_w, 1e-3, library.power_limit);
  questions.number("power_limit_default_w", state.power_limit_default_w, 1e-3,
                   library.default_power_limit);
  questions.number("temp_c", state.temp_c, 1, library.temperature, kTemperatureGpu);
  questions.number("slowdown_c", state.slowdown_c, 1, library.threshold, kSlowdown);
  if (unsigned level = 0; questions.ask("full_speed", library.performance_state, &level))
    state.full_speed = level == 0;
  ask_processes(library, questions, state);
  return state;
}

}  // namespace

probe::DeviceStates Nvml::states(const std::vector<unsigned>& indices) const {
  probe::DeviceStates out;
  out.driver = driver_version();
  std::array<char, 128> text{};
  if (library_->library_version != nullptr &&
      library_->library_version(text.data(), static_cast<unsigned>(text.size() - 1)) == kSuccess)
    out.library = printable(text.data());
  if (int version = 0; library_->cuda_version != nullptr &&
                       library_->cuda_version(&version) == kSuccess && version > 0)
    out.runtime = fmt::format("CUDA {}.{}", version / 1000, version % 1000 / 10);
  for (const unsigned index : indices) out.devices.push_back(state_of(*library_, index));
  return out;
}

}  // namespace assay::nvml
