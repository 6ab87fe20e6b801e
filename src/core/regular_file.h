#pragma once

#include <filesystem>
#include <string>

#include "core/files.h"

namespace assay {

// Files of a run directory come from outside: instead of one there may be a FIFO that blocks its
// reader for ever, an endless device, or a link to something that was never recorded. All readers
// open them through these functions.

/// Opens a regular file for reading; empty when there is none. Never waits, and does not follow a
/// link in its place. Throws an Error of kind environment that names the path: "not a regular
/// file", or why it cannot be opened.
[[nodiscard]] UniqueFd open_regular_file(const std::filesystem::path& path);

/// The content of a regular file. Throws an Error of kind environment, also when there is none.
[[nodiscard]] std::string read_regular_file(const std::filesystem::path& path);

/// Like read_regular_file, but returns "" when the file is missing, irregular or unreadable.
[[nodiscard]] std::string read_regular_file_or_empty(const std::filesystem::path& path);

/// The same for files in a folder that a person made (a package, a checkout): links are followed,
/// but only to regular files.
[[nodiscard]] std::string read_plain_file(const std::filesystem::path& path);
[[nodiscard]] std::string read_plain_file_or_empty(const std::filesystem::path& path);

/// Whether `path` is a link, a FIFO, a device or a socket rather than a file or a folder.
[[nodiscard]] bool is_irregular(const std::filesystem::path& path);

}  // namespace assay
