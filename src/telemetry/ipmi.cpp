#include "telemetry/ipmi.h"

#include <algorithm>

#include <fmt/format.h>
#include <unistd.h>

#include "core/error.h"
#include "core/parse_number.h"
#include "core/text.h"
#include "telemetry/values.h"

namespace assay::telemetry {

namespace {

constexpr std::int64_t kPeriodNs = 10 * kSecond;
constexpr std::size_t kMaxOutput = std::size_t{256} << 10;
constexpr int kTries = 3;

std::string find_ipmitool(const std::filesystem::path& root) {
  for (const char* folder : {"usr/bin", "usr/sbin", "bin", "sbin", "usr/local/bin"}) {
    const auto path = std::filesystem::absolute(root / folder / "ipmitool");
    if (::access(path.c_str(), X_OK) == 0) return path.string();
  }
  return root == "/" ? find_program("ipmitool").value_or("") : "";
}

// The number right before the word "Watts".
std::optional<double> watts_in(std::string_view text) {
  const std::size_t unit = text.find("Watts");
  if (unit == std::string_view::npos) return std::nullopt;
  text = trim(text.substr(0, unit));
  std::size_t begin = text.size();
  while (begin > 0 &&
         ((text[begin - 1] >= '0' && text[begin - 1] <= '9') || text[begin - 1] == '.'))
    --begin;
  const auto value = parse_number<double>(text.substr(begin));
  return value && *value > 0 ? value : std::nullopt;
}

}  // namespace

std::optional<double> parse_dcmi_power(std::string_view text) {
  for (const std::string_view line : split(text, '\n'))
    if (to_lower(line).find("instantaneous power reading") != std::string::npos)
      return watts_in(line);
  return std::nullopt;
}

std::optional<double> parse_sdr_power(std::string_view text) {
  std::optional<double> largest;
  for (const std::string_view line : split(text, '\n'))
    if (const auto watts = watts_in(line)) largest = std::max(largest.value_or(0), *watts);
  return largest;
}

Ipmi::Ipmi(asio::io_context& loop, const RecorderConfig& config, Hooks hooks)
    : hooks_(std::move(hooks)),
      run_(loop),
      period_ns_(std::max<std::int64_t>(config.interval.count(), kPeriodNs)) {
  std::error_code ec;
  for (const char* device : {"dev/ipmi0", "dev/ipmi/0", "dev/ipmidev/0"}) {
    const auto path = config.root / device;
    if (!std::filesystem::exists(path, ec)) continue;
    program_ = find_ipmitool(config.root);
    if (!program_.empty() && ::access(path.c_str(), R_OK | W_OK) != 0)
      give_up(fmt::format("no access to {}; node power needs root or a group that may use it",
                          path.string()));
    return;
  }
}

void Ipmi::tick(std::int64_t mono_ns) {
  if (program_.empty() || run_.current() != nullptr || mono_ns < due_ns_) return;
  due_ns_ = mono_ns + period_ns_;
  if (last_good_ns_ == 0) last_good_ns_ = mono_ns;
  using Argv = std::vector<std::string>;
  try {
    // Listing the sensors queries each of them over a slow bus.
    run_.start(sdr_ ? Argv{program_, "sdr", "list"} : Argv{program_, "dcmi", "power", "reading"},
               {.total = std::chrono::seconds(sdr_ ? 30 : 10), .max_output = kMaxOutput},
               {.on_end = [this](const CommandResult& result) { on_result(result); }});
  } catch (const Error& e) {
    give_up(e.message());
  }
}

void Ipmi::on_result(const CommandResult& result) {
  const auto watts = sdr_ ? parse_sdr_power(result.out) : parse_dcmi_power(result.out);
  const Instant at = now();
  if (watts) {
    failures_ = 0;
    last_good_ns_ = at.mono_ns;
    hooks_.on_reading(*watts, at);
    return;
  }
  if (!sdr_ && failures_ == 0) {
    sdr_ = true;
    due_ns_ = 0;
    return;
  }
  if (++failures_ < kTries) return;
  give_up(fmt::format("ipmitool gives no power: {}{}{}",
                      result.timed_out ? "no answer in time" : to_string(result.status),
                      result.err.empty() ? "" : ": ", result.err));
}

void Ipmi::give_up(const std::string& reason) {
  program_.clear();
  const Instant at = now();
  const double silent =
      last_good_ns_ == 0 ? 0 : static_cast<double>(at.mono_ns - last_good_ns_) / 1e9;
  hooks_.on_gap({at, "ipmi", silent, reason});
}

void Ipmi::terminate() {
  program_.clear();
  run_.terminate();
}

}  // namespace assay::telemetry
