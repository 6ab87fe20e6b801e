#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace assay::aisbench {

/// When something began and ended, in ns since the epoch; nothing if it was not measured.
struct Phase {
  std::optional<std::int64_t> start_ns;
  std::optional<std::int64_t> end_ns;
};

/// What ais-bench prints about a training run (`train_result_info`).
struct TrainRecord {
  double throughput = 0;  ///< samples/s
  double accuracy = 0;
  std::string accuracy_text{};  ///< replaces the number if the workload reports text
  Phase prepare;
  Phase dataload;
  Phase proc;                                 ///< the training itself
  Phase total;                                ///< the whole run, as the local machine saw it
  std::optional<double> average_power;        ///< W
  std::optional<double> max_power;            ///< W
  std::optional<double> energy_consumption;   ///< J
  std::optional<double> efficiency;           ///< samples/J
  std::optional<double> resource_util_ratio;  ///< percent
};

/// The JSON object with ais-bench's keys in its order and layout ("efficientcy" is its spelling).
/// accuracy and throughput_ratio are strings with all digits, times are "YYYY-MM-DD HH:MM:SS" in
/// local time, and the rest are numbers. Values that were not measured have ais-bench's
/// placeholders: 0, and "2020-01-30 14:16:00". The text does not end with a newline.
[[nodiscard]] std::string train_result_info(const TrainRecord& record);

}  // namespace assay::aisbench
