#include "aisbench/reported_results.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <map>
#include <ranges>

#include <fmt/format.h>

#include "core/json.h"
#include "core/json_access.h"
#include "core/parse_number.h"
#include "core/pattern.h"
#include "core/regular_file.h"
#include "core/text.h"

namespace assay::aisbench {

namespace {

constexpr std::size_t kShown = 40;
constexpr std::int64_t kSecond = 1'000'000'000;

std::string shown(std::string_view text) {
  return "'" + ellipsize(printable(text), kShown) + "'";
}

std::optional<double> whole_number(std::string_view text) {
  text = trim(text);
  if (text.starts_with('+')) text.remove_prefix(1);
  return parse_number<double>(text);
}

std::optional<double> finite(const SetResultCalls& reported, std::string_view key,
                             std::vector<std::string>& problems) {
  const Call* call = reported.last(key);
  if (call == nullptr) {
    problems.push_back(fmt::format("{} was never set", key));
    return std::nullopt;
  }
  const auto value = whole_number(call->value);
  if (!value || !std::isfinite(*value)) {
    problems.push_back(fmt::format("{} is not a finite number: {}", key, shown(call->value)));
    return std::nullopt;
  }
  return value;
}

bool only_a_date(std::string_view text) {
  static const Pattern kDate(R"(^\s*[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}\s*$)");
  return kDate.search(text).has_value();
}

std::optional<Call> parse_call(std::string_view line) {
  const Json json = parse_json_or_null(line);
  if (!json.is_object()) return std::nullopt;
  Call call{integer_at(json, "wall_ns", 0), integer_at(json, "pid", 0), text_at(json, "mode"),
            text_at(json, "key"), text_at(json, "value")};
  if (const auto offset = integer_at(json, "utc_offset_s");
      offset && *offset > -86'400 && *offset < 86'400)
    call.utc_offset_s = *offset;
  if (call.mode.empty() || call.key.empty() || call.wall_ns <= 0) return std::nullopt;
  return call;
}

// The start or the end of a phase.
std::optional<std::int64_t> edge(const SetResultCalls& reported, const std::string& key, bool first,
                                 std::string& note) {
  std::optional<std::int64_t> found;
  for (const Call& call : reported.calls) {
    if (call.mode != "training" || call.key != key) continue;
    auto at = parse_time(call.value, call.utc_offset_s);
    if (!at && only_a_date(call.value)) {
      at = call.wall_ns;
      note = key + " was a date without a time: the moment of the call counts";
    }
    // Whole seconds leave open which moment it was: that of the call, if it came at once.
    if (at && *at % kSecond == 0 && call.wall_ns > *at && call.wall_ns - *at < 2 * kSecond)
      at = std::min(call.wall_ns, *at + kSecond - 1);
    if (!at) {
      note = fmt::format("{} is not a time: {}", key, shown(call.value));
      continue;
    }
    if (!found || (first ? *at < *found : *at > *found)) found = at;
  }
  return found;
}

}  // namespace

const Call* SetResultCalls::last(std::string_view key) const {
  for (const Call& call : calls | std::views::reverse)
    if (call.mode == "training" && call.key == key) return &call;
  return nullptr;
}

SetResultCalls read_set_result_calls(const std::filesystem::path& file) {
  SetResultCalls reported;
  const std::string text = read_regular_file_or_empty(file);
  for (const std::string_view line : split(text, '\n')) {
    if (trim(line).empty()) continue;
    if (auto call = parse_call(line))
      reported.calls.push_back(std::move(*call));
    else
      ++reported.unreadable;
  }
  return reported;
}

ReportedResults results_of(const SetResultCalls& reported) {
  static const Pattern kLanguageModel(
      R"(^\s*loss:\s*([0-9.eE+-]+)\s*,\s*[Pp]erplexity:\s*([0-9.eE+-]+)\s*$)");
  ReportedResults results;
  results.throughput = finite(reported, "throughput_ratio", results.problems);
  if (results.throughput && *results.throughput <= 0) {
    results.problems.push_back("throughput_ratio is not above zero: " +
                               shown(reported.last("throughput_ratio")->value));
    results.throughput.reset();
  }
  const Call* accuracy = reported.last("accuracy");
  const auto pair = accuracy == nullptr ? std::nullopt : kLanguageModel.search(accuracy->value);
  if (pair) {
    results.loss = whole_number((*pair)[1].value_or(""));
    results.perplexity = whole_number((*pair)[2].value_or(""));
    if (results.loss && results.perplexity && std::isfinite(*results.loss) &&
        std::isfinite(*results.perplexity))
      results.accuracy_text = accuracy->value;
    else
      results.problems.push_back("accuracy has no finite numbers: " + shown(accuracy->value));
  } else {
    results.accuracy = finite(reported, "accuracy", results.problems);
  }
  if (const Call* result = reported.last("result")) {
    results.reported_ok = result->value == "OK";
    if (!results.reported_ok) results.problems.push_back("result is " + shown(result->value));
  }
  return results;
}

std::vector<std::string> changed_values(const SetResultCalls& reported) {
  std::vector<std::string> out;
  std::map<std::string, std::string> values;
  for (const Call& call : reported.calls) {
    // Every rank may report when it began.
    if (call.mode != "training" || call.key.ends_with("_time")) continue;
    const auto [at, fresh] = values.try_emplace(call.key, call.value);
    if (fresh || at->second == call.value) continue;
    out.push_back(fmt::format("{}: {}, then {}", call.key, shown(at->second), shown(call.value)));
    at->second = call.value;
  }
  return out;
}

std::optional<double> reported_number(const SetResultCalls& reported, std::string_view key) {
  const Call* call = reported.last(key);
  const auto value = call == nullptr ? std::nullopt : whole_number(call->value);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

Phase reported_phase(const SetResultCalls& reported, const std::string& name, std::string& note) {
  return {edge(reported, name + "_start_time", true, note),
          edge(reported, name + "_end_time", false, note)};
}

std::optional<std::int64_t> parse_time(std::string_view text,
                                       const std::optional<std::int64_t>& utc_offset_s) {
  static const Pattern kTime(
      R"(^\s*([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})[ T]([0-9]{1,2}):([0-9]{2}):([0-9]{2})(\.[0-9]{1,9})?\s*$)");
  if (const auto match = kTime.search(text)) {
    const auto part = [&](std::size_t i) {
      return parse_number<int>((*match)[i].value_or("")).value_or(0);
    };
    std::tm local{};
    local.tm_year = part(1) - 1900;
    local.tm_mon = part(2) - 1;
    local.tm_mday = part(3);
    local.tm_hour = part(4);
    local.tm_min = part(5);
    local.tm_sec = part(6);
    local.tm_isdst = -1;
    const std::tm asked = local;
    const std::time_t seconds =
        utc_offset_s ? ::timegm(&local) - *utc_offset_s : std::mktime(&local);
    // mktime would turn February 30 into a day of March.
    if (seconds == -1 || local.tm_mday != asked.tm_mday || local.tm_mon != asked.tm_mon)
      return std::nullopt;
    const double fraction =
        (*match)[7] ? whole_number("0" + std::string(*(*match)[7])).value_or(0) : 0;
    return static_cast<std::int64_t>(seconds) * 1'000'000'000 +
           static_cast<std::int64_t>(std::llround(fraction * 1e9));
  }
  // Seconds since the epoch, within this century.
  if (const auto epoch = whole_number(text); epoch && *epoch > 9.4e8 && *epoch < 4.1e9)
    return static_cast<std::int64_t>(std::llround(*epoch * 1e6)) * 1000;
  return std::nullopt;
}

std::optional<Stage> parse_stage(std::string_view line,
                                 const std::optional<std::int64_t>& utc_offset_s) {
  if (line.find("-Ais-Bench-Stubs- ") == std::string_view::npos) return std::nullopt;
  static const Pattern kLine(
      R"(([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}) -Ais-Bench-Stubs- INFO (init|run_train|run_eval|get_result)\()");
  const auto match = kLine.search(line);
  if (!match) return std::nullopt;
  const auto at = parse_time((*match)[1].value_or(""), utc_offset_s);
  if (!at) return std::nullopt;
  return Stage{std::string((*match)[2].value_or("")), *at};
}

StageFailure stage_of_exit_code(int code) noexcept {
  constexpr std::array<StageFailure, 5> kStages{{
      {"init failed", "check config/config.sh: paths, PYTHON_COMMAND, RANK_SIZE and the node file"},
      {"run_train failed", "the training's own log, usually below work/ or log/, names the cause"},
      {"run_eval failed", "the evaluation's own log, usually below work/ or log/, names the cause"},
      {"get_result failed",
       "a result file of a rank is missing: see whether every rank trained to "
       "its end"},
      {"the mode failed", "check the run mode in config/config.sh (LLAMA_RUN_MODE and its like)"},
  }};
  return code >= 1 && code <= 5 ? kStages[static_cast<std::size_t>(code - 1)] : StageFailure{};
}

}  // namespace assay::aisbench
