#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "telemetry/procfs.h"

namespace assay::telemetry {

/// One energy counter of the processor.
struct RaplSample {
  std::string_view source;  ///< "rapl0", "dram0", "psys"
  double power_w = 0;       ///< mean since the previous sample; NaN at the first
  double energy_j = 0;      ///< without wrap-around
};

/// The powercap energy counters under root/sys/class/powercap. Packages are "rapl<i>"; a package's
/// memory ("dram<i>") and the platform ("psys") are recorded but never added up.
class Rapl {
 public:
  explicit Rapl(const std::filesystem::path& root);

  /// Why existing counters cannot be read; nothing if they can, or if there are none.
  [[nodiscard]] const std::optional<std::string>& problem() const noexcept { return problem_; }
  /// The result is valid until the next call.
  [[nodiscard]] const std::vector<RaplSample>& sample(std::int64_t mono_ns);

 private:
  struct Domain {
    std::string source;
    ProcFile energy;
    std::uint64_t range_uj = 0;  // where the counter wraps; 0 = unknown
    std::uint64_t last_uj = 0;
    std::uint64_t total_uj = 0;
    std::int64_t last_mono_ns = 0;
    bool has_last = false;
  };

  void open_domain(const std::filesystem::path& folder, std::string source);

  std::vector<Domain> domains_;
  std::vector<RaplSample> samples_;
  std::vector<char> buffer_;
  std::optional<std::string> problem_;
};

}  // namespace assay::telemetry
