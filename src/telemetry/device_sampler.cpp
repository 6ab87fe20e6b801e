#include "telemetry/device_sampler.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/error.h"
#include "core/text.h"
#include "telemetry/resolve.h"
#include "telemetry/values.h"

namespace assay::telemetry {

namespace {

constexpr std::int64_t kOnceLimitNs = 10 * kSecond;
constexpr std::int64_t kHealthyNs = 60 * kSecond;  // after this, forgets earlier failures
constexpr std::size_t kMaxLine = std::size_t{64} << 10;
constexpr std::size_t kMaxLinesPerWindow = 10'000;  // per interval, at least a second
constexpr int kMaxNonsenseRun = 20;
constexpr int kCannotRunHere = 3;  // assay-nvml: no library or driver

double to_seconds(std::int64_t ns) {
  return static_cast<double>(ns) / 1e9;
}

std::string program_name(const DeviceSource& source) {
  return source.command.front().substr(source.command.front().rfind('/') + 1);
}

// Shells' exit codes for a program that does not exist or cannot be executed.
bool not_runnable(const ExitStatus& status) {
  const int code = status.code.value_or(0);
  return code == 126 || code == 127;
}

std::string with_message(std::string reason, const std::string& message) {
  return message.empty() ? reason : fmt::format("{}: {}", reason, message);
}

}  // namespace

DeviceSampler::DeviceSampler(asio::io_context& loop, const RecorderConfig& config, Hooks hooks)
    : timer_(loop),
      hooks_(std::move(hooks)),
      interval_ns_(config.interval.count()),
      stall_ns_(std::max<std::int64_t>(3 * config.interval.count(), config.stall_limit.count())),
      process_(loop) {
  for (const DeviceSource& source : config.sources)
    if (source.mode != DeviceSource::Mode::none && !source.command.empty())
      sources_.push_back(source);
}

DeviceSampler::~DeviceSampler() {
  stopping_ = true;
  drop_child();
}

void DeviceSampler::start() {
  covered_to_ns_ = mono_now_ns();
  open_source();
}

// Prepares the current source, or the first one after it that can be started at all.
void DeviceSampler::open_source() {
  while (!exhausted()) {
    std::string problem;
    try {
      parser_.emplace(source(), source().vendor);
      argv_ = expand_command(source().command, Nanoseconds(interval_ns_), source().vendor);
      const auto program = resolve_program(argv_.front());
      if (program) {
        argv_.front() = *program;
        launch();
        return;
      }
      problem = "not found on this machine";
    } catch (const Error& e) {
      problem = e.message();
    }
    // Like give_up(), but within this loop, because many sources in a row may be missing.
    const std::string name = program_name(source());
    ++current_;
    last_reason_ = fmt::format("{}: {}", name, problem);
    report(mono_now_ns(), fmt::format("{}; {}", last_reason_,
                                      exhausted() ? "no other source"
                                                  : "going on with " + program_name(source())));
  }
}

void DeviceSampler::launch() {
  waiting_ = false;
  started_ns_ = mono_now_ns();
  last_good_ns_ = 0;
  good_since_ns_ = 0;
  nonsense_run_ = 0;
  line_.clear();
  lines_in_window_ = 0;
  first_line_ = true;
  if (source().mode == DeviceSource::Mode::once) {
    run_once();
    return;
  }
  run({}, {.on_output = [this](std::string_view data) { on_data(data); },
           .on_end =
               [this](const CommandResult& result) {
                 const bool for_good = not_runnable(result.status) ||
                                       (source().format == DeviceSource::Format::assay &&
                                        result.status.code == kCannotRunHere);
                 fail(with_message("ended with " + to_string(result.status), result.err), for_good);
               }});
  if (process_.current() != nullptr) arm(started_ns_ + stall_limit_ns());
}

void DeviceSampler::run(const RunLimits& limits, AsyncProcess::Hooks hooks) {
  try {
    process_.start(argv_, limits, std::move(hooks));
  } catch (const SpawnError& e) {
    fail(e.message(), e.not_found());
  } catch (const Error& e) {
    fail(e.message(), false);
  }
}

void DeviceSampler::run_once() {
  started_ns_ = mono_now_ns();
  run({.total = Nanoseconds(std::max(interval_ns_, kOnceLimitNs)),
       .max_output = DeviceParser::kMaxOutput},
      {.on_end = [this](const CommandResult& result) { on_sample(result); }});
}

void DeviceSampler::on_sample(const CommandResult& result) {
  const Instant at = now();
  DeviceParser::Output output = parser_->parse_output(result.out);
  if (output.nonsense > 0) {
    if (nonsense_total_ == 0) first_nonsense_ = output.first_nonsense;
    nonsense_total_ += output.nonsense;
  }
  for (DeviceReading& reading : output.readings) deliver(reading, at);
  if (!output.readings.empty())
    failures_ = 0;
  else if (result.timed_out)
    fail(with_message("no answer in time", result.err), false);
  else if (!result.status.ok())
    fail(with_message("ended with " + to_string(result.status), result.err),
         not_runnable(result.status));
  else
    fail(with_message("output not understood", output.first_nonsense), false);
}

void DeviceSampler::tick() {
  if (stopping_ || exhausted() || waiting_) return;
  if (source().mode == DeviceSource::Mode::once && process_.current() == nullptr) run_once();
}

void DeviceSampler::on_data(std::string_view data) {
  // Handling a line may end the child, which makes the rest of its data useless.
  const AsyncProcess* const speaker = process_.current();
  while (!data.empty() && process_.current() == speaker) {
    const std::size_t end = data.find('\n');
    if (end == std::string_view::npos) {
      line_ += data;
      if (line_.size() <= kMaxLine) return;
      nonsense(line_);
      line_.clear();
      return;
    }
    if (line_.empty()) {
      on_line(data.substr(0, end));
    } else {
      line_ += data.substr(0, end);
      const std::string whole = std::exchange(line_, {});
      on_line(whole);
    }
    data.remove_prefix(end + 1);
  }
}

void DeviceSampler::on_line(std::string_view line) {
  const Instant at = now();
  if (at.mono_ns - window_start_ns_ >= std::max(interval_ns_, kSecond)) {
    window_start_ns_ = at.mono_ns;
    lines_in_window_ = 0;
  }
  if (++lines_in_window_ > kMaxLinesPerWindow) {
    fail("floods its output", false);
    return;
  }
  if (std::exchange(first_line_, false) && parser_->is_title(line)) return;
  switch (parser_->parse_line(line, reading_)) {
    case DeviceParser::Line::nothing:
      return;
    case DeviceParser::Line::nonsense:
      nonsense(line);
      return;
    case DeviceParser::Line::reading:
      break;
  }
  nonsense_run_ = 0;
  if (reading_.index < 0) {
    // The lines of a sample come together; a pause begins the next sample.
    if (at.mono_ns - last_good_ns_ > interval_ns_ / 2) position_ = 0;
    reading_.index = position_++;
  }
  deliver(reading_, at);
}

void DeviceSampler::nonsense(std::string_view line) {
  const std::string shown = ellipsize(printable(trim(line.substr(0, 400))), 120);
  if (nonsense_total_++ == 0) first_nonsense_ = shown;
  if (++nonsense_run_ >= kMaxNonsenseRun)
    fail(fmt::format("{} lines in a row not understood, the last: {}", nonsense_run_, shown),
         false);
}

void DeviceSampler::deliver(DeviceReading& reading, const Instant& at) {
  const auto device = static_cast<std::size_t>(reading.index);
  if (device >= last_by_device_.size()) {
    last_by_device_.resize(device + 1, 0);
    device_errors_.resize(device + 1);
  }
  if (reading.error != device_errors_[device]) {
    device_errors_[device] = reading.error;
    if (!reading.error.empty())
      hooks_.on_gap(
          {at, source().vendor, 0, fmt::format("dev{} cannot be read: {}", device, reading.error)});
  }
  last_good_ns_ = at.mono_ns;
  if (good_since_ns_ == 0) good_since_ns_ = at.mono_ns;
  if (failing_) {
    failing_ = false;
    report(at.mono_ns, fmt::format("{} {}; restarted", program_name(source()), last_reason_));
  }
  covered_to_ns_ = at.mono_ns;
  if (failures_ > 0 && at.mono_ns - good_since_ns_ > kHealthyNs) failures_ = 0;

  // Prefers a plausible time from the sampler to the time of arrival.
  Instant when = at;
  if (reading.mono_ns > at.mono_ns - 60 * kSecond && reading.mono_ns <= at.mono_ns) {
    when.mono_ns = reading.mono_ns;
    when.wall_ns -= at.mono_ns - reading.mono_ns;
  }
  // Keeps a sampler that prints faster than requested from filling the disk.
  if (source().mode == DeviceSource::Mode::loop && last_by_device_[device] != 0 &&
      when.mono_ns - last_by_device_[device] < interval_ns_ / 2)
    return;
  last_by_device_[device] = when.mono_ns;
  if (std::any_of(reading.values.begin(), reading.values.end(),
                  [](double v) { return !std::isnan(v); }))
    hooks_.on_reading(reading, when);
}

void DeviceSampler::fail(const std::string& reason, bool for_good) {
  drop_child();
  failing_ = true;
  last_reason_ = reason;
  ++failures_;
  if (for_good || failures_ >= kTries) {
    give_up(reason);
    return;
  }
  waiting_ = true;
  const std::int64_t base = std::clamp<std::int64_t>(interval_ns_, kSecond / 10, kSecond);
  arm(mono_now_ns() + (base << (failures_ - 1)));
}

void DeviceSampler::give_up(const std::string& reason) {
  last_reason_ = fmt::format("{} given up: {}", program_name(source()), reason);
  const std::string next = current_ + 1 < sources_.size()
                               ? "going on with " + program_name(sources_[current_ + 1])
                               : "no other source";
  report(mono_now_ns(), fmt::format("{}; {}", last_reason_, next));
  hooks_.on_given_up();
  ++current_;
  failures_ = 0;
  failing_ = false;
  waiting_ = false;
  open_source();
}

void DeviceSampler::report(std::int64_t now_ns, std::string reason) {
  const std::string& vendor = sources_[std::min(current_, sources_.size() - 1)].vendor;
  const double seconds = to_seconds(std::max<std::int64_t>(0, now_ns - covered_to_ns_));
  covered_to_ns_ = now_ns;
  hooks_.on_gap({now(), vendor.empty() ? "devices" : vendor, seconds, std::move(reason)});
}

void DeviceSampler::arm(std::int64_t at_ns) {
  timer_.expires_at(asio::steady_timer::time_point(Nanoseconds(at_ns)));
  timer_.async_wait([this, alive = std::weak_ptr<bool>(alive_)](asio::error_code ec) {
    if (!ec && !alive.expired()) on_timer();
  });
}

// The first line takes longer because drivers wake up their devices. Each restart gets more time.
std::int64_t DeviceSampler::stall_limit_ns() const {
  return last_good_ns_ != 0 ? stall_ns_ : 2 * stall_ns_ * (failures_ + 1);
}

void DeviceSampler::on_timer() {
  if (stopping_ || exhausted()) return;
  if (waiting_) {
    launch();
    return;
  }
  if (process_.current() == nullptr || source().mode == DeviceSource::Mode::once) return;
  const std::int64_t due = std::max(started_ns_, last_good_ns_) + stall_limit_ns();
  const std::int64_t at = mono_now_ns();
  if (at < due) {
    arm(due);
    return;
  }
  const double silent = to_seconds(at - std::max(started_ns_, last_good_ns_));
  fail(nonsense_run_ > 0
           ? fmt::format("nothing understood for {:.1f} s, the first: {}", silent, first_nonsense_)
           : fmt::format("silent for {:.1f} s", silent),
       false);
}

void DeviceSampler::drop_child() {
  timer_.cancel();
  process_.discard();
}

void DeviceSampler::terminate() {
  if (stopping_) return;
  stopping_ = true;
  timer_.cancel();
  if (!sources_.empty() && (failing_ || exhausted()))
    report(mono_now_ns(), fmt::format("no device data: {}", last_reason_));
  if (nonsense_total_ > 0)
    hooks_.on_gap(
        {now(), sources_[std::min(current_, sources_.size() - 1)].vendor, 0,
         counted(nonsense_total_, "line") + " not understood, the first: " + first_nonsense_});
  process_.terminate();
}

void DeviceSampler::abandon() {
  drop_child();
  process_.abandon();
}

bool DeviceSampler::idle() const {
  return pids().empty();
}

}  // namespace assay::telemetry
