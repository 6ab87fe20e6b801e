#include "train/loop/step_graph.h"

#include <algorithm>

#include "core/error.h"
#if defined(ASSAY_TRAIN_CUDA)
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDACachingAllocator.h>
#endif

namespace assay::train {

#if defined(ASSAY_TRAIN_CUDA)

namespace {

// The first runs choose algorithms and build plans, which must not happen in a capture.
constexpr int kPlainRuns = 3;
// Batches with and without a mask; further kinds are not worth their memory.
constexpr std::size_t kMaxRecordings = 2;

std::vector<std::int64_t> shapes_of(const std::vector<torch::Tensor*>& inputs) {
  std::vector<std::int64_t> shapes;
  for (const torch::Tensor* input : inputs) {
    if (!input->defined()) {
      shapes.push_back(-1);
      continue;
    }
    shapes.push_back(input->dim());
    shapes.insert(shapes.end(), input->sizes().begin(), input->sizes().end());
  }
  return shapes;
}

// A graph has its own memory and cannot use what the plain runs left. If the device lacks room for
// both, that memory is released.
void make_room(c10::DeviceIndex device) {
  const auto held = static_cast<std::size_t>(
      c10::cuda::CUDACachingAllocator::getDeviceStats(device).reserved_bytes[0].current);
  if (held > at::cuda::getDeviceProperties(device)->totalGlobalMem / 5 * 2)
    c10::cuda::CUDACachingAllocator::emptyCache();
}

}  // namespace

struct StepGraph::Recording {
  std::vector<torch::Tensor> inputs;
  at::cuda::CUDAGraph graph;
  torch::Tensor loss;
};

StepGraph::StepGraph(torch::Device device, bool wanted)
    : device_(device), wanted_(wanted && device.is_cuda()) {}

StepGraph::~StepGraph() = default;

std::unique_ptr<StepGraph::Recording> StepGraph::record(const std::vector<torch::Tensor*>& inputs,
                                                        double scale, const Compute& compute) {
  auto recording = std::make_unique<Recording>();
  for (torch::Tensor* input : inputs) {
    recording->inputs.push_back(input->defined() ? input->clone() : torch::Tensor());
    *input = recording->inputs.back();
  }
  make_room(device_.index());
  c10::cuda::MempoolId_t pool{0, 0};
  for (auto& [shapes, entry] : entries_)
    if (entry.recording) pool = entry.recording->graph.pool();
  // Loader threads may allocate page-locked memory meanwhile.
  recording->graph.capture_begin(pool, cudaStreamCaptureModeThreadLocal);
  std::string failure;
  try {
    recording->loss = compute(scale);
  } catch (const std::exception& error) {
    failure = first_line(error);
  }
  try {
    recording->graph.capture_end();
  } catch (const std::exception& error) {
    throw Error(ErrorKind::internal,
                "a step cannot be captured as a CUDA graph: " +
                    (failure.empty() ? first_line(error) : failure),
                {}, "set cuda_graph to false, and report this");
  }
  return failure.empty() ? std::move(recording) : nullptr;
}

torch::Tensor StepGraph::run(const std::vector<torch::Tensor*>& inputs, double scale,
                             const Compute& compute) {
  replayed_ = false;
  if (!wanted_) return compute(scale);
  if (scale != scale_) {  // a constant in the captured graph
    entries_.clear();
    scale_ = scale;
  }
  Entry& entry = entries_[shapes_of(inputs)];
  if (!entry.recording) {
    const auto recorded = std::count_if(entries_.begin(), entries_.end(), [](const auto& item) {
      return item.second.recording != nullptr;
    });
    if (entry.plain_runs++ < kPlainRuns || recorded >= static_cast<std::ptrdiff_t>(kMaxRecordings))
      return compute(scale);
    entry.recording = record(inputs, scale, compute);
    if (!entry.recording) {  // too little memory
      release();
      return compute(scale);
    }
  }
  Recording& recording = *entry.recording;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i]->defined() || inputs[i]->is_same(recording.inputs[i])) continue;
    recording.inputs[i].copy_(*inputs[i]);
    *inputs[i] = recording.inputs[i];
  }
  recording.graph.replay();
  replayed_ = true;
  return recording.loss.clone();
}

bool StepGraph::release() {
  const bool held = std::any_of(entries_.begin(), entries_.end(),
                                [](const auto& item) { return item.second.recording != nullptr; });
  wanted_ = false;
  entries_.clear();
  if (held) c10::cuda::CUDACachingAllocator::emptyCache();
  return held;
}

#else

struct StepGraph::Recording {};

StepGraph::StepGraph(torch::Device device, bool wanted) : device_(device), wanted_(wanted) {}

StepGraph::~StepGraph() = default;

torch::Tensor StepGraph::run(const std::vector<torch::Tensor*>&, double scale,
                             const Compute& compute) {
  return compute(scale);
}

bool StepGraph::release() {
  return false;
}

#endif

}  // namespace assay::train
