#include "train/loop/step_log.h"

#include <thread>

#include <c10/core/impl/VirtualGuardImpl.h>

#include "core/time.h"

namespace assay::train {

// Since libtorch 2.5 events can measure the time between them; with older versions a CUDA log has
// no phases.
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 5)
#define ASSAY_EVENTS_HAVE_TIME 1
#else
#define ASSAY_EVENTS_HAVE_TIME 0
#endif

StepLog::StepLog(perflog::Writer* writer, torch::Device device, OnLoss on_loss)
    : writer_(writer), device_(device), on_loss_(std::move(on_loss)) {}

c10::Event StepLog::mark() const {
  c10::Event event(device_.type(), c10::EventFlag::BACKEND_DEFAULT);
  event.record(c10::impl::VirtualGuardImpl(device_.type()).getStream(device_));
  return event;
}

void StepLog::begin(std::int64_t step) {
  current_ = {};
  current_.step = step;
  if (device_.is_cpu())
    last_ns_ = mono_now_ns();
  else
    current_.start.emplace(mark());
}

void StepLog::end(Phase phase) {
  if (device_.is_cpu()) {
    const std::int64_t now = mono_now_ns();
    current_.seconds[static_cast<std::size_t>(phase)] += seconds(Nanoseconds(now - last_ns_));
    last_ns_ = now;
  } else {
    current_.marks.push_back({phase, mark()});
  }
}

void StepLog::waited(Phase from, double seconds) {
  if (!device_.is_cpu()) return;
  current_.seconds[static_cast<std::size_t>(from)] -= seconds;
  current_.seconds[static_cast<std::size_t>(Phase::comm)] += seconds;
}

void StepLog::waited_for_stages(double seconds) {
  if (device_.is_cpu()) current_.for_stages = current_.for_stages.value_or(0) + seconds;
}

void StepLog::end_step(const BatchWork& work, const torch::Tensor& loss, double rate) {
  current_.work = work;
  current_.rate = rate;
  if (device_.is_cpu()) {
    current_.loss = loss;
    write(current_);
    return;
  }
  current_.loss = torch::empty({}, torch::TensorOptions(torch::kFloat).pinned_memory(true));
  current_.loss.copy_(loss.detach(), /*non_blocking=*/true);
  // The copy must be complete before the loss is read.
  current_.marks.push_back({Phase::optimizer, mark()});
  outstanding_.push_back(std::move(current_));
  current_ = {};
  while (!outstanding_.empty() &&
         (passed(outstanding_.front()) ||
          outstanding_.size() > static_cast<std::size_t>(kStepsInFlight))) {
    while (!passed(outstanding_.front()))
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    write(outstanding_.front());
    outstanding_.pop_front();
  }
}

bool StepLog::passed(const Record& record) const {
  return record.marks.back().event.query();
}

void StepLog::write(Record& record) {
  perflog::Step step;
  const double loss = record.loss.item<double>();
#if ASSAY_EVENTS_HAVE_TIME
  if (record.start) {
    const c10::Event* before = &*record.start;
    for (const Mark& mark : record.marks) {
      record.seconds[static_cast<std::size_t>(mark.phase)] +=
          before->elapsedTime(mark.event) / 1000;
      before = &mark.event;
    }
  }
#endif
  step.loss = loss;
  step.samples = record.work.samples;
  if (record.work.tokens > 0) step.tokens = record.work.tokens;
  step.flops = record.work.flops;
  step.lr = record.rate;
  if (device_.is_cpu() || ASSAY_EVENTS_HAVE_TIME) {
    step.data_s = record.seconds[0];
    step.compute_s = record.seconds[1];
    step.comm_s = record.seconds[2];
    step.bubble_s = record.for_stages;
    step.optimizer_s = record.seconds[3];
  }
  for (std::size_t i = 0; i < 4; ++i) totals_[i] += record.seconds[i];
  last_loss_ = loss;
  if (writer_ != nullptr) writer_->step_end(record.step, step);
  on_loss_(record.step, loss);
}

void StepLog::flush() {
  while (!outstanding_.empty()) {
    while (!passed(outstanding_.front()))
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    write(outstanding_.front());
    outstanding_.pop_front();
  }
}

}  // namespace assay::train
