#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace assay::launch {

/// ma-pre-start.sh for jobs of the interface v1, which have no environment: the service runs it
/// before the boot file that it lies beside. `given` is the script that the code brings, or "". As
/// ais-bench does, a SINGLESERVER_MODE in it is taken out; then `environment` is exported at its
/// end. Nothing when the code's own is right as it is. Pure.
[[nodiscard]] std::optional<std::string> pre_start_script(
    std::string_view given, const std::map<std::string, std::string>& environment);

}  // namespace assay::launch
