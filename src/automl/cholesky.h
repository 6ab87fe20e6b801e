#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace assay::automl {

/// The factor L of a symmetric positive definite matrix A = L·Lᵀ that grows row by row. n rows take
/// n(n+1)/2 doubles.
class Cholesky {
 public:
  /// Right-hand sides that solve_lower takes at once.
  static constexpr std::size_t kBatch = 8;

  /// Adds a row of A up to its diagonal (size() + 1 values), in O(n²). False, and nothing changes,
  /// when A would not be positive definite.
  [[nodiscard]] bool append(std::span<const double> row);
  void clear() noexcept;
  void reserve(std::size_t rows) { values_.reserve(rows * (rows + 1) / 2); }

  /// x becomes A⁻¹·x; x has size() values.
  void solve(std::span<double> x) const;
  /// Solves L·Y = X for `kBatch` right-hand sides: x[i·kBatch + b] is row i of the b-th.
  void solve_lower(std::span<double> x) const;
  [[nodiscard]] double log_determinant() const noexcept;
  [[nodiscard]] std::size_t size() const noexcept { return rows_; }

 private:
  [[nodiscard]] const double* row(std::size_t i) const noexcept {
    return values_.data() + i * (i + 1) / 2;
  }
  std::vector<double> values_;  // rows of the lower triangle, one after the other
  std::size_t rows_ = 0;
};

}  // namespace assay::automl
