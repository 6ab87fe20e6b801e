#include "aisbench/results.h"

#include <charconv>
#include <cmath>
#include <numeric>
#include <optional>
#include <system_error>

#include <fmt/format.h>

#include "core/error.h"
#include "core/parse_number.h"
#include "core/regular_file.h"
#include "core/text.h"

namespace assay::aisbench {

namespace fs = std::filesystem;

namespace {

constexpr int kMaxRanks = 1 << 20;

double sum(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

double mean(const std::vector<double>& values) {
  return values.empty() ? 0 : sum(values) / static_cast<double>(values.size());
}

class Reader {
 public:
  Reader(const fs::path& folder, std::vector<std::string>& problems)
      : folder_(folder), problems_(problems) {}

  /// Reads a whole file as one number; anything else is a problem.
  template <class Number>
  std::optional<Number> read(const std::string& name) {
    std::error_code ec;
    if (!fs::is_regular_file(folder_ / name, ec)) {
      problems_.push_back(name + " is missing");
      return std::nullopt;
    }
    std::string content;
    try {
      content = read_regular_file(folder_ / name);
    } catch (const Error& e) {
      problems_.push_back(name + " cannot be read: " + e.message());
      return std::nullopt;
    }
    const std::string_view text = trim(content);
    if (text.empty()) {
      problems_.push_back(name + " is empty");
      return std::nullopt;
    }
    const auto value = parse_number<Number>(text);
    if (!value || !std::isfinite(static_cast<double>(*value))) {
      problems_.push_back(
          fmt::format("{} is not a finite number: '{}'", name, ellipsize(printable(text), 40)));
      return std::nullopt;
    }
    return value;
  }

  std::optional<double> throughput(const std::string& name) {
    const auto value = read<double>(name);
    if (value && *value <= 0) {
      problems_.push_back(fmt::format("{} is not above zero: {}", name, number_text(*value)));
      return std::nullopt;
    }
    return value;
  }

  /// Reports the files of ranks beyond `ranks`.
  void refuse_strangers(const std::string& below, int ranks) {
    std::error_code ec;
    for (const auto& entry : fs::directory_iterator(folder_ / below, ec)) {
      const std::string name = entry.path().filename().string();
      const std::string_view start = "throughput_";
      int rank = -1;
      if (!name.starts_with(start) || !name.ends_with(".json")) continue;
      std::from_chars(name.data() + start.size(), name.data() + name.size(), rank);
      if (rank >= ranks)
        problems_.push_back(
            fmt::format("{} is of a rank that this job does not have ({} ranks): of another run?",
                        (fs::path(below) / name).generic_string(), ranks));
    }
  }

 private:
  const fs::path& folder_;
  std::vector<std::string>& problems_;
};

void read_servers(Reader& reader, const Expected& expected, Results& results) {
  for (int server = 0; server < expected.servers; ++server) {
    std::vector<double> ranks;
    for (int rank = 0; rank < expected.devices; ++rank)
      if (const auto value = reader.throughput(fmt::format("{}/throughput_{}.json", server, rank)))
        ranks.push_back(*value);
    reader.refuse_strangers(fmt::format("{}", server), expected.devices);
    if (!ranks.empty()) results.throughputs.push_back(sum(ranks));
    if (const auto value = reader.read<double>(fmt::format("accuracy_{}.json", server)))
      results.accuracies.push_back(*value);
  }
  results.throughput = mean(results.throughputs);
  results.accuracy = mean(results.accuracies);
}

void read_together(Reader& reader, const Expected& expected, Results& results) {
  const int wanted = expected.servers * expected.devices;
  const int size = reader.read<int>("ranksize.json").value_or(wanted);
  if (size != wanted || size < 1 || size > kMaxRanks) {
    results.problems.push_back(
        fmt::format("ranksize.json says {} ranks, but the job has {}", size, wanted));
    return;
  }
  for (int rank = 0; rank < size; ++rank)
    if (const auto value = reader.throughput(fmt::format("throughput_{}.json", rank)))
      results.throughputs.push_back(*value);
  reader.refuse_strangers("", size);
  if (const auto value = reader.read<double>("accuracy.json")) results.accuracies.push_back(*value);
  results.throughput = sum(results.throughputs);
  results.accuracy = mean(results.accuracies);
}

std::string list_text(const std::vector<double>& values) {
  std::string out;
  for (const double value : values) out += (out.empty() ? "" : ", ") + number_text(value);
  return "[" + out + "]";
}

}  // namespace

Results read_results(const fs::path& folder, const Expected& expected) {
  Results results;
  Reader reader(folder, results.problems);
  if (expected.single_server)
    read_servers(reader, expected, results);
  else
    read_together(reader, expected, results);
  return results;
}

std::string report_lines(const Results& results) {
  return fmt::format(
      "report >> throughput_list:{} average:{}\nreport >> accuracy_list:{} average:{}\n",
      list_text(results.throughputs), number_text(results.throughput),
      list_text(results.accuracies), number_text(results.accuracy));
}

std::string number_text(double value) {
  std::string text = fmt::format("{}", value);
  if (text.find_first_not_of("-0123456789") == std::string::npos) text += ".0";
  return text;
}

}  // namespace assay::aisbench
