#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/node.h"

namespace assay::train {

/// A workload's configuration: one mapping in a JSON or YAML file, every key optional. All errors
/// are of kind config, at file:line:column.
class Options {
 public:
  /// "" is the empty configuration.
  explicit Options(const std::string& path);
  /// For tests and defaults.
  static Options from_text(const std::string& text);

  [[nodiscard]] std::int64_t integer(const std::string& key, std::int64_t fallback,
                                     std::int64_t least, std::int64_t most);
  [[nodiscard]] double number(const std::string& key, double fallback, double least, double most);
  [[nodiscard]] bool flag(const std::string& key, bool fallback);
  [[nodiscard]] std::string text(const std::string& key, const std::string& fallback);
  [[nodiscard]] std::string choice(const std::string& key, const std::string& fallback,
                                   const std::vector<std::string>& choices);
  [[nodiscard]] std::vector<double> numbers(const std::string& key, std::vector<double> fallback,
                                            double least, double most);

  /// Call when all keys have been read: what has not been asked for is an unknown key.
  void reject_unknown() const;
  [[nodiscard]] bool has(const std::string& key) const noexcept;
  /// What was read, defaults included, one `key: value` a line; without the keys that may differ
  /// between the ranks of a training: places of files, threads, time limits, the device's name.
  [[nodiscard]] std::string terms() const;
  /// Throws an Error of kind config at the key, or at the file when it is not given.
  [[noreturn]] void fail(const std::string& key, const std::string& message,
                         const std::string& advice = {}) const;

 private:
  Options() = default;
  void check_mapping() const;
  [[nodiscard]] const config::Node* find(const std::string& key);
  template <typename T>
  T note(const std::string& key, T value);

  std::string path_;
  config::Node root_;
  std::vector<std::string> known_;
  std::vector<std::string> values_;  // of known_, as text
};

}  // namespace assay::train
