#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jobs/job_store.h"

namespace assay::platform {

/// Use of devices, summed.
struct UsageRow {
  std::string user{};
  std::string team{};
  std::string month{};  ///< "2026-11", UTC
  std::string device_type{};
  std::int64_t jobs = 0;
  double device_hours = 0;
  double idle_device_hours = 0;       ///< as far as it was measured
  double energy_kwh = 0;              ///< as far as it was measured
  double unmetered_device_hours = 0;  ///< whose energy nobody has measured
  double unwatched_device_hours = 0;  ///< of which nobody has measured whether they were idle

  void add(const UsageRow& other);
  /// Nothing where none of it was measured: that is not known, and not 0.
  [[nodiscard]] std::optional<double> known_energy_kwh() const;
  [[nodiscard]] std::optional<double> known_idle_device_hours() const;
};

/// What all attempts have used, in memory: sums of 100,000 are a matter of milliseconds. Not
/// thread-safe.
class UsageTable {
 public:
  /// New, or what is known of it now.
  void put(const jobs::AttemptUse& use);
  /// Of what ended in [from, to), by month, team, user and type of device, and of attempts that
  /// run, which count as if they ended at their `to_ns`. A job counts once in a row, however often
  /// it was tried.
  [[nodiscard]] std::vector<UsageRow> sums(jobs::WallTime from_ns, jobs::WallTime to_ns,
                                           const std::vector<jobs::AttemptUse>& running = {}) const;

 private:
  struct Row {
    jobs::JobId job = 0;
    int attempt = 0;
    std::uint32_t user = 0;  // of names_
    std::uint32_t team = 0;
    std::uint32_t device_type = 0;
    int devices = 0;
    jobs::WallTime from_ns = 0;
    jobs::WallTime to_ns = 0;
    double idle_device_s = 0;
    double energy_j = 0;
    bool watched = false;
  };
  [[nodiscard]] std::uint32_t number_of(const std::string& name);

  std::vector<Row> rows_;  // by job and attempt
  std::vector<std::string> names_;
  std::map<std::string, std::uint32_t, std::less<>> numbers_;
};

}  // namespace assay::platform
