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

/// A person's remarks on a run: labels.json of its folder. It is neither evidence nor derived, and
/// no seal covers it.
struct Labels {
  std::vector<std::string> tags;  ///< sorted, each once
  std::vector<Note> notes;        ///< in the order in which they were written
};

/// Without the file, nothing. Throws Error of kind config when it cannot be understood.
[[nodiscard]] Labels read_labels(const std::filesystem::path& run);

/// Reads, changes and writes them; two processes take turns. Returns the written labels.
Labels change_labels(const std::filesystem::path& run, const std::function<void(Labels&)>& change);

/// Throws Error of kind usage unless it is 1 to 64 letters, digits, '.', '_', ':' or '-', and does
/// not begin with '-'.
void check_tag(const std::string& tag);
/// The same for 1 to 4000 bytes of text without control characters except line breaks.
void check_note(const std::string& text);

}  // namespace assay::history
