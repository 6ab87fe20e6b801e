#pragma once

#include <string_view>

namespace assay {

/// Set in the environment of a platform job: its number, and the numbers of its devices on each
/// node ("0,1,2").
inline constexpr std::string_view kJobIdVariable = "ASSAY_JOB_ID";
inline constexpr std::string_view kDevicesVariable = "ASSAY_DEVICES";

/// Set in a case's environment: a command that reaches its `sleep infinity` has ended successfully.
/// The value is how long it is left alone after that ("30m"), so that people can still enter it.
inline constexpr std::string_view kKeepOpenVariable = "ASSAY_KEEP_OPEN";

/// Set for a rank outside the container in which its command runs: the words, as JSON, to put
/// before a command so that it runs inside. "{pid}" stands for the rank's process.
inline constexpr std::string_view kContainerVariable = "ASSAY_CONTAINER";

}  // namespace assay
