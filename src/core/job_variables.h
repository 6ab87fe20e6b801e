#pragma once

#include <string_view>

namespace assay {

/// In the environment of a job of the platform: its number, and the numbers of its devices on each
/// node ("0,1,2").
inline constexpr std::string_view kJobIdVariable = "ASSAY_JOB_ID";
inline constexpr std::string_view kDevicesVariable = "ASSAY_DEVICES";

/// In a case's environment: a command that has come to its `sleep infinity` has ended, and well.
/// The value is how long it is left alone after that ("30m"), so that people can still enter it.
inline constexpr std::string_view kKeepOpenVariable = "ASSAY_KEEP_OPEN";

/// Of a rank whose command runs in a container, outside of it: the words, as JSON, before a command
/// that is to be run inside. "{pid}" is the rank's process.
inline constexpr std::string_view kContainerVariable = "ASSAY_CONTAINER";

}  // namespace assay
