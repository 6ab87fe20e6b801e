#include "automl/distance.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <limits>

#include "core/clones.h"

namespace assay::automl {

namespace {

// Costs are multiples of 2⁻⁴⁰ in doubles: their sums are exact for up to 4,000 layers, whatever the
// order, and a minimum of four takes one instruction.
constexpr double kFar = 1e6;
constexpr int kLanes = 4;
using Lanes = double __attribute__((vector_size(kLanes * sizeof(double))));
using LanesInMemory = double
    __attribute__((vector_size(kLanes * sizeof(double)), aligned(sizeof(double)), may_alias));

double rounded(double cost) {
  constexpr double shift = 1.5 * static_cast<double>(std::int64_t{1} << 12);  // 2⁵² · 2⁻⁴⁰
  return (cost + shift) - shift;
}

double relative(int x, int y) {
  return x == y ? 0 : static_cast<double>(std::abs(x - y)) / std::max(x, y);
}

// One vector per use and thread: distances allocate nothing once these have grown.
struct Workspace {
  std::vector<double> costs;      // of a's symbol and b's symbol, minus 1
  std::vector<double> cost_rows;  // of a's symbol and b's layer
  std::vector<double> rows;
  std::vector<Skip> a, b;
  std::vector<double> pair_cost, u, v, shortest;
  std::vector<int> match, way;
  std::vector<char> used;
};

Workspace& workspace() {
  thread_local Workspace instance;
  return instance;
}

// Cells that a row has beyond its last, so that blocks may be whole.
constexpr int kSlack = 2 * kLanes;

// The cheapest alignment of a[0..n) and b[0..m) among those that stay within `band` of the
// diagonal, or a little beyond: exact when it is not above `band`, because every step off the
// diagonal costs 1. A row holds D[i][j] - j, which turns "insert" into a running minimum: taken
// within blocks first, so that only one minimum a block waits for the block before. `rows` has
// space for two rows of m + 1 + kSlack, `cost_rows` holds rows of m + kSlack.
ASSAY_CLONES_AVX2 double banded(const std::uint16_t* a, int n, int m, const double* cost_rows,
                                double* rows, int band) {
  const Lanes none = {kFar, kFar, kFar, kFar};
  const Lanes one = {1, 1, 1, 1};
  double* previous = rows;
  const std::ptrdiff_t width = m + 1 + kSlack;
  double* row = rows + width;
  std::fill(rows, rows + 2 * width, kFar);
  std::fill(previous, previous + std::min(m, band) + 1, 0.0);
  for (int i = 1; i <= n; ++i) {
    const double* cost = cost_rows + static_cast<std::ptrdiff_t>(a[i - 1]) * (m + kSlack) - 1;
    const int begin = std::max(1, i - band);
    const int end = std::min(m, i + band);
    row[begin - 1] = begin == 1 && i <= band ? i : kFar;
    Lanes left = {row[begin - 1], row[begin - 1], row[begin - 1], row[begin - 1]};
    for (int j = begin; j <= end; j += 2 * kLanes) {
      Lanes x = *reinterpret_cast<const LanesInMemory*>(previous + j) + one;
      Lanes y = *reinterpret_cast<const LanesInMemory*>(previous + j + kLanes) + one;
      const Lanes x_change = *reinterpret_cast<const LanesInMemory*>(previous + j - 1) +
                             *reinterpret_cast<const LanesInMemory*>(cost + j);
      const Lanes y_change = *reinterpret_cast<const LanesInMemory*>(previous + j + kLanes - 1) +
                             *reinterpret_cast<const LanesInMemory*>(cost + j + kLanes);
      x = x_change < x ? x_change : x;
      y = y_change < y ? y_change : y;
      const Lanes x1 = __builtin_shufflevector(x, none, 4, 0, 1, 2);
      const Lanes y1 = __builtin_shufflevector(y, none, 4, 0, 1, 2);
      x = x1 < x ? x1 : x;
      y = y1 < y ? y1 : y;
      const Lanes x2 = __builtin_shufflevector(x, none, 4, 4, 0, 1);
      const Lanes y2 = __builtin_shufflevector(y, none, 4, 4, 0, 1);
      x = x2 < x ? x2 : x;
      y = y2 < y ? y2 : y;
      const Lanes x_last = __builtin_shufflevector(x, x, 3, 3, 3, 3);
      y = x_last < y ? x_last : y;
      const Lanes y_last = __builtin_shufflevector(y, y, 3, 3, 3, 3);
      x = left < x ? left : x;
      y = left < y ? left : y;
      left = y_last < left ? y_last : left;
      *reinterpret_cast<LanesInMemory*>(row + j) = x;
      *reinterpret_cast<LanesInMemory*>(row + j + kLanes) = y;
    }
    std::swap(previous, row);
  }
  return previous[m] + m;
}

// The cheapest assignment of n rows to m ≥ n columns: shortest augmenting paths, O(n²m).
double assignment(Workspace& w, int n, int m) {
  const double infinity = std::numeric_limits<double>::infinity();
  w.u.assign(n + 1, 0);
  w.v.assign(m + 1, 0);
  w.match.assign(m + 1, 0);
  w.way.assign(m + 1, 0);
  for (int i = 1; i <= n; ++i) {
    w.match[0] = i;
    int column = 0;
    w.shortest.assign(m + 1, infinity);
    w.used.assign(m + 1, 0);
    do {
      w.used[column] = 1;
      const int row = w.match[column];
      const double* cost = &w.pair_cost[static_cast<std::size_t>(row - 1) * m];
      double delta = infinity;
      int next = 0;
      for (int j = 1; j <= m; ++j) {
        if (w.used[j] != 0) continue;
        const double reduced = cost[j - 1] - w.u[row] - w.v[j];
        if (reduced < w.shortest[j]) {
          w.shortest[j] = reduced;
          w.way[j] = column;
        }
        if (w.shortest[j] < delta) {
          delta = w.shortest[j];
          next = j;
        }
      }
      for (int j = 0; j <= m; ++j) {
        if (w.used[j] != 0) {
          w.u[w.match[j]] += delta;
          w.v[j] -= delta;
        } else {
          w.shortest[j] -= delta;
        }
      }
      column = next;
    } while (w.match[column] != 0);
    while (column != 0) {
      const int before = w.way[column];
      w.match[column] = w.match[before];
      column = before;
    }
  }
  double sum = 0;
  for (int j = 1; j <= m; ++j) {
    if (w.match[j] != 0) sum += w.pair_cost[static_cast<std::size_t>(w.match[j] - 1) * m + j - 1];
  }
  return sum;
}

}  // namespace

double layer_distance(const LayerSymbol& a, const LayerSymbol& b) {
  if (a.kind != b.kind) return 1;
  return (relative(a.a, b.a) + relative(a.b, b.b) + relative(a.c, b.c)) / 3;
}

double skip_distance(const Skip& a, const Skip& b) {
  if (a.type != b.type) return 1;
  const int most = std::max(a.from, b.from) + std::max(a.length, b.length);
  if (most == 0) return 0;
  return static_cast<double>(std::abs(a.from - b.from) + std::abs(a.length - b.length)) / most;
}

double layers_distance(const Descriptor& a, const Descriptor& b) {
  const auto same = [&](std::uint16_t x, std::uint16_t y) { return a.symbols[x] == b.symbols[y]; };
  // What both begin and end with costs nothing in some cheapest alignment.
  int begin = 0;
  int n = static_cast<int>(a.layers.size());
  int m = static_cast<int>(b.layers.size());
  while (begin < n && begin < m && same(a.layers[begin], b.layers[begin])) ++begin;
  while (n > begin && m > begin && same(a.layers[n - 1], b.layers[m - 1])) --n, --m;
  n -= begin;
  m -= begin;
  if (n == 0 || m == 0) return n + m;
  Workspace& w = workspace();
  const std::size_t symbols = b.symbols.size();
  w.costs.resize(a.symbols.size() * symbols);
  for (std::size_t x = 0; x < a.symbols.size(); ++x) {
    for (std::size_t y = 0; y < symbols; ++y) {
      w.costs[x * symbols + y] = rounded(layer_distance(a.symbols[x], b.symbols[y])) - 1;
    }
  }
  w.cost_rows.resize(a.symbols.size() * (m + kSlack));
  for (std::size_t x = 0; x < a.symbols.size(); ++x) {
    double* row = &w.cost_rows[x * (m + kSlack)];
    for (int j = 0; j < m; ++j) row[j] = w.costs[x * symbols + b.layers[begin + j]];
    std::fill(row + m, row + m + kSlack, 0.0);
  }
  w.rows.resize(2 * (static_cast<std::size_t>(m) + 1 + kSlack));
  const int all = std::max(n, m);
  for (int band = std::max(std::abs(n - m), 4);;) {
    const double d = banded(a.layers.data() + begin, n, m, w.cost_rows.data(), w.rows.data(), band);
    if (d <= band || band >= all) return d;
    // No distance is above what an alignment costs, so a band of that width would do. A wide one is
    // tried at once: two of them cost more than all cells.
    const int enough = static_cast<int>(std::min<double>(d, all)) + 1;
    band = std::min(4 * band, enough);
    if (3 * band > all) band = enough;
  }
}

double skips_distance(std::span<const Skip> a, std::span<const Skip> b) {
  if (a.size() > b.size()) std::swap(a, b);
  Workspace& w = workspace();
  w.a.clear();
  w.b.clear();
  // skip_distance is a metric, so equal skips may be paired first.
  std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(w.a));
  std::set_difference(b.begin(), b.end(), a.begin(), a.end(), std::back_inserter(w.b));
  const int n = static_cast<int>(w.a.size());
  const int m = static_cast<int>(w.b.size());
  if (n == 0) return m;
  w.pair_cost.resize(static_cast<std::size_t>(n) * m);
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < m; ++j) {
      w.pair_cost[static_cast<std::size_t>(i) * m + j] = skip_distance(w.a[i], w.b[j]);
    }
  }
  return assignment(w, n, m) + (m - n);
}

double edit_distance(const Descriptor& a, const Descriptor& b) {
  if (a.hash == b.hash) return 0;
  return layers_distance(a, b) + skips_distance(a.skips, b.skips);
}

double distance_bound(const Descriptor& a, const Descriptor& b) {
  int missing = 0;
  int extra = 0;
  for (std::size_t k = 0; k < a.kind_count.size(); ++k) {
    const int d = a.kind_count[k] - b.kind_count[k];
    (d > 0 ? extra : missing) += std::abs(d);
  }
  // An exchange of kinds costs 1 and settles one missing and one extra layer.
  const int skips = std::abs(static_cast<int>(a.skips.size()) - static_cast<int>(b.skips.size()));
  return std::max(missing, extra) + skips;
}

}  // namespace assay::automl
