#include "train/parallel/step_trace.h"

#include <algorithm>
#include <mutex>
#include <variant>
#include <vector>

#include <c10/core/impl/VirtualGuardImpl.h>

#include "core/files.h"
#include "core/json.h"
#include "core/time.h"

namespace assay::train {
namespace {

// In nanoseconds, or an event in the device's stream.
using Moment = std::variant<std::int64_t, std::shared_ptr<c10::Event>>;

struct Span {
  std::string name;
  int track = 0;
  std::int64_t bytes = 0;
  Moment begin;
  std::optional<Moment> end{};
};

constexpr int kBackwardTrack = 1;
constexpr int kReduceTrack = 2;

struct Interval {
  double begin = 0;  // microseconds
  double end = 0;
};

// The part of the all-reduces' time that is within a backward; both are sorted by begin.
double overlap_of(std::vector<Interval> reduces, const std::vector<Interval>& backwards) {
  std::ranges::sort(reduces, {}, &Interval::begin);
  double total = 0;
  double within = 0;
  double covered = 0;  // counts each moment once, though several run concurrently
  for (const Interval& reduce : reduces) {
    const double begin = std::max(reduce.begin, covered);
    if (reduce.end <= begin) continue;
    covered = reduce.end;
    total += reduce.end - begin;
    for (const Interval& backward : backwards)
      within += std::max(0.0, std::min(reduce.end, backward.end) - std::max(begin, backward.begin));
  }
  return total > 0 ? within / total : 0;
}

}  // namespace

struct StepTrace::Spans {
  torch::Device device;
  std::mutex mutex;
  std::vector<Span> all;
  std::shared_ptr<c10::Event> origin;  // on CUDA: reached at origin_ns
  std::int64_t origin_ns = 0;

  explicit Spans(torch::Device d) : device(d) {}

  [[nodiscard]] Moment now() const {
    if (device.is_cpu()) return mono_now_ns();
    auto event = std::make_shared<c10::Event>(device.type(), c10::EventFlag::BACKEND_DEFAULT);
    event->record(c10::impl::VirtualGuardImpl(device.type()).getStream(device));
    return event;
  }
  [[nodiscard]] double microseconds(const Moment& moment) const {
    if (const auto* ns = std::get_if<std::int64_t>(&moment))
      return static_cast<double>(*ns - origin_ns) / 1000;
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 5)
    return origin->elapsedTime(*std::get<std::shared_ptr<c10::Event>>(moment)) * 1000;
#else
    return 0;
#endif
  }
};

StepTrace::StepTrace(std::string path, int rank, torch::Device device, std::int64_t first_step)
    : path_(std::move(path)), rank_(rank), device_(device), first_step_(first_step) {}

StepTrace::~StepTrace() = default;

void StepTrace::begin_step(std::int64_t step) {
  if (step == first_step_) {
    spans_ = std::make_shared<Spans>(device_);
    if (device_.is_cuda()) torch::cuda::synchronize(device_.index());
    spans_->origin_ns = mono_now_ns();
    if (device_.is_cuda()) spans_->origin = std::get<std::shared_ptr<c10::Event>>(spans_->now());
    active_ = true;
  }
  if (step == first_step_ + kSteps) finish();
}

void StepTrace::begin_backward() {
  if (!active_) return;
  const std::lock_guard lock(spans_->mutex);
  spans_->all.push_back({"forward and backward", kBackwardTrack, 0, spans_->now()});
}

void StepTrace::end_backward() {
  if (!active_) return;
  const std::lock_guard lock(spans_->mutex);
  const auto last = std::find_if(spans_->all.rbegin(), spans_->all.rend(),
                                 [](const Span& span) { return span.track == kBackwardTrack; });
  if (last != spans_->all.rend()) last->end = spans_->now();
}

std::size_t StepTrace::begin_all_reduce(std::int64_t bytes) {
  if (!active_) return 0;
  const std::lock_guard lock(spans_->mutex);
  spans_->all.push_back({"all-reduce", kReduceTrack, bytes, spans_->now()});
  return spans_->all.size() - 1;
}

void StepTrace::end_all_reduce(std::size_t span, const Pending& pending, Collectives collectives) {
  if (!active_ || !pending.work()) return;
  // NCCL runs callbacks at once, on a stream that waits for the operation; Gloo at its end.
  pending.work()->getFuture()->addCallback(
      [spans = spans_, span, collectives](c10::ivalue::Future&) {
        const Moment end = collectives == Collectives::nccl ? spans->now() : Moment(mono_now_ns());
        const std::lock_guard lock(spans->mutex);
        spans->all[span].end = end;
      });
}

void StepTrace::finish() {
  if (!active_) return;
  active_ = false;
  if (device_.is_cuda()) torch::cuda::synchronize(device_.index());
  write();
  spans_.reset();
}

void StepTrace::write() {
  Json events = Json::array();
  for (const auto& [track, name] :
       {std::pair{kBackwardTrack, "forward and backward"}, std::pair{kReduceTrack, "all-reduce"}})
    events.push_back({{"name", "thread_name"},
                      {"ph", "M"},
                      {"pid", rank_},
                      {"tid", track},
                      {"args", {{"name", name}}}});
  std::vector<Interval> reduces;
  std::vector<Interval> backwards;
  const std::lock_guard lock(spans_->mutex);
  for (const Span& span : spans_->all) {
    if (!span.end) continue;
    const Interval at{spans_->microseconds(span.begin), spans_->microseconds(*span.end)};
    (span.track == kReduceTrack ? reduces : backwards).push_back(at);
    Json event = {{"name", span.name}, {"ph", "X"},      {"pid", rank_},
                  {"tid", span.track}, {"ts", at.begin}, {"dur", at.end - at.begin}};
    if (span.bytes > 0) event["args"] = {{"bytes", span.bytes}};
    events.push_back(std::move(event));
  }
  const Json trace = {
      {"traceEvents", std::move(events)},
      {"otherData", {{"overlap", overlap_of(reduces, backwards)}, {"device", device_.str()}}}};
  write_file_atomic(path_, trace.dump(1));
}

}  // namespace assay::train
