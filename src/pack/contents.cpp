#include "pack/contents.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "core/parse_number.h"
#include "core/sha256.h"
#include "core/text.h"
#include "evidence/file_record.h"

namespace assay::pack {

namespace {

constexpr std::string_view kFirst = "assay pack ";
constexpr std::string_view kRun = "run ";
constexpr std::string_view kFiles = "files ";
constexpr std::size_t kMaxLine = 8192;
// Larger than any disk, yet small enough that sums of sizes cannot overflow.
constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 60;

}  // namespace

std::uint64_t Contents::bytes() const noexcept {
  std::uint64_t sum = 0;
  for (const PackedFile& file : files) sum += file.bytes;
  return sum;
}

std::string head_text(const Contents& contents) {
  std::string out = fmt::format("{}{}\n{}{}\n{}{}\n", kFirst, kFormat, kRun, contents.run_id,
                                kFiles, contents.files.size());
  for (const PackedFile& file : contents.files)
    out += fmt::format("{} {}\n", file.bytes, file.path);
  return out;
}

std::string tail_text(const Contents& contents) {
  std::string out;
  for (const PackedFile& file : contents.files) out += file.sha256 + "\n";
  return out + "end\n";
}

std::string digest(const Contents& contents) {
  return sha256(head_text(contents) + tail_text(contents));
}

std::size_t tail_size(const Contents& contents) noexcept {
  return contents.files.size() * kHashLine + 4;
}

void HeadReader::fail(const std::string& what, const std::string& advice) const {
  throw Error(ErrorKind::config, what, where_, advice);
}

void HeadReader::not_a_list() const {
  if (lines_ == 0) fail("this is not a packed run", "'assay pack RUN' makes one");
  fail("the list of files is damaged: it has a line that is too long, or never ends");
}

std::size_t HeadReader::feed(std::string_view bytes) {
  std::size_t at = 0;
  while (!complete_ && at < bytes.size()) {
    const std::string_view rest = bytes.substr(at);
    const std::size_t newline = rest.find('\n');
    const std::string_view part = rest.substr(0, newline);
    if (line_.size() + part.size() > kMaxLine || taken_ + part.size() > kMaxHead) not_a_list();
    line_ += part;
    taken_ += part.size() + 1;
    if (newline == std::string_view::npos) return bytes.size();
    at += newline + 1;
    take_line(std::exchange(line_, {}));
    ++lines_;
    if (lines_ >= 3 && contents_.files.size() == expected_) finish();
  }
  return at;
}

void HeadReader::take_line(std::string_view line) {
  const auto number = [&](std::string_view before) {
    if (!line.starts_with(before))
      fail(fmt::format("the list of files is damaged: expected '{}…', got '{}'", before,
                       printable(ellipsize(line, 60))));
    return line.substr(before.size());
  };
  if (lines_ == 0) {
    const auto format = parse_number<int>(line.starts_with(kFirst) ? number(kFirst) : "", 1);
    if (!format) not_a_list();
    if (*format > kFormat)
      fail(fmt::format("the packed run has format {}, this program reads up to {}", *format,
                       kFormat),
           "use the version of Assay that packed it, or a newer one");
  } else if (lines_ == 1) {
    contents_.run_id = number(kRun);
    if (!evidence::is_plain_path(contents_.run_id) ||
        contents_.run_id.find('/') != std::string::npos)
      fail("the run has a name that no folder can have: '" +
           printable(ellipsize(contents_.run_id, 60)) + "'");
  } else if (lines_ == 2) {
    const auto count = parse_number<std::size_t>(number(kFiles), 0, kMaxHead / 4);
    if (!count) fail("the list of files is damaged: it does not say how many there are");
    expected_ = *count;
  } else {
    take_file(line);
  }
}

void HeadReader::take_file(std::string_view line) {
  const std::size_t space = line.find(' ');
  const auto bytes = parse_number<std::uint64_t>(line.substr(0, space), 0, kMaxBytes);
  if (space == std::string_view::npos || !bytes)
    fail("the list of files is damaged: expected a size and a path, got '" +
         printable(ellipsize(line, 60)) + "'");
  PackedFile file{std::string(line.substr(space + 1)), *bytes};
  const std::string shown = "'" + printable(ellipsize(file.path, 200)) + "'";
  if (!evidence::is_plain_path(file.path)) fail("a path that leaves the folder: " + shown);
  if (!contents_.files.empty() && contents_.files.back().path >= file.path)
    fail(contents_.files.back().path == file.path
             ? "a path is there twice: " + shown
             : "the list of files is damaged: it is not sorted at " + shown);
  total_ += file.bytes;
  if (total_ > kMaxBytes) fail("the sizes of the files cannot be true: " + shown);
  contents_.files.push_back(std::move(file));
}

void HeadReader::finish() {
  std::set<std::string_view> paths;
  for (const PackedFile& file : contents_.files) paths.insert(file.path);
  for (const PackedFile& file : contents_.files)
    for (std::size_t slash = file.path.find('/'); slash != std::string::npos;
         slash = file.path.find('/', slash + 1))
      if (paths.contains(std::string_view(file.path).substr(0, slash)))
        fail("a file that is a folder too: '" + printable(file.path.substr(0, slash)) + "'");
  complete_ = true;
}

}  // namespace assay::pack
