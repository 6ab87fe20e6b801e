#include "micro/gemm.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace assay::micro {
namespace {

// Keeps blocks of `kDepth` × (a tile's columns) of b in the first-level cache, kRows × kDepth of a
// in the second, kDepth × kColumns of b in the third.
constexpr std::size_t kDepth = 384;
constexpr std::size_t kRows = 168;  // a multiple of every kernel's rows: 14, 6, 4
constexpr std::size_t kColumns = 3072;
constexpr std::size_t kAlignment = 64;

struct Vector128 {
  using Type __attribute__((vector_size(16))) = float;
  static constexpr std::size_t kLanes = 4;
};
struct Vector256 {
  using Type __attribute__((vector_size(32))) = float;
  static constexpr std::size_t kLanes = 8;
};
struct Vector512 {
  using Type __attribute__((vector_size(64))) = float;
  static constexpr std::size_t kLanes = 16;
};

// One tile of Rows × (Vectors · lanes) in registers: `a` is packed as depth × Rows, `b` (aligned)
// as depth × columns; the tile is stored in, or added to, the rows at `c`, `stride` floats apart.
template <typename V, std::size_t Rows, std::size_t Vectors>
[[gnu::always_inline]] inline void tile(const float* a, const float* b, std::size_t depth, float* c,
                                        std::size_t stride, bool add) {
  using Vector = typename V::Type;
  Vector sum[Rows][Vectors] = {};
  for (std::size_t k = 0; k < depth; ++k) {
    Vector right[Vectors];
#pragma GCC unroll 4
    for (std::size_t j = 0; j < Vectors; ++j)
      right[j] = *reinterpret_cast<const Vector*>(b + j * V::kLanes);
#pragma GCC unroll 16
    for (std::size_t i = 0; i < Rows; ++i)
#pragma GCC unroll 4
      for (std::size_t j = 0; j < Vectors; ++j) sum[i][j] += a[i] * right[j];
    a += Rows;
    b += Vectors * V::kLanes;
  }
#pragma GCC unroll 16
  for (std::size_t i = 0; i < Rows; ++i)
#pragma GCC unroll 4
    for (std::size_t j = 0; j < Vectors; ++j) {
      float* const to = c + i * stride + j * V::kLanes;
      if (add) {
        Vector before;  // rows of c may be unaligned
        std::memcpy(&before, to, sizeof before);
        sum[i][j] += before;
      }
      std::memcpy(to, &sum[i][j], sizeof sum[i][j]);
    }
}

struct Kernel {
  std::string_view name;
  std::size_t rows;
  std::size_t columns;
  void (*tile)(const float* a, const float* b, std::size_t depth, float* c, std::size_t stride,
               bool add);
};

void tile_generic(const float* a, const float* b, std::size_t depth, float* c, std::size_t stride,
                  bool add) {
  tile<Vector128, 4, 2>(a, b, depth, c, stride, add);
}

#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) void tile_avx2(const float* a, const float* b,
                                                   std::size_t depth, float* c, std::size_t stride,
                                                   bool add) {
  tile<Vector256, 6, 2>(a, b, depth, c, stride, add);
}

__attribute__((target("avx512f"))) void tile_avx512(const float* a, const float* b,
                                                    std::size_t depth, float* c, std::size_t stride,
                                                    bool add) {
  tile<Vector512, 14, 2>(a, b, depth, c, stride, add);
}
#endif

// The binary travels between machines, so the choice is made at run time.
std::vector<Kernel> usable_kernels() {
  std::vector<Kernel> kernels;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) kernels.push_back({"avx512", 14, 32, tile_avx512});
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    kernels.push_back({"avx2", 6, 16, tile_avx2});
#endif
  kernels.push_back({"generic", 4, 8, tile_generic});
  return kernels;
}

Kernel find_kernel(std::string_view name) {
  const std::vector<Kernel> kernels = usable_kernels();
  for (const Kernel& kernel : kernels)
    if (kernel.name == name) return kernel;
  return kernels.front();
}

struct AlignedDelete {
  void operator()(float* data) const noexcept {
    ::operator delete[](data, std::align_val_t{kAlignment});
  }
};
using Buffer = std::unique_ptr<float[], AlignedDelete>;

Buffer make_buffer(std::size_t size) {
  return Buffer(
      static_cast<float*>(::operator new[](size * sizeof(float), std::align_val_t{kAlignment})));
}

std::size_t round_up(std::size_t value, std::size_t step) {
  return (value + step - 1) / step * step;
}

}  // namespace

struct Gemm::Impl {
  explicit Impl(std::string_view name) : kernel(find_kernel(name)) {}

  Kernel kernel;
  Buffer packed_a = make_buffer(kRows * kDepth);
  Buffer packed_b;
  std::size_t packed_b_size = 0;
  Buffer out = make_buffer(kernel.rows * kernel.columns);

  // Rows [row, row + rows) and columns [k, k + depth) of a, in panels of kernel.rows, zero-padded.
  void pack_a(const float* a, std::size_t size, std::size_t row, std::size_t rows, std::size_t k,
              std::size_t depth) {
    float* to = packed_a.get();
    for (std::size_t panel = 0; panel < rows; panel += kernel.rows, to += depth * kernel.rows)
      for (std::size_t i = 0; i < kernel.rows; ++i) {
        if (panel + i >= rows) {
          for (std::size_t d = 0; d < depth; ++d) to[d * kernel.rows + i] = 0.0F;
          continue;
        }
        const float* from = a + (row + panel + i) * size + k;
        for (std::size_t d = 0; d < depth; ++d) to[d * kernel.rows + i] = from[d];
      }
  }

  void pack_b(const float* b, std::size_t size, std::size_t k, std::size_t depth,
              std::size_t column, std::size_t columns) {
    float* to = packed_b.get();
    for (std::size_t panel = 0; panel < columns; panel += kernel.columns) {
      const std::size_t width = std::min(kernel.columns, columns - panel);
      for (std::size_t d = 0; d < depth; ++d, to += kernel.columns) {
        const float* from = b + (k + d) * size + column + panel;
        std::copy(from, from + width, to);
        std::fill(to + width, to + kernel.columns, 0.0F);
      }
    }
  }

  // A tile at the lower or right edge of c, which may be written only in part.
  void edge_tile(const float* a, const float* b, std::size_t depth, float* c, std::size_t size,
                 std::size_t rows, std::size_t columns, bool add) const {
    kernel.tile(a, b, depth, out.get(), kernel.columns, false);
    const float* from = out.get();
    for (std::size_t i = 0; i < rows; ++i, c += size, from += kernel.columns)
      for (std::size_t j = 0; j < columns; ++j) c[j] = add ? c[j] + from[j] : from[j];
  }
};

Gemm::Gemm(std::string_view kernel) : impl_(std::make_unique<Impl>(kernel)) {}
Gemm::~Gemm() = default;
Gemm::Gemm(Gemm&&) noexcept = default;
Gemm& Gemm::operator=(Gemm&&) noexcept = default;

std::vector<std::string_view> Gemm::kernels() {
  std::vector<std::string_view> names;
  for (const Kernel& kernel : usable_kernels()) names.push_back(kernel.name);
  return names;
}

std::string_view Gemm::kernel() const noexcept {
  return impl_->kernel.name;
}

void Gemm::multiply(const float* a, const float* b, float* c, std::size_t size,
                    std::size_t row_begin, std::size_t row_end) {
  Impl& self = *impl_;
  const Kernel& kernel = self.kernel;
  const std::size_t need = kDepth * round_up(std::min(size, kColumns), kernel.columns);
  if (self.packed_b_size < need) {
    self.packed_b = make_buffer(need);
    self.packed_b_size = need;
  }
  for (std::size_t column = 0; column < size; column += kColumns) {
    const std::size_t columns = std::min(kColumns, size - column);
    for (std::size_t k = 0; k < size; k += kDepth) {
      const std::size_t depth = std::min(kDepth, size - k);
      self.pack_b(b, size, k, depth, column, columns);
      for (std::size_t row = row_begin; row < row_end; row += kRows) {
        const std::size_t rows = std::min(kRows, row_end - row);
        self.pack_a(a, size, row, rows, k, depth);
        for (std::size_t j = 0; j < columns; j += kernel.columns)
          for (std::size_t i = 0; i < rows; i += kernel.rows) {
            const float* const left = self.packed_a.get() + i * depth;
            const float* const right = self.packed_b.get() + j * depth;
            float* const to = c + (row + i) * size + column + j;
            if (rows - i >= kernel.rows && columns - j >= kernel.columns)
              kernel.tile(left, right, depth, to, size, k > 0);
            else
              self.edge_tile(left, right, depth, to, size, std::min(kernel.rows, rows - i),
                             std::min(kernel.columns, columns - j), k > 0);
          }
      }
    }
  }
}

}  // namespace assay::micro
