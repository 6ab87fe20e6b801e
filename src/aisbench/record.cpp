#include "aisbench/record.h"

#include <cmath>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "aisbench/results.h"
#include "core/json.h"
#include "core/time.h"

namespace assay::aisbench {

namespace {

std::string in_quotes(const std::string& text) {
  return "\"" + text + "\"";
}

std::string time_text(const std::optional<std::int64_t>& wall_ns) {
  if (!wall_ns) return in_quotes("2020-01-30 14:16:00");
  std::string text = flagperf_stamp(*wall_ns);  // YYYY-MM-DD-HH:MM:SS
  text[10] = ' ';
  return in_quotes(text);
}

std::string measured(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? fmt::format("{}", *value) : "0";
}

}  // namespace

std::string train_result_info(const TrainRecord& record) {
  const std::vector<std::pair<const char*, std::string>> members = {
      {"accuracy", record.accuracy_text.empty() ? in_quotes(number_text(record.accuracy))
                                                : dump_line(Json(record.accuracy_text))},
      {"average_power", measured(record.average_power)},
      {"dataload_end_time", time_text(record.dataload.end_ns)},
      {"dataload_start_time", time_text(record.dataload.start_ns)},
      {"efficientcy", measured(record.efficiency)},
      {"energy_consumption", measured(record.energy_consumption)},
      {"max_power", measured(record.max_power)},
      {"prepare_end_time", time_text(record.prepare.end_ns)},
      {"prepare_start_time", time_text(record.prepare.start_ns)},
      {"proc_end_time", time_text(record.proc.end_ns)},
      {"proc_start_time", time_text(record.proc.start_ns)},
      {"resource_util_ratio", measured(record.resource_util_ratio)},
      {"throughput_ratio", in_quotes(number_text(record.throughput))},
      {"total_end_time", time_text(record.total.end_ns)},
      {"total_start_time", time_text(record.total.start_ns)},
  };
  std::string out;
  for (const auto& [key, value] : members)
    out += fmt::format("{}   \"{}\" : {}", out.empty() ? "" : ",\n", key, value);
  return "{\n" + out + "\n}";
}

}  // namespace assay::aisbench
