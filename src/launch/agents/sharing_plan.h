#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/shared_file.h"

namespace assay::launch {

/// Decides who sends a large file to whom, so that it leaves the controller once and hosts that
/// have it pass it on. Pure: no clock, no connection. A source is a node, or kController.
///
/// - While nobody has it, the controller sends it to one node.
/// - A node that has it serves kPerSource others at a time; the least busy one is taken.
/// - Who served damaged bytes serves nobody any more, and so does a node that failed two others.
/// - A node that two sources failed, or that has trouble of its own, gets it from the controller,
///   which sends to kByController at a time; what fails there twice is given up.
/// - When kUnreachable attempts at two sources or more failed to connect and none ever did, hosts
///   cannot reach each other: the controller sends to all.
class SharingPlan {
 public:
  static constexpr int kController = -1;
  static constexpr int kPerSource = 2;
  static constexpr int kByController = 4;
  static constexpr int kSourcesTried = 2;
  static constexpr int kUploadsTried = 2;
  static constexpr int kUnreachable = 3;

  struct Order {
    int to = 0;
    int from = kController;
    bool operator==(const Order&) const = default;
  };

  explicit SharingPlan(const std::set<int>& nodes);

  /// What has to begin now.
  [[nodiscard]] std::vector<Order> next();
  /// The node has the file; `passes_on`: others can fetch it there.
  void arrived(int node, bool passes_on);
  /// What was ordered for the node did not come; `reason` for people.
  void failed(int node, agent::FetchFault fault, const std::string& reason);
  /// The node is gone: neither gets nor passes on anything.
  void lost(int node, const std::string& reason);

  /// Whether no node waits for the file or receives it.
  [[nodiscard]] bool done() const;
  /// Whether somebody else than this node may still need a source.
  [[nodiscard]] bool others_need_it(int node) const;
  /// Where a node gets the file from at the moment.
  [[nodiscard]] std::optional<int> source(int node) const;
  /// Node → why it will not get the file.
  [[nodiscard]] const std::map<int, std::string>& given_up() const noexcept { return given_up_; }

  /// Something about a source that people should know.
  struct Notice {
    enum class Kind { damaged, unreliable, unreachable, apart };
    Kind kind{};
    int source = 0;      ///< not of `apart`: hosts cannot reach each other
    int told_by = 0;     ///< the node that noticed it
    std::string reason;  ///< what it saw
  };
  /// Those since the last call.
  [[nodiscard]] std::vector<Notice> take_notices();

 private:
  enum class State { waiting, receiving, has, out };
  struct Node {
    State state = State::waiting;
    int from = kController;      // while receiving
    std::set<int> tried{};       // sources that failed it
    bool by_controller = false;  // others will not do
    int uploads_failed = 0;
    // As a source:
    bool passes_on = false;
    int serving = 0;
    bool reached = false;    // somebody got the file here
    std::set<int> failed{};  // whom it failed
  };

  void order(int node, int from, std::vector<Order>& out);
  void release(Node& node);
  void blame(int source, int told_by, agent::FetchFault fault, const std::string& reason);
  void bar(int source, int told_by, Notice::Kind kind, const std::string& reason);
  [[nodiscard]] std::optional<int> best_source(const Node& node) const;
  /// Whether a source that the node has not tried may come yet.
  [[nodiscard]] bool may_get_source(const Node& node) const;

  std::map<int, Node> nodes_;
  int uploading_ = 0;
  int unreachable_ = 0;        // attempts that found no connection
  std::set<int> not_reached_;  // sources of such attempts
  bool ever_reached_ = false;  // somebody got the file from another node
  bool apart_ = false;         // hosts cannot reach each other
  std::map<int, std::string> given_up_;
  std::vector<Notice> notices_;
};

}  // namespace assay::launch
