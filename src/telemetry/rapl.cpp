#include "telemetry/rapl.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>

#include <fmt/format.h>
#include <unistd.h>

#include "core/parse_number.h"
#include "core/text.h"

namespace assay::telemetry {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kPrefix = "intel-rapl:";  // AMD processors use it too

std::optional<std::uint64_t> parse_u64(std::string_view text) {
  return parse_number<std::uint64_t>(trim(text));
}

// The numbers in "intel-rapl:1:0"; nothing for other names ("intel-rapl-mmio:0" repeats the same
// counters).
std::optional<std::vector<std::uint64_t>> zone(const std::string& name) {
  if (!name.starts_with(kPrefix)) return std::nullopt;
  std::vector<std::uint64_t> numbers;
  for (const std::string_view part : split(std::string_view(name).substr(kPrefix.size()), ':')) {
    const auto number = parse_u64(part);
    if (!number) return std::nullopt;
    numbers.push_back(*number);
  }
  return numbers;
}

}  // namespace

Rapl::Rapl(const fs::path& root) {
  const fs::path folder = root / "sys/class/powercap";
  std::vector<std::vector<std::uint64_t>> zones;
  std::error_code ec;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ec))
    if (auto numbers = zone(entry.path().filename().string()); numbers && numbers->size() <= 2)
      zones.push_back(std::move(*numbers));
  std::sort(zones.begin(), zones.end());
  std::vector<std::uint64_t> packages;  // zone number of rapl0, rapl1, …
  for (const std::vector<std::uint64_t>& numbers : zones) {
    const fs::path path = folder / fmt::format("{}{}", kPrefix, fmt::join(numbers, ":"));
    const std::string text = read_file_or_empty(path / "name");
    const std::string_view name = trim(text);
    if (numbers.size() == 1 && name.starts_with("package")) {
      open_domain(path, fmt::format("rapl{}", packages.size()));
      packages.push_back(numbers[0]);
    } else if (numbers.size() == 1 && name == "psys") {
      open_domain(path, "psys");
    } else if (numbers.size() == 2 && name == "dram") {
      const auto place = std::find(packages.begin(), packages.end(), numbers[0]);
      if (place != packages.end())
        open_domain(path, fmt::format("dram{}", place - packages.begin()));
    }
  }
}

void Rapl::open_domain(const fs::path& folder, std::string source) {
  const fs::path file = folder / "energy_uj";
  ProcFile energy(file);
  if (!energy) {
    if (!problem_)
      problem_ = fmt::format(
          "cannot read {}: {}; the processor's energy counters need root or a readable energy_uj",
          file.string(), std::strerror(errno));
    return;
  }
  const auto range = parse_u64(read_file_or_empty(folder / "max_energy_range_uj"));
  domains_.push_back({std::move(source), std::move(energy), range.value_or(0), 0, 0, 0, false});
}

const std::vector<RaplSample>& Rapl::sample(std::int64_t mono_ns) {
  samples_.clear();
  for (Domain& domain : domains_) {
    const auto now_uj = parse_u64(domain.energy.read(buffer_));
    if (!now_uj) continue;
    double power = std::numeric_limits<double>::quiet_NaN();
    if (!domain.has_last) {
      domain.total_uj = *now_uj;
    } else {
      const bool back = *now_uj < domain.last_uj;
      const bool wrapped = back && domain.range_uj >= domain.last_uj;
      const std::uint64_t delta = !back     ? *now_uj - domain.last_uj
                                  : wrapped ? domain.range_uj - domain.last_uj + *now_uj
                                            : 0;
      domain.total_uj += delta;
      const double seconds = static_cast<double>(mono_ns - domain.last_mono_ns) / 1e9;
      if (seconds > 0 && (!back || wrapped)) power = static_cast<double>(delta) / 1e6 / seconds;
    }
    domain.last_uj = *now_uj;
    domain.last_mono_ns = mono_ns;
    domain.has_last = true;
    samples_.push_back({domain.source, power, static_cast<double>(domain.total_uj) / 1e6});
  }
  return samples_;
}

}  // namespace assay::telemetry
