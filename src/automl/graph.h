#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "automl/layer.h"
#include "core/json.h"

namespace assay::automl {

/// One entry of AIPerf's `operation_history`.
struct HistoryEntry {
  enum class Kind : std::uint8_t { deeper, wider, add_skip, concat_skip };
  Kind kind = Kind::deeper;
  int layer = 0;  ///< the layer that was changed, or where the skip starts
  int other = 0;  ///< channels added (wider), or the layer where the skip ends
  Layer added;    ///< deeper: the layer that was put in, with the nodes it then had
  friend bool operator==(const HistoryEntry&, const HistoryEntry&) = default;
};

/// A feed-forward network. A value: copies share one immutable structure and cost a reference
/// count; every Graph that exists is acyclic, connected and of consistent shapes. Safe to read from
/// many threads. Layer and node ids are indices and stay valid in the children that morphisms make.
class Graph {
 public:
  /// Node 0 is the input; every other node is written by exactly one layer, and exactly one node,
  /// the output, is read by none. Shapes are inferred. Throws Error of kind config at `where` for a
  /// graph that is cyclic, cut, or of impossible shapes.
  Graph(Shape input, std::vector<Layer> layers, std::vector<HistoryEntry> history = {},
        const std::string& where = {});

  [[nodiscard]] std::span<const Layer> layers() const noexcept { return data_->layers; }
  [[nodiscard]] std::span<const Shape> shapes() const noexcept {
    return data_->shapes;
  }  ///< by node
  [[nodiscard]] std::span<const HistoryEntry> history() const noexcept { return data_->history; }
  /// Layer ids, every layer after those that write its inputs.
  [[nodiscard]] std::span<const int> order() const noexcept { return data_->order; }
  /// Ids of the layers that read `node`, ascending; a layer that reads it twice is there twice.
  [[nodiscard]] std::span<const int> readers(int node) const noexcept;
  /// The layer that writes `node`; -1 for the input.
  [[nodiscard]] int writer(int node) const noexcept { return data_->writer[node]; }
  [[nodiscard]] int output() const noexcept { return data_->output; }
  /// The nodes of the longest path from the input, counted in layers; of equally long ones, that
  /// through the smaller node ids.
  [[nodiscard]] std::span<const int> main_chain() const noexcept { return data_->main_chain; }
  /// Counted as AIPerf does: conv (in·k²+1)·filters, dense (in+1)·units, batch norm 4·features.
  [[nodiscard]] std::int64_t parameters() const noexcept { return data_->parameters; }
  /// Values in all nodes together, for one sample: what training has to keep.
  [[nodiscard]] std::int64_t activations() const noexcept { return data_->activations; }
  /// The same for graphs that differ only in the numbering of layers and nodes and in the order of
  /// an add's inputs; different otherwise, but for 64-bit collisions and symmetries that two rounds
  /// of color refinement cannot see. The history does not count.
  [[nodiscard]] std::uint64_t hash() const noexcept { return data_->hash; }

  friend bool operator==(const Graph& a, const Graph& b);

 private:
  struct Data {
    std::vector<Layer> layers;
    std::vector<Shape> shapes;
    std::vector<HistoryEntry> history;
    std::vector<int> order;
    std::vector<int> reader_start;  // readers of node n: reader_ids[reader_start[n] ...]
    std::vector<int> reader_ids;
    std::vector<int> writer;
    std::vector<int> main_chain;
    int output = 0;
    std::int64_t parameters = 0;
    std::int64_t activations = 0;
    std::uint64_t hash = 0;
  };
  static void connect(Data& data, const std::string& where);
  static void sort(Data& data, const std::string& where);
  static void infer_shapes(Data& data, const std::string& where);
  static void find_main_chain(Data& data);
  static std::uint64_t structure_hash(const Data& data);

  std::shared_ptr<const Data> data_;
};

/// Parameters of one layer, as Graph::parameters() counts them.
[[nodiscard]] std::int64_t parameters(const Layer& layer) noexcept;

/// AIPerf's graph file. `adj_list` and `reverse_adj_list` are written in the order of layer ids.
[[nodiscard]] Json to_json(const Graph& graph);

/// Reads AIPerf's graph file. Everything that the file states twice (shapes, adjacency, inputs
/// and outputs) must agree. Throws Error of kind config at `where`.
[[nodiscard]] Graph graph_from_json(const Json& json, const std::string& where);

}  // namespace assay::automl
