#pragma once

#include <filesystem>
#include <string>

#include "core/files.h"

namespace assay {

// Files of a run directory are what somebody gives us: in place of one there may be a FIFO, on
// which a reader waits for ever, a device without an end, or a link to what was never recorded.
// Whatever reads them opens them here.

/// Opens a regular file for reading; empty when there is no such file. Never waits, and follows no
/// link in place of the file. Throws Error of kind environment that names the path: "not a regular
/// file", or why it cannot be opened.
[[nodiscard]] UniqueFd open_regular_file(const std::filesystem::path& path);

/// The content of a regular file; throws Error of kind environment, also when there is none.
[[nodiscard]] std::string read_regular_file(const std::filesystem::path& path);

/// The same, or "" when there is none, or it is no regular file or cannot be read.
[[nodiscard]] std::string read_regular_file_or_empty(const std::filesystem::path& path);

/// The same for a file of a folder that somebody has made by hand (a package, a checkout): links
/// are followed there, but to nothing else than a regular file.
[[nodiscard]] std::string read_plain_file(const std::filesystem::path& path);
[[nodiscard]] std::string read_plain_file_or_empty(const std::filesystem::path& path);

/// Whether a link, a FIFO, a device or a socket is there instead of a file or a folder.
[[nodiscard]] bool is_irregular(const std::filesystem::path& path);

}  // namespace assay
