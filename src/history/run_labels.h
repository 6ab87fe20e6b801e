#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace assay::history {

struct Note {
  std::string at;  ///< ISO, UTC
  std::string text;
};

/// A person's remarks about a run: labels.json in its folder. They are neither evidence nor
/// derived, and not sealed.
struct Labels {
  std::vector<std::string> tags;  ///< sorted, each once
  std::vector<Note> notes;        ///< in the order of writing
};

/// Returns nothing without the file. Throws Error of kind config if it is malformed.
[[nodiscard]] Labels read_labels(const std::filesystem::path& run);

/// Reads, changes and writes the labels, one process at a time. Returns what was written.
Labels change_labels(const std::filesystem::path& run, const std::function<void(Labels&)>& change);

/// Throws Error of kind usage unless it has 1 to 64 letters, digits, '.', '_', ':' or '-', and does
/// not begin with '-'.
void check_tag(const std::string& tag);
/// The same for 1 to 4000 bytes of text without control characters except line breaks.
void check_note(const std::string& text);

}  // namespace assay::history
