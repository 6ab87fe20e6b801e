#include "platform/usage_table.h"

#include <algorithm>
#include <chrono>
#include <tuple>
#include <unordered_map>

#include <fmt/format.h>

namespace assay::platform {

namespace {

constexpr double kHour = 3600;
constexpr double kJoulesPerKwh = 3.6e6;
constexpr double kNearlyAll = 1 - 1e-9;  // sums of the same numbers in another order

// Months since the year 0.
std::uint32_t month_of(jobs::WallTime at_ns) {
  using namespace std::chrono;
  const year_month_day day(floor<days>(sys_time<nanoseconds>(nanoseconds(at_ns))));
  return static_cast<std::uint32_t>(int(day.year()) * 12) + unsigned(day.month()) - 1;
}

struct Key {
  std::uint32_t month = 0;
  std::uint32_t team = 0;
  std::uint32_t user = 0;
  std::uint32_t device_type = 0;

  bool operator==(const Key&) const = default;
};

struct HashOfKey {
  std::size_t operator()(const Key& key) const noexcept {
    std::uint64_t hash = (std::uint64_t{key.month} << 32 | key.team) * 0x9E3779B97F4A7C15U;
    hash ^= (std::uint64_t{key.user} << 32 | key.device_type) + (hash >> 29);
    return hash * 0xBF58476D1CE4E5B9U;
  }
};

struct Sum {
  UsageRow row;
  jobs::JobId last = 0;
};

}  // namespace

void UsageRow::add(const UsageRow& other) {
  jobs += other.jobs;
  device_hours += other.device_hours;
  idle_device_hours += other.idle_device_hours;
  energy_kwh += other.energy_kwh;
  unmetered_device_hours += other.unmetered_device_hours;
  unwatched_device_hours += other.unwatched_device_hours;
}

std::optional<double> UsageRow::known_energy_kwh() const {
  return energy_kwh > 0 ? std::optional(energy_kwh) : std::nullopt;
}

std::optional<double> UsageRow::known_idle_device_hours() const {
  const bool none =
      unwatched_device_hours > 0 && unwatched_device_hours >= device_hours * kNearlyAll;
  return none ? std::nullopt : std::optional(idle_device_hours);
}

std::uint32_t UsageTable::number_of(const std::string& name) {
  const auto [found, fresh] = numbers_.try_emplace(name, static_cast<std::uint32_t>(names_.size()));
  if (fresh) names_.push_back(name);
  return found->second;
}

void UsageTable::put(const jobs::AttemptUse& use) {
  const Row row{use.job,
                use.attempt,
                number_of(use.user),
                number_of(use.team),
                number_of(use.device_type),
                use.devices,
                use.from_ns,
                use.to_ns,
                use.idle_device_s,
                use.energy_j,
                use.watched_device_s > 0};
  const auto at =
      std::ranges::lower_bound(rows_, std::pair(use.job, use.attempt), {},
                               [](const Row& one) { return std::pair(one.job, one.attempt); });
  if (at != rows_.end() && at->job == use.job && at->attempt == use.attempt)
    *at = row;
  else
    rows_.insert(at, row);
}

std::vector<UsageRow> UsageTable::sums(jobs::WallTime from_ns, jobs::WallTime to_ns,
                                       const std::vector<jobs::AttemptUse>& running) const {
  if (!running.empty()) {
    UsageTable all = *this;
    for (const jobs::AttemptUse& use : running) all.put(use);
    return all.sums(from_ns, to_ns);
  }
  std::unordered_map<Key, Sum, HashOfKey> sums;
  for (const Row& row : rows_) {
    if (row.to_ns < from_ns || row.to_ns >= to_ns) continue;
    Sum& sum = sums[{month_of(row.to_ns), row.team, row.user, row.device_type}];
    if (sum.last != row.job) ++sum.row.jobs;  // the attempts of a job follow each other
    sum.last = row.job;
    const double hours = row.devices * static_cast<double>(row.to_ns - row.from_ns) / 1e9 / kHour;
    sum.row.device_hours += hours;
    // Devices that ran have used some, so nothing is what nobody measured.
    if (row.energy_j <= 0) sum.row.unmetered_device_hours += hours;
    if (!row.watched) sum.row.unwatched_device_hours += hours;
    sum.row.idle_device_hours += row.idle_device_s / kHour;
    sum.row.energy_kwh += row.energy_j / kJoulesPerKwh;
  }
  std::vector<UsageRow> out;
  for (auto& [key, sum] : sums) {
    sum.row.month = fmt::format("{:04}-{:02}", key.month / 12, key.month % 12 + 1);
    sum.row.team = names_[key.team];
    sum.row.user = names_[key.user];
    sum.row.device_type = names_[key.device_type];
    out.push_back(std::move(sum.row));
  }
  std::ranges::sort(out, {}, [](const UsageRow& row) {
    return std::tie(row.month, row.team, row.user, row.device_type);
  });
  return out;
}

}  // namespace assay::platform
