#include "train/tokens/text_files.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "core/error.h"
#include "core/json.h"
#include "core/json_error.h"
#include "core/json_skim.h"
#include "core/text.h"
#include "train/tokens/folder_files.h"
#include "train/tokens/split.h"

namespace assay::train::tokens {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

bool is_json_lines(const fs::path& path) {
  const std::string extension = to_lower(path.extension().string());
  return extension == ".jsonl" || extension == ".ndjson";
}

bool is_text(const fs::path& path) {
  return to_lower(path.extension().string()) == ".txt" || is_json_lines(path);
}

void refuse_packed(const fs::path& path) {
  static constexpr std::array<std::string_view, 6> packed{".gz",  ".zst", ".xz",
                                                          ".bz2", ".zip", ".parquet"};
  const std::string extension = to_lower(path.extension().string());
  if (std::ranges::find(packed, extension) != packed.end())
    throw Error(ErrorKind::environment, "a " + extension + " file is not text", path.string(),
                "unpack it first");
}

TextFile text_file(const fs::path& path) {
  std::error_code error;
  const std::uintmax_t size = fs::file_size(path, error);
  if (error)
    throw system_error(ErrorKind::environment, "cannot read the file", path.string(),
                       error.value());
  return {path, is_json_lines(path), static_cast<std::int64_t>(size)};
}

void add_folder(const fs::path& folder, std::vector<TextFile>& files) {
  std::vector<fs::path> found;
  each_file_below(folder, is_text, [&](const fs::path& path) { found.push_back(path); });
  if (found.empty())
    throw Error(ErrorKind::environment, "there is no .txt or .jsonl file in this folder",
                folder.string(), "give a folder of UTF-8 text or JSON Lines");
  std::ranges::sort(found);
  for (const fs::path& path : found) files.push_back(text_file(path));
}

// The end of a part of `text` that starts at `begin`.
std::size_t part_end(std::string_view text, std::size_t begin, std::size_t bytes, bool json_lines) {
  if (text.size() - begin <= bytes) return text.size();
  if (!json_lines) return next_cut(text, begin + bytes);
  const std::size_t line = text.find('\n', begin + bytes);
  return line == std::string_view::npos ? text.size() : line + 1;
}

[[noreturn]] void wrong_line(const TextPart& part, std::string_view line, const std::string& what,
                             const std::string& advice) {
  const std::string_view before =
      part.file->text().substr(0, static_cast<std::size_t>(line.data() - part.file->text().data()));
  throw Error(
      ErrorKind::environment, what,
      fmt::format("{}:{}", part.file->path().string(), 1 + std::ranges::count(before, '\n')),
      advice);
}

// Whether a member's name as written means `key`.
bool is_named(std::string_view written, std::string_view key) {
  if (written.find('\\') == std::string_view::npos) return written == key;
  return Json::parse(fmt::format("\"{}\"", written)).get<std::string>() == key;
}

// A line's text; uses `buffer` if it must be decoded.
std::string_view text_of(const TextPart& part, std::string_view line, std::string_view key,
                         std::string& buffer) {
  static const std::string nowhere;
  std::string_view value;
  try {
    each_json_member(line, nowhere, [&](std::string_view name, std::string_view member) {
      if (is_named(name, key)) value = member;
    });
    if (value.empty())
      wrong_line(part, line, fmt::format("the line has no '{}'", printable(key)),
                 "name the member with the text with --key");
    if (value.front() != '"')
      wrong_line(part, line, fmt::format("'{}' is not text", printable(key)),
                 "name the member with the text with --key");
    if (value.find('\\') == std::string_view::npos) return value.substr(1, value.size() - 2);
    buffer = Json::parse(value).get<std::string>();
    return buffer;
  } catch (const Error& error) {
    if (!error.where().empty()) throw;
    wrong_line(part, line, "not a line of JSON: " + error.message(),
               "one object a line is expected");
  } catch (const std::exception& error) {
    wrong_line(part, line,
               fmt::format("'{}': {}", printable(key), flaw_of(error, value).sentence()),
               "one object a line is expected");
  }
}

}  // namespace

std::vector<TextFile> find_text_files(std::span<const fs::path> paths) {
  std::vector<TextFile> files;
  for (const fs::path& path : paths) {
    std::error_code ignored;
    if (fs::is_directory(path, ignored)) {
      add_folder(path, files);
    } else {
      refuse_packed(path);
      files.push_back(text_file(path));
    }
  }
  return files;
}

void each_text_parts(std::span<const TextFile> files, std::size_t part_bytes, std::size_t bytes,
                     const std::function<void(std::span<const TextPart>)>& work) {
  constexpr std::size_t most_parts = 4096;
  std::vector<TextPart> parts;
  std::size_t collected = 0;
  const auto hand_over = [&] {
    if (!parts.empty()) work(parts);
    parts.clear();
    collected = 0;
  };
  for (const TextFile& wanted : files) {
    const auto file = std::make_shared<const MappedFile>(wanted.path);
    file->read_ahead();
    std::string_view text = file->text();
    if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = part_end(text, begin, part_bytes, wanted.json_lines);
      parts.push_back(
          {file, wanted.json_lines, end == text.size(), text.substr(begin, end - begin)});
      collected += end - begin;
      begin = end;
      if (collected >= bytes || parts.size() >= most_parts) hand_over();
    }
  }
  hand_over();
}

void each_document(const TextPart& part, std::string_view key,
                   const std::function<void(std::string_view text)>& document) {
  if (part.text.find('\0') != std::string_view::npos)
    throw Error(ErrorKind::environment, "the file holds zero bytes: it is not UTF-8 text",
                part.file->path().string(),
                "convert it, as from UTF-16 with iconv, or leave it out");
  if (!part.json_lines) return document(part.text);
  std::string buffer;
  for (std::string_view rest = part.text; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = trim(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (!line.empty()) document(text_of(part, line, key, buffer));
  }
}

}  // namespace assay::train::tokens
