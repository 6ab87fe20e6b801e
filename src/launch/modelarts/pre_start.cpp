#include "launch/modelarts/pre_start.h"

#include "core/text.h"

namespace assay::launch {

std::optional<std::string> pre_start_script(std::string_view given,
                                            const std::map<std::string, std::string>& environment) {
  std::string script;
  bool changed = !environment.empty();
  for (const std::string_view line : split(given, '\n')) {
    if (line.find("SINGLESERVER_MODE=") != std::string_view::npos) {
      changed = true;
      continue;
    }
    script += std::string(line) + "\n";
  }
  if (!changed) return std::nullopt;
  while (script.ends_with("\n\n")) script.pop_back();
  if (script.empty() || script == "\n") script = "#!/bin/bash\n";
  for (const auto& [name, value] : environment)
    script += "export " + name + "=" + shell_quote(value) + "\n";
  return script;
}

}  // namespace assay::launch
