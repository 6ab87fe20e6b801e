#include "train/loop/usable_devices.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#if defined(ASSAY_TRAIN_CUDA)
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#endif

namespace assay::train {

namespace {

// at::_scaled_mm has this signature since 2.5.
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 5)
constexpr bool kLibraryHasFp8 = true;
#else
constexpr bool kLibraryHasFp8 = false;
#endif

// The compute capability × 10 from which a device has the precision in hardware.
constexpr std::array<std::pair<const char*, int>, 6> kNeeded{
    {{"fp64", 13}, {"fp32", 0}, {"tf32", 80}, {"bf16", 80}, {"fp16", 53}, {"fp8", 89}}};

int capability([[maybe_unused]] torch::Device device) {
#if defined(ASSAY_TRAIN_CUDA)
  const cudaDeviceProp* const properties = at::cuda::getDeviceProperties(device.index());
  return 10 * properties->major + properties->minor;
#else
  return 0;
#endif
}

#if defined(ASSAY_TRAIN_CUDA)
Json describe_device(c10::DeviceIndex index) {
  const c10::cuda::CUDAGuard guard(index);
  // A context, memory and a kernel, which a busy, broken or forbidden device refuses.
  const torch::Device device(torch::kCUDA, index);
  (void)torch::ones({1}, torch::TensorOptions().device(device)).item<float>();
  const cudaDeviceProp* const properties = at::cuda::getDeviceProperties(index);
  return {{"name", properties->name}, {"memory_bytes", properties->totalGlobalMem}};
}
#endif

}  // namespace

std::vector<std::string> matrix_precisions(torch::Device device) {
  if (device.is_cpu()) return {"fp64", "fp32", "bf16"};
  std::vector<std::string> precisions;
  for (const auto& [name, needed] : kNeeded)
    if (capability(device) >= needed && (std::string(name) != "fp8" || kLibraryHasFp8))
      precisions.emplace_back(name);
  return precisions;
}

std::string why_no_precision(torch::Device device, const std::string& precision) {
  if (device.is_cpu()) return "the CPU has no matrix products in " + precision;
  if (precision == "fp8" && !kLibraryHasFp8)
    return "libtorch " TORCH_VERSION " has no matrix products in fp8; 2.5 has";
  const auto needed =
      std::ranges::find_if(kNeeded, [&](const auto& entry) { return precision == entry.first; });
  return fmt::format("matrix products in {} need compute capability {:.1f}, this device has {:.1f}",
                     precision, needed->second / 10.0, capability(device) / 10.0);
}

Json usable_devices() {
  Json report{{"libtorch", torch_description()}, {"devices", Json::array()}};
  const auto problem = [&](const std::string& what, const std::string& advice) {
    report["problem"] = what;
    report["advice"] = advice;
    return report;
  };
#if defined(ASSAY_TRAIN_CUDA)
  try {
    // Reports why there is none, unlike device_count().
    (void)c10::cuda::device_count_ensure_non_zero();
  } catch (const std::exception& error) {
    return problem("libtorch can use none of them: " + first_line(error),
                   "run nvidia-smi; the driver must be at least as new as the CUDA of libtorch");
  }
  for (c10::DeviceIndex i = 0; i < c10::cuda::device_count(); ++i) {
    try {
      report["devices"].push_back(describe_device(i));
    } catch (const std::exception& error) {
      return problem(
          fmt::format("device {} cannot be used: {}", static_cast<int>(i), first_line(error)),
          "see who uses it (nvidia-smi), and its compute mode; CUDA_VISIBLE_DEVICES "
          "leaves it out");
    }
    const std::vector<std::string> has = matrix_precisions({torch::kCUDA, i});
    if (i == 0) {
      report["precisions"] = has;
      continue;
    }
    Json common = Json::array();
    for (const Json& name : report["precisions"])
      if (std::ranges::find(has, name.get<std::string>()) != has.end()) common.push_back(name);
    report["precisions"] = common;
  }
  return report;
#else
  return problem("assay-train was built without CUDA (" + torch_description() + ")",
                 "install a PyTorch with CUDA for python3 (pip install torch) and build again with "
                 "./bench.sh: docs/training.md");
#endif
}

}  // namespace assay::train
