#include "automl/widening.h"

#include <utility>

namespace assay::automl {

namespace {

// Channels that an add ties together must be copied together: they form one class.
class Classes {
 public:
  int make() {
    parent_.push_back(static_cast<int>(parent_.size()));
    return parent_.back();
  }
  int find(int x) {
    while (parent_[x] != x) x = parent_[x] = parent_[parent_[x]];
    return x;
  }
  void unite(int a, int b) {
    a = find(a);
    b = find(b);
    if (a != b) parent_[b] = a;
  }
  [[nodiscard]] std::size_t size() const { return parent_.size(); }

 private:
  std::vector<int> parent_;
};

}  // namespace

Widening widening(const Graph& graph, int layer, int added) {
  Classes classes;
  // Per node the class of each channel. Nodes that hold the same channels share one list.
  std::vector<std::vector<int>> lists;
  std::vector<int> list_of(graph.shapes().size(), -1);
  const auto fresh = [&](int channels) {
    std::vector<int> list(channels);
    for (int& c : list) c = classes.make();
    lists.push_back(std::move(list));
    return static_cast<int>(lists.size()) - 1;
  };
  list_of[0] = fresh(graph.shapes()[0].channels);
  for (const int id : graph.order()) {
    const Layer& l = graph.layers()[id];
    const int a = list_of[l.inputs[0]];
    switch (l.kind) {
      case LayerKind::conv:
      case LayerKind::dense:
        list_of[l.output] = fresh(l.out);
        break;
      case LayerKind::add: {
        const int b = list_of[l.inputs[1]];
        for (std::size_t c = 0; a != b && c < lists[a].size(); ++c) {
          classes.unite(lists[a][c], lists[b][c]);
        }
        list_of[l.output] = a;
        break;
      }
      case LayerKind::concat: {
        std::vector<int> joined = lists[a];
        const std::vector<int>& other = lists[list_of[l.inputs[1]]];
        joined.insert(joined.end(), other.begin(), other.end());
        lists.push_back(std::move(joined));
        list_of[l.output] = static_cast<int>(lists.size()) - 1;
        break;
      }
      case LayerKind::flatten: {
        const Shape& in = graph.shapes()[l.inputs[0]];
        std::vector<int> flat;
        flat.reserve(in.values());
        for (int cell = 0; cell < in.height * in.width; ++cell) {
          flat.insert(flat.end(), lists[a].begin(), lists[a].end());
        }
        lists.push_back(std::move(flat));
        list_of[l.output] = static_cast<int>(lists.size()) - 1;
        break;
      }
      default:
        list_of[l.output] = a;
        break;
    }
  }
  std::vector<char> copied(classes.size(), 0);
  const std::vector<int>& target = lists[list_of[graph.layers()[layer].output]];
  for (int c = 0; c < added; ++c) copied[classes.find(target[c])] = 1;
  for (const int end : {0, graph.output()}) {
    for (const int c : lists[list_of[end]]) {
      if (copied[classes.find(c)] != 0) return {};
    }
  }
  std::vector<std::vector<int>> maps(lists.size());
  for (std::size_t i = 0; i < lists.size(); ++i) {
    std::vector<int> map;
    map.reserve(2 * lists[i].size());
    for (std::size_t c = 0; c < lists[i].size(); ++c) {
      map.push_back(static_cast<int>(c));
      if (copied[classes.find(lists[i][c])] != 0) map.push_back(static_cast<int>(c));
    }
    if (map.size() > lists[i].size()) maps[i] = std::move(map);
  }
  Widening result;
  result.nodes.resize(list_of.size());
  for (std::size_t n = 0; n < list_of.size(); ++n) result.nodes[n] = maps[list_of[n]];
  return result;
}

}  // namespace assay::automl
