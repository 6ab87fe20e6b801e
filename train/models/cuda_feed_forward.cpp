#include "train/cuda/llama_kernels.h"
#include "train/cuda/tensors.h"
#include "train/models/cuda_llama.h"
#include "train/models/cuda_product.h"

namespace assay::train {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Replaces gate_up with its gradient and, if `y` is defined, recomputes y = silu(gate) · up.
void turn_into_gradient(const torch::Tensor& gate_up, const torch::Tensor& dy,
                        const torch::Tensor& y) {
  cuda::swiglu_backward(cuda::current_stream(), cuda::type_of(gate_up), {dy.size(0), dy.size(1)},
                        gate_up.data_ptr(), dy.data_ptr(), gate_up.data_ptr(),
                        y.defined() ? y.data_ptr() : nullptr);
}

// The weights are arguments so that autograd notifies those who wait for their gradients.
struct FeedForward : torch::autograd::Function<FeedForward> {
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& y,
                               const torch::Tensor& /*gate_up*/, const torch::Tensor& /*down*/,
                               const CudaProduct& gate_up, const CudaProduct& down,
                               const Normed& in, Keep keep) {
    const bool all = keep != Keep::selective;
    const CudaProduct::Forward first = gate_up.forward(matrix_of(y), all);
    const CudaProduct::Forward second = down.forward_swiglu(first.y, all);
    variable_list saved = saved_normed_input(in, first.kept, keep);
    saved.push_back(first.y);
    saved.push_back(second.kept);
    context->save_for_backward(saved);
    context->saved_data["gate_up"] = gate_up.held();
    context->saved_data["down"] = down.held();
    context->saved_data["epsilon"] = in.epsilon;
    std::vector<std::int64_t> shape = y.sizes().vec();
    shape.back() = second.y.size(1);
    return second.y.view(shape);
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const torch::Tensor& gate_up_rows = saved[2];
    torch::Tensor product = saved[3];
    const CudaProduct& gate_up = CudaProduct::of(context->saved_data["gate_up"]);
    const CudaProduct& down = CudaProduct::of(context->saved_data["down"]);
    const torch::Tensor dy = matrix_of(gradients[0]);
    const torch::Tensor input =
        kept_normed_input(gate_up, saved[0], saved[1], context->saved_data["epsilon"].toDouble());
    torch::Tensor dx;
    if (down.fp8() && gate_up.fp8()) {
      if (!product.defined())
        product = down.fp8()->round_swiglu(gate_up_rows, {false, true}).columns;
      const torch::Tensor dproduct = down.backward(dy, product);
      product.reset();
      dx = gate_up.backward(gate_up.fp8()->round_swiglu_gradient(gate_up_rows, dproduct), input);
    } else {
      const torch::Tensor dproduct = input_gradient(dy, down.rounded());
      const bool again = !product.defined();
      if (again) product = torch::empty_like(dproduct);
      turn_into_gradient(gate_up_rows, dproduct, again ? product : torch::Tensor());
      down.add_weight_gradient(dy, product);
      product.reset();
      dx = gate_up.backward(gate_up_rows, input);
    }
    variable_list out(7);
    std::vector<std::int64_t> shape = gradients[0].sizes().vec();
    shape.back() = dx.size(1);
    out[0] = dx.view(shape);
    return out;
  }
};

struct Fp8Project : torch::autograd::Function<Fp8Project> {
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& x,
                               const torch::Tensor& /*weight*/, const CudaProduct& product) {
    const CudaProduct::Forward done = product.forward(matrix_of(x), true);
    context->save_for_backward({done.kept});
    context->saved_data["product"] = product.held();
    std::vector<std::int64_t> shape = x.sizes().vec();
    shape.back() = done.y.size(1);
    return done.y.view(shape);
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const torch::Tensor kept = context->get_saved_variables()[0];
    const CudaProduct& product = CudaProduct::of(context->saved_data["product"]);
    const torch::Tensor dx = product.backward(matrix_of(gradients[0]), kept);
    std::vector<std::int64_t> shape = gradients[0].sizes().vec();
    shape.back() = dx.size(1);
    return {dx.view(shape), torch::Tensor(), torch::Tensor()};
  }
};

}  // namespace

torch::Tensor cuda_feed_forward(const Normed& in, const Weight& gate_up, const Weight& down,
                                Keep keep) {
  CudaProduct first(gate_up, in.y);
  CudaProduct second(down, in.y);
  return FeedForward::apply(in.y, gate_up.value, down.value, first, second, in, keep);
}

torch::Tensor cuda_fp8_project(const torch::Tensor& x, const Weight& weight) {
  return Fp8Project::apply(x, weight.value, CudaProduct(weight, x));
}

}  // namespace assay::train
