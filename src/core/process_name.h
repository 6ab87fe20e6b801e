#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <sys/types.h>

namespace assay {

/// When the process started, in clock ticks since boot; empty when it is gone.
[[nodiscard]] std::string start_time(pid_t pid);

/// The number of this process's pid namespace ("4026531836"); "0" when the system does not tell.
[[nodiscard]] std::string pid_namespace();

/// A name that no other process ever has, on any machine, made of the boot, the pid namespace, the
/// pid and the start time ("BOOT:4026531836:71:9034"). Empty when the process is gone.
[[nodiscard]] std::string process_name(pid_t pid);

/// The pid of the process with that name; nothing when it is gone, belongs to another machine or
/// another pid namespace, or the text is not such a name.
[[nodiscard]] std::optional<pid_t> find_process(std::string_view name);

}  // namespace assay
