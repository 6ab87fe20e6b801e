#include "train/loop/device.h"

#if defined(_OPENMP)
#include <omp.h>
#endif

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <unordered_map>

#include <fmt/format.h>
#include <sched.h>

#include "core/error.h"
#include "core/parse_number.h"
#include "core/text.h"
#if defined(ASSAY_TRAIN_CUDA)
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAStream.h>
#endif

namespace assay::train {
namespace {

// The number in a variable of the environment. OMP_NUM_THREADS may have one for each level of
// nested regions: "8,2".
std::optional<int> count_in(const char* variable) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? std::nullopt : parse_number<int>(split(text, ',').front(), 1);
}

class PinnedAllocator final : public data::HostAllocator {
 public:
  std::byte* allocate(std::size_t bytes) override {
    torch::Tensor tensor;
    try {
      tensor = torch::empty({static_cast<std::int64_t>(bytes)},
                            torch::TensorOptions(torch::kByte).pinned_memory(true));
    } catch (const std::exception& error) {
      throw Error(ErrorKind::environment,
                  "cannot get " + std::to_string(bytes) +
                      " bytes of page-locked memory: " + first_line(error),
                  {}, "lower batch_size or loader_buffers, or raise the memory lock limit");
    }
    auto* const memory = static_cast<std::byte*>(tensor.data_ptr());
    held_.emplace(memory, std::move(tensor));
    return memory;
  }
  void release(std::byte* memory, std::size_t) noexcept override { held_.erase(memory); }

 private:
  std::unordered_map<std::byte*, torch::Tensor> held_;
};

int usable_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return 1;
}

// Only work on a non-default stream can be captured as a graph.
void leave_default_stream([[maybe_unused]] torch::Device device) {
#if defined(ASSAY_TRAIN_CUDA)
  if (c10::cuda::getCurrentCUDAStream(device.index()) !=
      c10::cuda::getDefaultCUDAStream(device.index()))
    return;
  torch::cuda::synchronize(device.index());
  c10::cuda::setCurrentCUDAStream(c10::cuda::getStreamFromPool(false, device.index()));
#endif
}

}  // namespace

torch::Device choose_device(const std::string& name, const workload::Place& place,
                            Collectives collectives) {
  const bool available = torch::cuda::is_available();
  if (name == "cpu" || (name == "auto" && !available)) return torch::Device(torch::kCPU);
  if (!available)
    throw Error(ErrorKind::environment, "no CUDA device can be used", "device: cuda",
                "check nvidia-smi and the driver, and that assay-train was built with a libtorch "
                "that has CUDA (assay-train --version)");
  const auto devices = static_cast<int>(torch::cuda::device_count());
  if (collectives == Collectives::gloo)
    return {torch::kCUDA, static_cast<c10::DeviceIndex>(place.local_rank % devices)};
  if (place.local_rank >= devices)
    throw Error(ErrorKind::environment,
                "LOCAL_RANK " + std::to_string(place.local_rank) + " has no device: there are " +
                    std::to_string(devices),
                "device: " + name,
                "start at most one rank per device, or try several on one with 'collectives: "
                "gloo'");
  return {torch::kCUDA, static_cast<c10::DeviceIndex>(place.local_rank)};
}

std::int64_t most_threads(int processors) noexcept {
  return std::max<std::int64_t>(16, std::int64_t{4} * processors);
}

int prepare_device(torch::Device device, Precision precision, std::int64_t threads,
                   const workload::Place& place) {
  if (device.is_cpu() &&
      (precision == Precision::tf32 || precision == Precision::fp16 || precision == Precision::fp8))
    throw Error(ErrorKind::config, "the CPU does not train in " + to_string(precision), "precision",
                "use fp32 or bf16, or a CUDA device");
  at::globalContext().setAllowTF32CuBLAS(precision == Precision::tf32);
  at::globalContext().setAllowTF32CuDNN(precision == Precision::tf32);
  if (device.is_cuda()) {
    // With cuDNN's better prediction model (mode B), ResNet-50 trains as fast as with trials, and
    // the first step comes four seconds earlier (docs/dev/performance-notes.md).
    ::setenv("TORCH_CUDNN_USE_HEURISTIC_MODE_B", "1", /*overwrite=*/0);
    leave_default_stream(device);
  }
  if (threads > most_threads(usable_cpus()))
    throw Error(ErrorKind::config,
                fmt::format("{} threads are too many for {}: they would wait for each other",
                            threads, counted(static_cast<std::size_t>(usable_cpus()), "processor")),
                "threads", fmt::format("use at most {}, or 0", most_threads(usable_cpus())));
  int count = static_cast<int>(threads);
  if (count == 0) {
    // Ranks on one machine share its CPUs, unless a launcher that binds them has divided these.
    const int ranks = count_in("LOCAL_WORLD_SIZE").value_or(place.world_size);
    count = count_in("OMP_NUM_THREADS").value_or(std::max(1, usable_cpus() / ranks));
  }
  at::set_num_threads(count);
#if defined(_OPENMP)
  omp_set_num_threads(count);  // PyTorch's packages contain their own OpenMP besides the system's
#endif
  return count;
}

#if defined(ASSAY_TRAIN_CUDA)
DeviceMemory::DeviceMemory(torch::Device device) : device_(device) {
  if (device_.is_cuda()) c10::cuda::CUDACachingAllocator::resetPeakStats(device_.index());
}

double DeviceMemory::peak_share() const {
  if (!device_.is_cuda()) return 0;
  const auto stats = c10::cuda::CUDACachingAllocator::getDeviceStats(device_.index());
  return static_cast<double>(stats.allocated_bytes[0].peak) /
         static_cast<double>(at::cuda::getDeviceProperties(device_.index())->totalGlobalMem);
}

void DeviceMemory::give_back() const {
  if (device_.is_cuda()) c10::cuda::CUDACachingAllocator::emptyCache();
}
#else
DeviceMemory::DeviceMemory(torch::Device device) : device_(device) {}

double DeviceMemory::peak_share() const {
  return 0;
}

void DeviceMemory::give_back() const {}
#endif

void try_cudnn_algorithms() {
  at::globalContext().setBenchmarkCuDNN(true);
}

void be_deterministic() {
  // cuBLAS adds in a fixed order only with a fixed-size workspace.
  ::setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", /*overwrite=*/0);
  at::globalContext().setBenchmarkCuDNN(false);
  at::globalContext().setDeterministicCuDNN(true);
  at::globalContext().setDeterministicAlgorithms(true, /*warn_only=*/false);
}

const std::vector<std::string>& attention_kernels() {
  static const std::vector<std::string> all{"auto", "flash", "cudnn"};
  return all;
}

void choose_attention(const std::string& kernels, torch::Device device) {
  if (kernels == "auto" || !device.is_cuda()) return;
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 5)
  at::globalContext().setSDPUseFlash(kernels == "flash");
  at::globalContext().setSDPUseCuDNN(kernels == "cudnn");
#else
  throw Error(ErrorKind::config, "this libtorch has no choice of attention kernels", "attention",
              "use 'auto', or a PyTorch 2.5 or newer");
#endif
}

std::shared_ptr<data::HostAllocator> batch_allocator(torch::Device device) {
  if (device.is_cuda()) return std::make_shared<PinnedAllocator>();
  return data::heap_allocator();
}

AutocastScope::AutocastScope(torch::Device device, Precision precision)
    : type_(device.type()), active_(precision == Precision::bf16 || precision == Precision::fp16) {
  if (active_)
    set_autocast(type_, true, precision == Precision::bf16 ? torch::kBFloat16 : torch::kHalf);
}

AutocastScope::~AutocastScope() {
  if (!active_) return;
  set_autocast(type_, false, torch::kFloat);
  at::autocast::clear_cache();
}

}  // namespace assay::train
