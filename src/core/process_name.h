#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <sys/types.h>

namespace assay {

/// When the process started, in clock ticks since boot; empty: it is gone.
[[nodiscard]] std::string start_time(pid_t pid);

/// The number of this process's pid namespace ("4026531836"); "0": the system does not tell.
[[nodiscard]] std::string pid_namespace();

/// A name that no other process ever has, on any machine: its boot, the pid namespace, the pid and
/// when it started ("BOOT:4026531836:71:9034"). Empty: the process is gone.
[[nodiscard]] std::string process_name(pid_t pid);

/// The pid of the process of that name. Nothing: it is gone, is of another machine or of a pid
/// namespace that is not this process's, or the text is no name.
[[nodiscard]] std::optional<pid_t> find_process(std::string_view name);

}  // namespace assay
