#pragma once

#include <string>
#include <string_view>

#include "config/node.h"

namespace assay::plan {

inline constexpr int kMaxNodes = 100'000;
inline constexpr int kMaxProcs = 4096;
inline constexpr int kMaxRepeats = 1000;
inline constexpr std::size_t kMaxNameBytes = 200;

/// model:framework:hardware:nodes:procs:repeats, a case's name in FlagPerf's order. The framework
/// may have a version after '_' (pytorch_1.13).
struct CaseKey {
  std::string model;
  std::string framework;
  std::string hardware;
  int nodes = 1;
  int procs = 1;
  int repeats = 1;

  [[nodiscard]] std::string text() const;
};

/// Throws Error of kind config at the node.
[[nodiscard]] CaseKey parse_case_key(const config::Node& node);

/// Throws at the node unless `name` can be a folder in the run directory.
void check_case_name(const config::Node& node, const std::string& name);

/// "pytorch" for "pytorch_1.13".
[[nodiscard]] std::string framework_family(std::string_view framework);

}  // namespace assay::plan
