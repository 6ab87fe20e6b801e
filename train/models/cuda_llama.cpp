#include "train/models/cuda_llama.h"

#include "train/cuda/llama_kernels.h"
#include "train/cuda/tensors.h"
#include "train/models/cuda_product.h"

namespace assay::train {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

cuda::Matrix matrix_shape(const torch::Tensor& x) {
  return {x.size(0), x.size(1)};
}

// The gradient of an RMSNorm's input, and of its weight.
std::pair<torch::Tensor, torch::Tensor> norm_gradients(const torch::Tensor& dy,
                                                       const torch::Tensor& dsum,
                                                       const torch::Tensor& sum,
                                                       const torch::Tensor& inverse,
                                                       const torch::Tensor& weight) {
  const torch::Tensor gradient = matrix_of(dy);
  const torch::Tensor more = dsum.defined() ? matrix_of(dsum) : torch::Tensor();
  const cuda::Matrix matrix = matrix_shape(sum);
  torch::Tensor dx = torch::empty_like(sum);
  const torch::Tensor partial = cuda::floats(sum, {cuda::rms_norm_blocks(matrix), matrix.columns});
  torch::Tensor dweight = cuda::floats(sum, {matrix.columns});
  cuda::rms_norm_backward(cuda::current_stream(), cuda::type_of(sum), matrix, gradient.data_ptr(),
                          more.defined() ? more.data_ptr() : nullptr, sum.data_ptr(),
                          inverse.data_ptr<float>(), weight.data_ptr<float>(), dx.data_ptr(),
                          partial.data_ptr<float>(), dweight.data_ptr<float>());
  return {dx.view(dy.sizes()), dweight};
}

struct RmsNorm : torch::autograd::Function<RmsNorm> {
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& x,
                               const torch::Tensor& weight, double epsilon) {
    const torch::Tensor rows = matrix_of(x);
    torch::Tensor y = torch::empty_like(rows);
    torch::Tensor inverse = cuda::floats(rows, {rows.size(0)});
    cuda::rms_norm_forward(cuda::current_stream(), cuda::type_of(rows), matrix_shape(rows),
                           rows.data_ptr(), nullptr, weight.data_ptr<float>(),
                           static_cast<float>(epsilon), nullptr, y.data_ptr(),
                           inverse.data_ptr<float>());
    context->save_for_backward({rows, inverse, weight});
    return y.view(x.sizes());
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const auto [dx, dweight] = norm_gradients(gradients[0], {}, saved[0], saved[1], saved[2]);
    return {dx, dweight, torch::Tensor()};
  }
};

struct AddRmsNorm : torch::autograd::Function<AddRmsNorm> {
  static variable_list forward(AutogradContext* context, const torch::Tensor& x,
                               const torch::Tensor& h, const torch::Tensor& weight,
                               double epsilon) {
    const torch::Tensor rows = matrix_of(x);
    const torch::Tensor more = matrix_of(h);
    torch::Tensor sum = torch::empty_like(rows);
    torch::Tensor y = torch::empty_like(rows);
    torch::Tensor inverse = cuda::floats(rows, {rows.size(0)});
    cuda::rms_norm_forward(cuda::current_stream(), cuda::type_of(rows), matrix_shape(rows),
                           rows.data_ptr(), more.data_ptr(), weight.data_ptr<float>(),
                           static_cast<float>(epsilon), sum.data_ptr(), y.data_ptr(),
                           inverse.data_ptr<float>());
    context->set_materialize_grads(false);
    context->save_for_backward({sum, inverse, weight});
    return {sum.view(x.sizes()), y.view(x.sizes())};
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const bool both = context->needs_input_grad(1);
    if (!gradients[1].defined())
      return {gradients[0], both ? gradients[0] : torch::Tensor(), torch::Tensor(),
              torch::Tensor()};
    const auto saved = context->get_saved_variables();
    const auto [dx, dweight] =
        norm_gradients(gradients[1], gradients[0], saved[0], saved[1], saved[2]);
    return {dx, both ? dx : torch::Tensor(), dweight, torch::Tensor()};
  }
};

struct ProjectHeads : torch::autograd::Function<ProjectHeads> {
  static cuda::Rotary rotary(const torch::Tensor& cosine, const torch::Tensor& sine,
                             std::int64_t rows, std::int64_t columns, std::int64_t head,
                             std::int64_t kv_heads) {
    return {rows, cosine.size(0),           columns / head - 2 * kv_heads, kv_heads,
            head, cosine.data_ptr<float>(), sine.data_ptr<float>()};
  }

  static variable_list forward(AutogradContext* context, const torch::Tensor& y,
                               const torch::Tensor& /*weight*/, const CudaProduct& product,
                               const torch::Tensor& cosine, const torch::Tensor& sine,
                               std::int64_t head, std::int64_t kv_heads, const Normed& in,
                               Keep keep) {
    const torch::Tensor rows = matrix_of(y);
    const CudaProduct::Forward done = product.forward(rows, keep != Keep::selective);
    const torch::Tensor& packed = done.y;
    const cuda::Rotary turned = rotary(cosine, sine, rows.size(0), packed.size(1), head, kv_heads);
    cuda::rotate_heads(cuda::current_stream(), cuda::type_of(packed), turned, packed.data_ptr());
    variable_list kept = saved_normed_input(in, done.kept, keep);
    kept.push_back(cosine);
    kept.push_back(sine);
    context->save_for_backward(kept);
    context->saved_data["product"] = product.held();
    context->saved_data["epsilon"] = in.epsilon;
    context->saved_data["head"] = head;
    context->saved_data["kv_heads"] = kv_heads;
    const torch::Tensor all = packed.view({y.size(0), y.size(1), -1, head});
    return {all.narrow(2, 0, turned.heads), all.narrow(2, turned.heads, kv_heads),
            all.narrow(2, turned.heads + kv_heads, kv_heads)};
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const CudaProduct& product = CudaProduct::of(context->saved_data["product"]);
    const std::int64_t rows = gradients[0].size(0) * gradients[0].size(1);
    const std::int64_t columns = product.rounded().size(0);
    const cuda::Type type = cuda::type_of(gradients[0]);
    cuda::HeadGradients parts;
    for (std::size_t i = 0; i < 3; ++i) {
      torch::Tensor& part = gradients[i];
      const auto aligned = [&](std::int64_t dimension) {
        return part.stride(dimension) % cuda::lanes(type) == 0;
      };
      if (part.stride(3) != 1 || !aligned(0) || !aligned(1) || !aligned(2))
        part = part.contiguous();
      parts.part[i] = part.data_ptr();
      parts.batch_stride[i] = part.stride(0);
      parts.position_stride[i] = part.stride(1);
      parts.head_stride[i] = part.stride(2);
    }
    torch::Tensor packed = torch::empty({rows, columns}, gradients[0].options());
    cuda::pack_rotated(
        cuda::current_stream(), type,
        rotary(saved[2], saved[3], rows, columns, context->saved_data["head"].toInt(),
               context->saved_data["kv_heads"].toInt()),
        parts, packed.data_ptr());
    const torch::Tensor dy = product.backward(
        packed,
        kept_normed_input(product, saved[0], saved[1], context->saved_data["epsilon"].toDouble()));
    variable_list out(9);
    out[0] = dy.view({gradients[0].size(0), gradients[0].size(1), -1});
    return out;
  }
};

struct SwiGlu : torch::autograd::Function<SwiGlu> {
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& gate_up) {
    const torch::Tensor rows = matrix_of(gate_up);
    torch::Tensor y = torch::empty({rows.size(0), rows.size(1) / 2}, rows.options());
    cuda::swiglu_forward(cuda::current_stream(), cuda::type_of(rows), matrix_shape(y),
                         rows.data_ptr(), y.data_ptr());
    context->save_for_backward({rows});
    std::vector<std::int64_t> shape = gate_up.sizes().vec();
    shape.back() /= 2;
    return y.view(shape);
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const torch::Tensor rows = context->get_saved_variables()[0];
    const torch::Tensor dy = matrix_of(gradients[0]);
    torch::Tensor out = torch::empty_like(rows);
    cuda::swiglu_backward(cuda::current_stream(), cuda::type_of(rows), matrix_shape(dy),
                          rows.data_ptr(), dy.data_ptr(), out.data_ptr());
    std::vector<std::int64_t> shape = gradients[0].sizes().vec();
    shape.back() *= 2;
    return {out.view(shape)};
  }
};

}  // namespace

bool cuda_llama_fits(const torch::Tensor& x) {
  return cuda::fits(x) && x.size(-1) % (2 * cuda::lanes(cuda::type_of(x))) == 0;
}

bool cuda_rms_norm_fits(const torch::Tensor& x) {
  return cuda_llama_fits(x) && x.size(-1) <= cuda::widest_rms_row(cuda::type_of(x));
}

Normed cuda_add_norm(const torch::Tensor& x, const torch::Tensor& h, const torch::Tensor& weight,
                     double epsilon) {
  if (!h.defined()) return {x, RmsNorm::apply(x, weight, epsilon), weight, epsilon};
  const variable_list both = AddRmsNorm::apply(x, h, weight, epsilon);
  return {both[0], both[1], weight, epsilon};
}

LlamaHeads cuda_project_heads(const Normed& in, const Weight& weight, std::int64_t head,
                              std::int64_t kv_heads, const Sequences& sequences, Keep keep) {
  const variable_list parts =
      ProjectHeads::apply(in.y, weight.value, CudaProduct(weight, in.y), sequences.cosine,
                          sequences.sine, head, kv_heads, in, keep);
  return {parts[0], parts[1], parts[2]};
}

torch::Tensor cuda_swiglu(const torch::Tensor& gate_up) {
  return SwiGlu::apply(gate_up);
}

torch::Tensor cuda_cross_entropy_in_place(torch::Tensor& logits, const torch::Tensor& labels,
                                          bool gradient, double share) {
  torch::Tensor losses = cuda::floats(logits, {logits.size(0)});
  cuda::cross_entropy_in_place(cuda::current_stream(), cuda::type_of(logits), matrix_shape(logits),
                               logits.data_ptr(), labels.data_ptr<std::int64_t>(), gradient,
                               static_cast<float>(share), losses.data_ptr<float>());
  return losses;
}

}  // namespace assay::train
