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

/// A file of text: a whole document, or JSON Lines with a document in each line.
struct TextFile {
  std::filesystem::path path;
  bool json_lines = false;
  std::int64_t size = 0;  ///< bytes
};

/// The files, and in folders, all the way down, those named .txt, .jsonl and .ndjson, in the order
/// of their names; links are followed. Throws Error: of kind environment for what is not there, is
/// not text (.gz, .zst, …), a folder without any, or what each_file_below() refuses.
[[nodiscard]] std::vector<TextFile> find_text_files(std::span<const std::filesystem::path> paths);

/// A part of a file for one thread: whole lines, or text that can be cut there without changing
/// its pieces. Holds the file.
struct TextPart {
  std::shared_ptr<const MappedFile> file;
  bool json_lines = false;
  bool ends_file = false;
  std::string_view text;
};

/// Goes over all files in order: calls `work(parts)` with some of the parts at a time, those of
/// about `bytes` bytes together, each of at most about `part_bytes` unless a line or word is
/// longer. Throws Error of kind environment for a file that cannot be read.
void each_text_parts(std::span<const TextFile> files, std::size_t part_bytes, std::size_t bytes,
                     const std::function<void(std::span<const TextPart>)>& work);

/// Calls `document(text)` for each document that ends in or goes on through the part, in order;
/// an empty line of JSON Lines is none. `key` names the member with the text. Throws Error of kind
/// environment with the file and line: not an object, no such member, zero bytes, …
void each_document(const TextPart& part, std::string_view key,
                   const std::function<void(std::string_view text)>& document);

}  // namespace assay::train::tokens
