#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

namespace assay::micro {

/// Multiplies square row-major float matrices with this CPU's widest vectors. One object per
/// thread; it keeps its packing buffers between calls.
class Gemm {
 public:
  /// `kernel` is one of kernels(); nothing means the best one.
  explicit Gemm(std::string_view kernel = {});
  ~Gemm();
  Gemm(Gemm&&) noexcept;
  Gemm& operator=(Gemm&&) noexcept;

  /// Computes rows [row_begin, row_end) of c = a · b, all of them size × size.
  void multiply(const float* a, const float* b, float* c, std::size_t size, std::size_t row_begin,
                std::size_t row_end);

  /// The kernels that this CPU can run, best first, among "avx512", "avx2" and "generic".
  [[nodiscard]] static std::vector<std::string_view> kernels();
  [[nodiscard]] std::string_view kernel() const noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace assay::micro
