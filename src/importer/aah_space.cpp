#include "importer/aah_space.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.h"
#include "core/text.h"

namespace assay::importer {

namespace {

constexpr double kSizes = 32;  // larger batch sizes are samples, not multiples of memory

std::vector<double> values_of(const Json& parameter, const char* type, std::size_t least,
                              const std::string& name, const std::string& where) {
  const auto wrong = [&](const std::string& what) {
    throw Error(ErrorKind::config, fmt::format("'{}' {}", printable(name), what), where,
                R"(for example {"_type": "uniform", "_value": [12, 14]})");
  };
  if (!parameter.is_object() || parameter.value("_type", Json()) != type)
    wrong(fmt::format("is not of the type {}", type));
  const Json list = parameter.value("_value", Json());
  if (!list.is_array() || list.size() < least) wrong("has no list of values");
  std::vector<double> values;
  for (const Json& value : list) {
    if (!value.is_number()) wrong("has a value that is not a number");
    values.push_back(value.get<double>());
  }
  return values;
}

}  // namespace

AahSpace read_aah_space(const Json& json, const std::string& where) {
  if (!json.is_object()) throw Error(ErrorKind::config, "expected an object", where);
  AahSpace space;
  for (const auto& [name, parameter] : json.items()) {
    if (name == "kernel_size") {
      space.kernels.clear();
      for (const double size : values_of(parameter, "choice", 1, name, where)) {
        if (size >= 3 && size <= 99 && std::fmod(size, 2) == 1)
          space.kernels.push_back(static_cast<int>(size));
        else
          space.remarks.push_back(fmt::format(
              "a kernel of {} is left out: only odd ones from 3 keep the shapes", size));
      }
    } else if (name == "dropout_rate") {
      const auto range = values_of(parameter, "uniform", 2, name, where);
      space.dropout_high = std::clamp(range[1], 0.0, 0.9);
      if (range[0] > 0)
        space.remarks.push_back("dropout begins at 0, so that the first trial is AAH's");
    } else if (name == "batch_size") {
      const auto range = values_of(parameter, "uniform", 2, name, where);
      if (!(range[0] > 0 && range[0] <= range[1] && range[1] <= 1e6))
        throw Error(ErrorKind::config, "'batch_size' has no range of positive numbers", where);
      space.batch_low = range[0];
      space.batch_high = range[1];
    } else {
      space.remarks.push_back(
          fmt::format("'{}' is not a parameter of AAH's: left out", printable(name)));
    }
  }
  return space;
}

std::string render(const AahSpace& space, int batch_size) {
  const bool samples = space.batch_high > kSizes;
  const double high = samples ? std::max<double>(space.batch_high, batch_size) : batch_size;
  const double low =
      samples ? std::min<double>(space.batch_low, batch_size)
              : std::max(1.0, std::round(batch_size * space.batch_low / space.batch_high));
  std::vector<int> kernels{0};
  kernels.insert(kernels.end(), space.kernels.begin(), space.kernels.end());
  std::string out = "      space: # AAH's own; a kernel of 0 is the graph's own\n";
  out += low < high
             ? fmt::format(
                   "        batch_size: {{type: uniform, low: {:.0f}, high: {:.0f}, "
                   "step: 1}}\n",
                   low, high)
             : fmt::format("        batch_size: {{type: choice, options: [{}]}}\n", batch_size);
  out += fmt::format("        kernel_size: {{type: choice, options: [{}]}}\n",
                     fmt::join(kernels, ", "));
  if (space.dropout_high > 0)
    out +=
        fmt::format("        dropout: {{type: uniform, low: 0.0, high: {}}}\n", space.dropout_high);
  return out;
}

}  // namespace assay::importer
