#include "automl/distance.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <limits>

namespace assay::automl {

namespace {

// Integers have a minimum of one cycle where doubles have four, and that minimum is the chain that
// limits the recurrence.
constexpr std::int64_t unit = std::int64_t{1} << 40;
constexpr std::int64_t far = std::int64_t{1} << 60;

double relative(int x, int y) {
  return x == y ? 0 : static_cast<double>(std::abs(x - y)) / std::max(x, y);
}

// One vector per use and thread: distances allocate nothing once these have grown.
struct Workspace {
  std::vector<std::int64_t> costs;      // of a's symbol and b's symbol
  std::vector<std::int64_t> cost_rows;  // of a's symbol and b's layer
  std::vector<std::int64_t> row;
  std::vector<Skip> a, b;
  std::vector<double> pair_cost, u, v, shortest;
  std::vector<int> match, way;
  std::vector<char> used;
};

Workspace& workspace() {
  thread_local Workspace instance;
  return instance;
}

// The cheapest alignment of a[0..n) and b[0..m) among those that stay within `band` of the
// diagonal: exact when it is not above `band`, because every step off the diagonal costs 1. row[j]
// holds D[i][j] - j, which turns "insert" into a plain running minimum.
std::int64_t banded(const std::uint16_t* a, int n, int m, const std::int64_t* cost_rows,
                    std::int64_t* row, int band) {
  for (int j = 0; j <= m; ++j) row[j] = j <= band ? 0 : far;
  for (int i = 1; i <= n; ++i) {
    const std::int64_t* cost = cost_rows + static_cast<std::ptrdiff_t>(a[i - 1]) * m - 1;
    const int begin = std::max(1, i - band);
    const int end = std::min(m, i + band);
    std::int64_t diagonal = row[begin - 1];
    std::int64_t left = begin == 1 && i <= band ? i * unit : far;
    row[begin - 1] = left;
    for (int j = begin; j <= end; ++j) {
      const std::int64_t above = row[j];
      const std::int64_t best = std::min(above + unit, diagonal + cost[j] - unit);
      diagonal = above;
      left = std::min(left, best);
      row[j] = left;
    }
  }
  return row[m] + m * unit;
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
      w.costs[x * symbols + y] =
          std::llround(layer_distance(a.symbols[x], b.symbols[y]) * static_cast<double>(unit));
    }
  }
  w.cost_rows.resize(a.symbols.size() * m);
  for (std::size_t x = 0; x < a.symbols.size(); ++x) {
    for (int j = 0; j < m; ++j) {
      w.cost_rows[x * m + j] = w.costs[x * symbols + b.layers[begin + j]];
    }
  }
  w.row.resize(m + 1);
  for (int band = std::max(std::abs(n - m), 4);;) {
    const std::int64_t d =
        banded(a.layers.data() + begin, n, m, w.cost_rows.data(), w.row.data(), band);
    if (d <= band * unit || band >= std::max(n, m)) {
      return static_cast<double>(d) / static_cast<double>(unit);
    }
    // No distance is above what an alignment costs, so a band of that width would do.
    band = static_cast<int>(std::min<std::int64_t>(3 * band, d / unit + 1));
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
