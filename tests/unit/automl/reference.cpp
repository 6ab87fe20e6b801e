#include "unit/automl/reference.h"

#include <algorithm>
#include <cmath>

namespace assay::automl::testing {

namespace {

std::vector<double> draw(std::size_t n, double low, double high, std::mt19937_64& random) {
  std::uniform_real_distribution<double> uniform(low, high);
  std::vector<double> values(n);
  for (double& v : values) v = uniform(random);
  return values;
}

// Calls f(output row, output column, row, column) for every tap of a window that lies on data.
template <class F>
void each_tap(const Layer& l, const Shape& in, const Shape& out, F&& f) {
  for (int oy = 0; oy < out.height; ++oy) {
    for (int ox = 0; ox < out.width; ++ox) {
      for (int ky = 0; ky < l.kernel; ++ky) {
        for (int kx = 0; kx < l.kernel; ++kx) {
          const int y = oy * l.stride - l.padding + ky;
          const int x = ox * l.stride - l.padding + kx;
          if (y >= 0 && x >= 0 && y < in.height && x < in.width) f(oy, ox, ky, kx, y, x);
        }
      }
    }
  }
}

std::size_t at(const Shape& s, int y, int x, int c) {
  return (static_cast<std::size_t>(y) * s.width + x) * s.channels + c;
}

}  // namespace

LayerWeights random_layer(const Layer& l, std::mt19937_64& random) {
  LayerWeights w;
  if (l.kind == LayerKind::conv || l.kind == LayerKind::dense) {
    const int window = l.kind == LayerKind::conv ? l.kernel * l.kernel : 1;
    const double bound = std::sqrt(6.0 / (window * l.in));
    w.w = draw(static_cast<std::size_t>(window) * l.in * l.out, -bound, bound, random);
    w.b = draw(l.out, -0.1, 0.1, random);
  } else if (l.kind == LayerKind::batch_norm) {
    w.scale = draw(l.in, 0.5, 1.5, random);
    w.shift = draw(l.in, -0.3, 0.3, random);
    w.mean = draw(l.in, -0.3, 0.3, random);
    w.variance = draw(l.in, 0.5, 2, random);
  }
  return w;
}

NetworkWeights random_weights(const Graph& graph, std::mt19937_64& random) {
  NetworkWeights weights;
  for (const Layer& layer : graph.layers()) weights.push_back(random_layer(layer, random));
  return weights;
}

std::vector<double> random_input(const Graph& graph, std::mt19937_64& random) {
  return draw(graph.shapes()[0].values(), -1, 1, random);
}

std::vector<double> run(const Graph& graph, const NetworkWeights& weights,
                        const std::vector<double>& input) {
  std::vector<std::vector<double>> nodes(graph.shapes().size());
  nodes[0] = input;
  for (const int id : graph.order()) {
    const Layer& l = graph.layers()[id];
    const LayerWeights& w = weights[id];
    const Shape& in = graph.shapes()[l.inputs[0]];
    const Shape& out = graph.shapes()[l.output];
    const std::vector<double>& x = nodes[l.inputs[0]];
    std::vector<double>& y = nodes[l.output];
    y.assign(out.values(), 0);
    switch (l.kind) {
      case LayerKind::conv:
        for (std::size_t i = 0; i < y.size(); ++i) y[i] = w.b[i % l.out];
        each_tap(l, in, out, [&](int oy, int ox, int ky, int kx, int iy, int ix) {
          for (int o = 0; o < l.out; ++o) {
            double sum = 0;
            for (int c = 0; c < l.in; ++c) {
              sum +=
                  w.w[((static_cast<std::size_t>(o) * l.in + c) * l.kernel + ky) * l.kernel + kx] *
                  x[at(in, iy, ix, c)];
            }
            y[at(out, oy, ox, o)] += sum;
          }
        });
        break;
      case LayerKind::dense:
        for (int o = 0; o < l.out; ++o) {
          y[o] = w.b[o];
          for (int c = 0; c < l.in; ++c) y[o] += w.w[static_cast<std::size_t>(o) * l.in + c] * x[c];
        }
        break;
      case LayerKind::batch_norm:
        for (std::size_t i = 0; i < y.size(); ++i) {
          const std::size_t c = i % in.channels;
          y[i] = w.scale[c] * (x[i] - w.mean[c]) / std::sqrt(w.variance[c] + norm_epsilon) +
                 w.shift[c];
        }
        break;
      case LayerKind::relu:
        for (std::size_t i = 0; i < y.size(); ++i) y[i] = std::max(x[i], 0.0);
        break;
      case LayerKind::max_pool:
        std::fill(y.begin(), y.end(), -INFINITY);
        each_tap(l, in, out, [&](int oy, int ox, int, int, int iy, int ix) {
          for (int c = 0; c < in.channels; ++c) {
            double& v = y[at(out, oy, ox, c)];
            v = std::max(v, x[at(in, iy, ix, c)]);
          }
        });
        break;
      case LayerKind::global_avg_pool:
        for (std::size_t i = 0; i < x.size(); ++i) {
          y[i % in.channels] += x[i] / (in.height * in.width);
        }
        break;
      case LayerKind::add:
        for (std::size_t i = 0; i < y.size(); ++i) y[i] = x[i] + nodes[l.inputs[1]][i];
        break;
      case LayerKind::concat: {
        const Shape& other = graph.shapes()[l.inputs[1]];
        for (int i = 0; i < in.height * in.width; ++i) {
          for (int c = 0; c < out.channels; ++c) {
            y[static_cast<std::size_t>(i) * out.channels + c] =
                c < in.channels
                    ? x[static_cast<std::size_t>(i) * in.channels + c]
                    : nodes[l.inputs[1]]
                           [static_cast<std::size_t>(i) * other.channels + c - in.channels];
          }
        }
        break;
      }
      case LayerKind::dropout:
      case LayerKind::flatten:
        y = x;
        break;
      case LayerKind::softmax: {
        const double largest = *std::max_element(x.begin(), x.end());
        double sum = 0;
        for (std::size_t i = 0; i < y.size(); ++i) sum += y[i] = std::exp(x[i] - largest);
        for (double& v : y) v /= sum;
        break;
      }
    }
  }
  return nodes[graph.output()];
}

Operations count_by_walking(const Graph& graph) {
  Operations n;
  std::vector<int> gradients(graph.shapes().size(), 0);  // arrived so far at each node
  for (const int id : graph.order()) {
    const Layer& l = graph.layers()[id];
    const Shape& in = graph.shapes()[l.inputs[0]];
    const Shape& out = graph.shapes()[l.output];
    const bool wanted = l.inputs[0] != 0;  // nobody asks for the gradient of the input
    switch (l.kind) {
      case LayerKind::conv:
        each_tap(l, in, out, [&](int, int, int, int, int, int) {
          for (int o = 0; o < l.out; ++o) {
            for (int c = 0; c < l.in; ++c) {
              n.forward += 2;               // y += w·x
              n.backward += 2;              // dw += dy·x
              if (wanted) n.backward += 2;  // dx += dy·w
            }
          }
        });
        for (int i = 0; i < out.values(); ++i) n.backward += 1;  // db += dy
        break;
      case LayerKind::dense:
        for (int o = 0; o < l.out; ++o) {
          for (int c = 0; c < l.in; ++c) {
            n.forward += 2;
            n.backward += wanted ? 4 : 2;
          }
          n.backward += 1;
        }
        break;
      case LayerKind::batch_norm:
        for (int i = 0; i < in.values(); ++i) {
          n.forward += 1;               // sum += x
          n.forward += 1 + 2;           // d = x - mean; squares += d·d
          n.forward += 1 + 2;           // (x - mean)·scale + shift
          n.backward += 1;              // dshift += dy
          n.backward += 2;              // dscale += dy·normal
          if (wanted) n.backward += 4;  // dx = k·(dy - a - normal·b)
        }
        break;
      case LayerKind::max_pool: {
        std::vector<bool> seen(out.values(), false);
        each_tap(l, in, out, [&](int oy, int ox, int, int, int, int) {
          for (int c = 0; c < in.channels; ++c) {
            if (seen[at(out, oy, ox, c)]) n.forward += 1;  // the first is no comparison
            seen[at(out, oy, ox, c)] = true;
          }
        });
        for (int i = 0; i < out.values(); ++i) n.backward += wanted ? 1 : 0;
        break;
      }
      case LayerKind::global_avg_pool:
        for (int c = 0; c < in.channels; ++c) {
          for (int i = 1; i < in.height * in.width; ++i) n.forward += 1;  // sum
          n.forward += 1;                                                 // divide
          n.backward += wanted ? 1 : 0;                                   // dy / cells, once
        }
        break;
      case LayerKind::relu:
      case LayerKind::dropout:
        for (int i = 0; i < in.values(); ++i) {
          n.forward += 1;
          n.backward += wanted ? 1 : 0;
        }
        break;
      case LayerKind::add:
        for (int i = 0; i < in.values(); ++i) n.forward += 1;
        break;
      case LayerKind::softmax:
        for (int i = 0; i < in.values(); ++i) {
          n.forward += (i > 0 ? 2 : 0) + 3;  // largest and sum; subtract, exp, divide
          n.backward += wanted ? (i > 0 ? 2 : 1) + 2 : 0;
        }
        break;
      case LayerKind::concat:
      case LayerKind::flatten:
        break;
    }
    for (int slot = 0; slot < (l.has_two_inputs() ? 2 : 1); ++slot) {
      const int node = l.inputs[slot];
      if (node != 0 && gradients[node]++ > 0) n.backward += graph.shapes()[node].values();
    }
  }
  return n;
}

}  // namespace assay::automl::testing
