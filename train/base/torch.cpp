#include "train/base/torch.h"

#include <string_view>

#include "train/base/onednn_limit.h"

namespace assay::train {
namespace {

// Before main, in every program with libtorch, even tests: oneDNN reads its limit only once.
[[maybe_unused]] const bool amx_is_avoided = keep_onednn_from_broken_amx();

}  // namespace

std::string torch_description() {
  std::string text = "libtorch " TORCH_VERSION;
#if defined(ASSAY_TRAIN_CUDA)
  text += ", CUDA";
#endif
#if defined(ASSAY_TRAIN_KERNELS)
  text += ", own kernels";
#endif
#if defined(ASSAY_TRAIN_NCCL)
  text += ", NCCL";
#endif
#if defined(ASSAY_TRAIN_GLOO)
  text += ", Gloo";
#endif
  return text;
}

#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 4)
bool autocast_enabled(torch::DeviceType device) {
  return at::autocast::is_autocast_enabled(device);
}

torch::ScalarType autocast_type(torch::DeviceType device) {
  return at::autocast::get_autocast_dtype(device);
}

void set_autocast(torch::DeviceType device, bool enabled, torch::ScalarType type) {
  at::autocast::set_autocast_enabled(device, enabled);
  if (enabled) at::autocast::set_autocast_dtype(device, type);
}
#else
bool autocast_enabled(torch::DeviceType device) {
  return device == torch::kCPU ? at::autocast::is_cpu_enabled() : at::autocast::is_enabled();
}

torch::ScalarType autocast_type(torch::DeviceType device) {
  return device == torch::kCPU ? at::autocast::get_autocast_cpu_dtype()
                               : at::autocast::get_autocast_gpu_dtype();
}

void set_autocast(torch::DeviceType device, bool enabled, torch::ScalarType type) {
  if (device == torch::kCPU) {
    at::autocast::set_cpu_enabled(enabled);
    if (enabled) at::autocast::set_autocast_cpu_dtype(type);
  } else {
    at::autocast::set_enabled(enabled);
    if (enabled) at::autocast::set_autocast_gpu_dtype(type);
  }
}
#endif

bool is_out_of_memory(const std::exception& error) noexcept {
  // libtorch's exception types for it vary by device and version; the text is stable.
  const std::string_view text = error.what();
  return text.find("out of memory") != std::string_view::npos ||
         text.find("not enough memory") != std::string_view::npos ||
         text.find("can't allocate memory") != std::string_view::npos;
}

std::string first_line(const std::exception& error) {
  // c10::Error prefixes the place and appends a backtrace; users need neither.
  const auto* torch_error = dynamic_cast<const c10::Error*>(&error);
  const std::string text =
      torch_error != nullptr ? torch_error->what_without_backtrace() : error.what();
  std::string line = text.substr(0, text.find('\n'));
  // CUDA's allocator appends statistics and advice about its own settings.
  if (is_out_of_memory(error)) line = line.substr(0, line.find(". GPU "));
  return line;
}

}  // namespace assay::train
