#include "train/parallel/reducer.h"

#include <torch/csrc/autograd/utils/lambda_post_hook.h>
#include <torch/csrc/autograd/variable.h>

namespace assay::train {

GradientReducer::GradientReducer(FlatParameters& parameters, Communicator& communicator,
                                 std::int64_t bucket_bytes, StepTrace* trace,
                                 const RanksOf& ranks_of)
    : communicator_(communicator), trace_(trace) {
  if (communicator.alone()) return;
  const auto limit = bucket_bytes / static_cast<std::int64_t>(sizeof(float));
  for (const FlatParameters::Entry& entry : parameters.entries()) {
    // A small first bucket starts communication early.
    const std::int64_t most = buckets_.size() == 1 ? limit / 8 : limit;
    Communicator* const ranks = ranks_of ? &ranks_of(entry) : &communicator;
    if (buckets_.empty() || buckets_.back().size >= most || buckets_.back().ranks != ranks)
      buckets_.push_back({entry.offset, 0, 0, ranks, 0, {}, {}});
    Bucket& bucket = buckets_.back();
    bucket.size = entry.offset + entry.size - bucket.begin;
    ++bucket.parameters;
    const std::size_t index = buckets_.size() - 1;
    auto accumulator = torch::autograd::impl::grad_accumulator(entry.parameter);
    hooks_.push_back(
        accumulator->add_post_hook(std::make_unique<torch::autograd::utils::LambdaPostHook>(
            [this, index](const torch::autograd::variable_list& outputs,
                          const torch::autograd::variable_list&) {
              arrived(index);
              return outputs;
            })));
    accumulators_.push_back(std::move(accumulator));
  }
  for (Bucket& bucket : buckets_)
    bucket.view = parameters.gradients().narrow(0, bucket.begin, bucket.size);
}

GradientReducer::~GradientReducer() {
  for (std::size_t i = 0; i < hooks_.size(); ++i) accumulators_[i]->del_post_hook(hooks_[i]);
}

void GradientReducer::begin(bool reduce) {
  active_ = reduce && !communicator_.alone();
  next_ = 0;
  overlapped_ = 0;
  for (Bucket& bucket : buckets_) bucket.waiting = bucket.parameters;
}

void GradientReducer::arrived(std::size_t bucket) {
  if (!active_) return;
  if (buckets_[bucket].waiting > 0) --buckets_[bucket].waiting;
  start_complete(false);
}

void GradientReducer::start_complete(bool all) {
  for (; next_ < buckets_.size() && (all || buckets_[next_].waiting == 0); ++next_) {
    Bucket& bucket = buckets_[next_];
    const std::size_t span =
        trace_ == nullptr ? 0 : trace_->begin_all_reduce(bucket.size * std::int64_t{sizeof(float)});
    bucket.pending = bucket.ranks->all_reduce(bucket.view);
    if (trace_ != nullptr)
      trace_->end_all_reduce(span, bucket.pending, communicator_.collectives());
    if (!all) ++overlapped_;
  }
}

void GradientReducer::finish() {
  if (!active_) return;
  start_complete(true);
  for (Bucket& bucket : buckets_) {
    bucket.ranks->wait(bucket.pending);
    bucket.pending = {};
  }
  active_ = false;
}

}  // namespace assay::train
