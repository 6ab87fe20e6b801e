#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/mapped_file.h"

namespace assay::train::tokens {

/// A text file: a whole document, or JSON Lines with a document per line.
struct TextFile {
  std::filesystem::path path;
  bool json_lines = false;
  std::int64_t size = 0;  ///< in bytes
};

/// The given files and, in folders at any depth, those named .txt, .jsonl and .ndjson, ordered by
/// name; follows links. Throws Error of kind environment for a missing file, one that is not text
/// (.gz, .zst, …), a folder without text, or whatever each_file_below() refuses.
[[nodiscard]] std::vector<TextFile> find_text_files(std::span<const std::filesystem::path> paths);

/// A part of a file for one thread: whole lines, or text that can be divided there without changing
/// its pieces. Keeps the file mapped.
struct TextPart {
  std::shared_ptr<const MappedFile> file;
  bool json_lines = false;
  bool ends_file = false;
  std::string_view text;
};

/// Goes through all files in order: calls `work(parts)` with several parts at a time, of about
/// `bytes` bytes in total, each of at most about `part_bytes` unless a line or word is longer.
/// Throws Error of kind environment for an unreadable file.
void each_text_parts(std::span<const TextFile> files, std::size_t part_bytes, std::size_t bytes,
                     const std::function<void(std::span<const TextPart>)>& work);

/// Calls `document(text)` in order for each document that ends in the part or continues through it;
/// empty lines of JSON Lines are skipped. `key` names the member with the text. Throws Error of
/// kind environment with the file and line: not an object, no such member, zero bytes, …
void each_document(const TextPart& part, std::string_view key,
                   const std::function<void(std::string_view text)>& document);

}  // namespace assay::train::tokens
