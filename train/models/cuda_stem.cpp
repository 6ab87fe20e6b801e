#include "train/models/cuda_stem.h"

#include "train/cuda/stem.h"
#include "train/cuda/tensors.h"

namespace assay::train {

bool cuda_stem_fits(const torch::nn::Conv2dImpl& conv, const torch::Tensor& x) {
  const torch::Tensor& weight = conv.weight;
  return cuda::fits(x) && x.dim() == 4 && !x.requires_grad() && !conv.bias.defined() &&
         weight.size(1) == 3 && weight.size(2) == 7 && weight.size(3) == 7 &&
         conv.options.stride()->at(0) == 2 && conv.options.stride()->at(1) == 2 &&
         x.size(2) % 2 == 0 && x.size(3) % 2 == 0;
}

torch::Tensor cuda_stem(const torch::nn::Conv2dImpl& conv, const torch::Tensor& x) {
  const std::int64_t images = x.size(0);
  const std::int64_t height = x.size(2);
  const std::int64_t width = x.size(3);
  const torch::Tensor pixels = x.to(torch::kFloat).contiguous(torch::MemoryFormat::ChannelsLast);
  const torch::ScalarType type =
      autocast_enabled(torch::kCUDA) ? autocast_type(torch::kCUDA) : x.scalar_type();
  constexpr std::int64_t kAround = cuda::kStemBefore + cuda::kStemAfter;
  const torch::Tensor regrouped =
      torch::empty({images, cuda::kStemChannels, height / 2 + kAround, width / 2 + kAround},
                   x.options().dtype(type), torch::MemoryFormat::ChannelsLast);
  cuda::space_to_depth(cuda::current_stream(), cuda::type_of(regrouped), images, height, width,
                       pixels.data_ptr<float>(), regrouped.data_ptr());
  // A leading row and column of zeros make the kernel 8×8, which is divisible by 2.
  const std::int64_t filters = conv.weight.size(0);
  const torch::Tensor kernel = torch::constant_pad_nd(conv.weight, {1, 0, 1, 0})
                                   .view({filters, 3, 4, 2, 4, 2})
                                   .permute({0, 3, 5, 1, 2, 4})
                                   .reshape({filters, 12, 4, 4});
  return torch::conv2d(regrouped,
                       torch::constant_pad_nd(kernel, {0, 0, 0, 0, 0, cuda::kStemChannels - 12})
                           .contiguous(torch::MemoryFormat::ChannelsLast)
                           .to(type));
}

}  // namespace assay::train
