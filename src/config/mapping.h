#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/node.h"

namespace assay::config {

/// A mapping with a fixed set of keys. The constructor throws if the node is not a mapping or has a
/// key that is not in `keys`, and suggests the nearest one.
class Mapping {
 public:
  /// `what` names it in errors: "a case"; a single word is a key and is quoted: "telemetry".
  Mapping(Node node, std::string what, const std::vector<std::string>& keys);

  [[nodiscard]] const Node& node() const noexcept { return node_; }
  /// nullptr when the key is absent or has no value (`key:` alone).
  [[nodiscard]] const Node* find(std::string_view key) const noexcept;
  [[nodiscard]] bool has(std::string_view key) const noexcept { return find(key) != nullptr; }
  /// Throws "<what> needs 'key'" when it is absent.
  [[nodiscard]] const Node& at(std::string_view key) const;

  [[nodiscard]] std::string text_or(std::string_view key, std::string fallback) const;
  [[nodiscard]] std::vector<std::string> texts_or_empty(std::string_view key) const;
  /// One of `choices`, or the first of them when the key is absent.
  [[nodiscard]] std::string choice(std::string_view key,
                                   const std::vector<std::string>& choices) const;

 private:
  Node node_;
  std::string what_;
};

/// One of `choices`; an error names the nearest.
[[nodiscard]] std::string choice(const Node& node, const std::vector<std::string>& choices);

/// Throws at `node` unless `known` contains `word`; `what` is "workload", "rule".
void require_known(const Node& node, std::string_view what, const std::string& word,
                   const std::vector<std::string>& known);

}  // namespace assay::config
