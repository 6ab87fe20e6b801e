#pragma once

#include <span>
#include <string>
#include <vector>

namespace assay::train {

/// What assay-train does besides training: `assay-train NAME ...`. A command gets what follows its
/// name and gives the exit code; what is wrong it throws as Error.
struct Command {
  std::string name;
  std::string summary;
  int (*run)(const std::vector<std::string>& arguments);
};
[[nodiscard]] std::span<const Command> commands();

int run_plan(const std::vector<std::string>& arguments);
int run_tokenize(const std::vector<std::string>& arguments);

}  // namespace assay::train
