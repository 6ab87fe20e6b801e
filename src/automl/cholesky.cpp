#include "automl/cholesky.h"

#include <array>
#include <cmath>

#include "core/clones.h"

namespace assay::automl {

namespace {

// Eight sums side by side: the compiler may not reorder one.
// The results are the same with and without AVX2.
ASSAY_CLONES_AVX2 double dot(const double* a, const double* b, std::size_t n) {
  std::array<double, 8> sums{};
  std::size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    for (std::size_t k = 0; k < 8; ++k) sums[k] += a[i + k] * b[i + k];
  }
  double sum = 0;
  for (; i < n; ++i) sum += a[i] * b[i];
  for (const double s : sums) sum += s;
  return sum;
}

}  // namespace

bool Cholesky::append(std::span<const double> row_values) {
  const std::size_t begin = values_.size();
  values_.insert(values_.end(), row_values.begin(), row_values.end());
  double* x = values_.data() + begin;
  for (std::size_t i = 0; i < rows_; ++i) x[i] = (x[i] - dot(row(i), x, i)) / row(i)[i];
  const double rest = x[rows_] - dot(x, x, rows_);
  if (!(rest > 0) || !std::isfinite(rest)) {
    values_.resize(begin);
    return false;
  }
  x[rows_] = std::sqrt(rest);
  ++rows_;
  return true;
}

void Cholesky::clear() noexcept {
  values_.clear();
  rows_ = 0;
}

void Cholesky::solve(std::span<double> x) const {
  for (std::size_t i = 0; i < rows_; ++i) x[i] = (x[i] - dot(row(i), x.data(), i)) / row(i)[i];
  for (std::size_t i = rows_; i-- > 0;) {
    const double* l = row(i);
    x[i] /= l[i];
    for (std::size_t j = 0; j < i; ++j) x[j] -= l[j] * x[i];
  }
}

void Cholesky::solve_lower(std::span<double> x) const {
  double* const values = x.data();
  std::size_t i = 0;
  // Two rows at a time: what is read of x serves both.
  for (; i + 2 <= rows_; i += 2) {
    const double* l0 = row(i);
    const double* l1 = row(i + 1);
    std::array<double, kBatch> s0{};
    std::array<double, kBatch> s1{};
    for (std::size_t j = 0; j < i; ++j) {
      const double* xj = values + j * kBatch;
      for (std::size_t b = 0; b < kBatch; ++b) {
        s0[b] += l0[j] * xj[b];
        s1[b] += l1[j] * xj[b];
      }
    }
    double* x0 = values + i * kBatch;
    double* x1 = x0 + kBatch;
    for (std::size_t b = 0; b < kBatch; ++b) {
      x0[b] = (x0[b] - s0[b]) / l0[i];
      x1[b] = (x1[b] - s1[b] - l1[i] * x0[b]) / l1[i + 1];
    }
  }
  if (i == rows_) return;
  const double* l = row(i);
  for (std::size_t b = 0; b < kBatch; ++b) {
    double sum = 0;
    for (std::size_t j = 0; j < i; ++j) sum += l[j] * values[j * kBatch + b];
    values[i * kBatch + b] = (values[i * kBatch + b] - sum) / l[i];
  }
}

double Cholesky::log_determinant() const noexcept {
  double sum = 0;
  for (std::size_t i = 0; i < rows_; ++i) sum += std::log(row(i)[i]);
  return 2 * sum;
}

}  // namespace assay::automl
