#include "live/metric_readers.h"

#include <charconv>
#include <cmath>

#include "core/text.h"
#include "telemetry/source_kind.h"

namespace assay::live {

namespace {

constexpr std::size_t kPieceOfLog = 256U << 10;
constexpr std::size_t kMaxCarry = 64U << 10;
constexpr double kFreshWholeNode = 30;  // seconds: three periods of ipmi
constexpr double kFreshPart = 15;

std::optional<double> number_of(const perflog::Event& event, std::string_view key) {
  const perflog::Field* field = event.find(key);
  if (field == nullptr || field->type != perflog::Field::Type::number) return std::nullopt;
  return field->number;
}

std::optional<int> trial_of(const perflog::Event& event) {
  const auto trial = number_of(event, "trial");
  if (!trial || !(*trial >= 0 && *trial < 1e9)) return std::nullopt;
  return static_cast<int>(*trial);
}

// The first quality with "acc" in its name, as the live view of the agents has it.
std::optional<double> accuracy_of(const perflog::Event& event) {
  for (const perflog::Field& field : event.fields)
    if (field.type == perflog::Field::Type::number &&
        field.key.find("acc") != std::string_view::npos)
      return field.number;
  return std::nullopt;
}

std::int64_t to_ms(double t) {
  return static_cast<std::int64_t>(std::llround(t * 1e3));
}

int device_index(std::string_view source) {
  int index = 0;
  std::from_chars(source.data() + 3, source.data() + source.size(), index);
  return index;
}

}  // namespace

std::string_view curve_tag(MetricName name) {
  switch (name) {
    case MetricName::throughput:
      return "speed/samples_per_second";
    case MetricName::tokens:
      return "speed/tokens_per_second";
    case MetricName::loss:
      return "train/loss";
    case MetricName::lr:
      return "train/learning_rate";
    case MetricName::step_time:
      return "speed/step_seconds";
    case MetricName::data_s:
      return "step/data_seconds";
    case MetricName::compute_s:
      return "step/compute_seconds";
    case MetricName::comm_s:
      return "step/communication_seconds";
    case MetricName::optimizer_s:
      return "step/optimizer_seconds";
    case MetricName::accuracy:
      return "evaluation/accuracy";
    case MetricName::util:
      return "utilization_percent";
    case MetricName::memory:
      return "memory_bytes";
    case MetricName::power:
      return "power_watts";
    case MetricName::temperature:
      return "temperature_celsius";
  }
  return "other";
}

std::string curve_tag_of(Scope scope, int item, MetricName name) {
  const std::string tag(curve_tag(name));
  return scope == Scope::trial ? "trial" + std::to_string(item) + "/" + tag : tag;
}

RankReader::RankReader(LogFile log)
    : log_(std::move(log)),
      file_(log_.file),
      parser_(
          std::make_unique<perflog::Parser>([this](const perflog::Event& event) { take(event); })) {
}

bool RankReader::look(std::uint64_t most, double clock_offset, bool over, MetricSink& sink,
                      std::uint64_t& left) {
  if (parser_ == nullptr) return true;
  if (!file_.look()) return false;
  sink_ = &sink;
  offset_ = clock_offset;
  std::string buffer;
  std::uint64_t taken = 0;
  while (read_ < file_.size() && taken < most) {
    buffer.resize(std::min<std::uint64_t>({kPieceOfLog, most - taken, file_.size() - read_}));
    buffer.resize(file_.read(read_, buffer));
    if (buffer.empty()) {
      // A part that was dropped unread: go on behind it.
      std::uint64_t next = read_;
      for (std::size_t i = 0; i < file_.parts(); ++i)
        if (const auto part = file_.part(i); part.gone && read_ >= part.begin && read_ < part.end)
          next = part.end;
      if (next == read_) break;
      parser_->cut();
      read_ = next;
      continue;
    }
    parser_->feed(buffer);
    read_ += buffer.size();
    taken += buffer.size();
  }
  left -= std::min(left, taken);
  if (over && read_ >= file_.size() && taken < most) {
    parser_->finish();
    parser_.reset();
  }
  return true;
}

void RankReader::span(const char* kind, std::string_view text, double from, double to) {
  if (log_.rank != 0 || !(to > from)) return;
  sink_->mark({to_ms(from), to_ms(to), kind, printable(ellipsize(text, 80))});
}

void RankReader::take(const perflog::Event& event) {
  using perflog::EventKind;
  if (event.time_ms == perflog::Event::kMissing) return;
  double t = static_cast<double>(event.time_ms) / 1e3;
  if (event.mono_us != perflog::Event::kMissing) {
    const double mono = static_cast<double>(event.mono_us) / 1e6;
    // A wall clock that was set moves the run's time no more than a rank's own.
    if (!wall_of_mono_) wall_of_mono_ = t - mono;
    t = *wall_of_mono_ + mono;
  }
  t -= offset_;
  if (!(t > 1e9 && t < 1e10)) return;
  switch (event.kind) {
    case EventKind::init_start:
      init_start_ = t;
      break;
    case EventKind::init_end:
      if (init_start_) span("phase", "init", *init_start_, t);
      break;
    case EventKind::train_start:
      train_start_ = last_end_ = t;
      break;
    case EventKind::train_end:
      if (train_start_) span("phase", "train", *train_start_, t);
      break;
    case EventKind::step_begin:
      if (!last_end_) last_end_ = t;
      break;
    case EventKind::step_end:
      take_step(event, t);
      break;
    case EventKind::evaluate:
      if (const auto accuracy = accuracy_of(event); accuracy && trial_of(event))
        sink_->value(MetricName::accuracy, Scope::trial, log_.rank, *trial_of(event), t, *accuracy);
      else if (accuracy && log_.rank == 0)
        sink_->value(MetricName::accuracy, Scope::job, -1, -1, t, *accuracy);
      span("evaluate", "evaluate", t - number_of(event, "time").value_or(0), t);
      break;
    case EventKind::phase:
      if (const perflog::Field* name = event.find("name"))
        span("phase", name->text, t - number_of(event, "time").value_or(0), t);
      break;
    default:
      break;
  }
}

void RankReader::take_step(const perflog::Event& event, double t) {
  const int rank = log_.rank;
  ++steps_;
  if (sink_->step) sink_->step(rank, event.step == perflog::Event::kMissing ? steps_ : event.step);
  const auto put = [&](MetricName name, double value) {
    sink_->value(name, Scope::rank, -1, rank, t, value);
  };
  if (last_end_ && t > *last_end_) {
    const double from = *last_end_;
    if (const auto samples = number_of(event, "samples"))
      sink_->amount(MetricName::throughput, rank, from, t, *samples, false);
    else if (const auto all = number_of(event, "global_samples"); all && rank == 0)
      sink_->amount(MetricName::throughput, rank, from, t, *all, true);
    if (const auto tokens = number_of(event, "tokens"))
      sink_->amount(MetricName::tokens, rank, from, t, *tokens, false);
    if (rank < kDetailedRanks) put(MetricName::step_time, t - from);
  }
  last_end_ = t;
  // What a worker of an experiment trains is one model after the other.
  const auto trial = trial_of(event);
  for (const auto& [key, name] :
       {std::pair("loss", MetricName::loss), std::pair("lr", MetricName::lr)})
    if (const auto value = number_of(event, key); trial && value)
      sink_->value(name, Scope::trial, rank, *trial, t, *value);
  if (rank >= kDetailedRanks) return;
  constexpr std::pair<std::string_view, MetricName> kFields[] = {
      {"loss", MetricName::loss},     {"lr", MetricName::lr},
      {"data_s", MetricName::data_s}, {"compute_s", MetricName::compute_s},
      {"comm_s", MetricName::comm_s}, {"optimizer_s", MetricName::optimizer_s}};
  for (const auto& [key, name] : kFields)
    if (const auto value = number_of(event, key);
        value && !(trial && (name == MetricName::loss || name == MetricName::lr)))
      put(name, *value);
}

bool NodeReader::look(std::uint64_t most, double clock_offset, bool over, MetricSink& sink,
                      std::uint64_t& left) {
  if (over_) return true;
  if (!log_.look()) return false;
  std::string buffer;
  std::uint64_t taken = 0;
  while (read_ < log_.size() && taken < most) {
    buffer.resize(std::min<std::uint64_t>({kPieceOfLog, most - taken, log_.size() - read_}));
    buffer.resize(log_.read(read_, buffer));
    if (buffer.empty()) break;
    read_ += buffer.size();
    taken += buffer.size();
    std::string_view rest = buffer;
    for (std::size_t end = 0; (end = rest.find('\n')) != std::string_view::npos;) {
      carry_ += rest.substr(0, end);
      if (!carry_.empty() && carry_.back() == '\r') carry_.pop_back();
      if (!carry_.empty() && carry_.size() < kMaxCarry) take(carry_, clock_offset, sink);
      carry_.clear();
      rest.remove_prefix(end + 1);
    }
    // Of a line without an end only so much is kept as to know that it is too long.
    carry_ += rest.substr(0, kMaxCarry - std::min(carry_.size(), kMaxCarry));
  }
  left -= std::min(left, taken);
  over_ = over && read_ >= log_.size() && taken < most;
  return true;
}

void NodeReader::take(std::string_view line, double clock_offset, MetricSink& sink) {
  using telemetry::Column;
  using telemetry::SourceKind;
  telemetry::Row row;
  if (table_.read(line, row) != telemetry::TableReader::Line::row) return;
  const double t = static_cast<double>(row.wall_ns) / 1e9 - clock_offset;
  if (!(t > 1e9 && t < 1e10)) return;
  const std::string& source = table_.sources()[row.source];
  const SourceKind kind = telemetry::source_kind(source);
  if (kind == SourceKind::core || kind == SourceKind::job || kind == SourceKind::other) return;
  if (const double power = row[Column::power_w]; std::isfinite(power))
    powers_[row.source] = {t, power};
  if (kind != SourceKind::node && kind != SourceKind::device) return;
  const Scope scope = kind == SourceKind::node ? Scope::node : Scope::device;
  const int item = kind == SourceKind::device ? device_index(source) : -1;
  const auto put = [&](MetricName name, double value, double factor = 1) {
    if (std::isfinite(value)) sink.value(name, scope, file_.node, item, t, value * factor);
  };
  put(MetricName::util, row[Column::util], 100);
  put(MetricName::memory, row[Column::mem_used_bytes]);
  put(MetricName::temperature, row[Column::temp_c]);
  if (kind == SourceKind::device) {
    put(MetricName::power, row[Column::power_w]);
    return;
  }
  // The node's own, nothing counted twice (docs/telemetry.md).
  bool whole = false;
  for (const auto& [index, reading] : powers_)
    whole = whole || (telemetry::source_kind(table_.sources()[index]) == SourceKind::whole_node &&
                      t - reading.first < kFreshWholeNode);
  double sum = 0;
  bool any = false;
  for (const auto& [index, reading] : powers_) {
    if (t - reading.first > (whole ? kFreshWholeNode : kFreshPart)) continue;
    if (!telemetry::adds_up(table_.sources()[index], whole)) continue;
    sum += reading.second;
    any = true;
  }
  if (any) put(MetricName::power, sum);
}

}  // namespace assay::live
