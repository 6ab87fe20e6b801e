#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/json.h"

namespace assay::micro {

/// The workload's configuration: one JSON object, every key optional. All errors are of kind
/// config and name the file and the key.
class Config {
 public:
  /// "" is the empty configuration.
  explicit Config(const std::string& path);

  [[nodiscard]] std::int64_t integer(const std::string& key, std::int64_t fallback,
                                     std::int64_t least, std::int64_t most);
  [[nodiscard]] double number(const std::string& key, double fallback, double least, double most);
  /// "f32" is the one type so far.
  [[nodiscard]] std::string choice(const std::string& key, const std::string& fallback,
                                   const std::vector<std::string>& choices);

  /// Call when all keys have been read: what has not been asked for is an unknown key.
  void reject_unknown() const;

 private:
  [[nodiscard]] const Json* find(const std::string& key);
  [[noreturn]] void wrong(const std::string& key, const std::string& expected,
                          const Json& found) const;

  std::string path_;
  Json values_ = Json::object();
  std::vector<std::string> known_;
};

}  // namespace assay::micro
