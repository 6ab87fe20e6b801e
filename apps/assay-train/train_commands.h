#pragma once

#include <span>
#include <string>
#include <vector>

namespace assay::train {

/// The commands of assay-train besides training: `assay-train NAME ...`. A command gets the
/// arguments after its name and returns the exit code; failures are thrown as Error.
struct Command {
  std::string name;
  std::string summary;
  int (*run)(const std::vector<std::string>& arguments);
};
[[nodiscard]] std::span<const Command> commands();

int run_plan(const std::vector<std::string>& arguments);
int run_tokenize(const std::vector<std::string>& arguments);

}  // namespace assay::train
