#include "train/tokens/indexed_writer.h"

#include <cerrno>
#include <limits>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include "core/error.h"
#include "train/tokens/indexed_set.h"

namespace assay::train::tokens {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kFlushAt = std::size_t{4} << 20;
// Above it, Megatron uses int32, too.
constexpr std::int64_t kUint16Vocabulary = 65'500;

template <class T>
void put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof(T));
}

void sync(int fd, const fs::path& path) {
  if (::fsync(fd) != 0)
    throw system_error(ErrorKind::environment, "cannot write the file", path.string(), errno);
}

void rename_to(const fs::path& from, const fs::path& to) {
  if (::rename(from.c_str(), to.c_str()) != 0)
    throw system_error(ErrorKind::environment, "cannot write the file", to.string(), errno);
}

}  // namespace

void require_unwritten(const fs::path& prefix) {
  for (const fs::path& path : {index_path(prefix), tokens_path(prefix)})
    if (std::error_code ignored; fs::exists(path, ignored))
      throw Error(ErrorKind::usage, "the file is there already", path.string(),
                  "give another --output, or --force to replace it");
}

IndexedWriter::IndexedWriter(const fs::path& prefix, std::int64_t vocabulary, bool replace)
    : prefix_(prefix),
      part_(prefix.string() + ".bin.part"),
      type_(vocabulary < kUint16Vocabulary ? kUint16Code : kInt32Code) {
  if (!replace) require_unwritten(prefix);
  if (prefix.has_parent_path()) make_directories(prefix.parent_path());
  fd_ = UniqueFd(::open(part_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
  if (!fd_)
    throw system_error(ErrorKind::environment, "cannot write the file", part_.string(), errno);
  if (::flock(fd_.get(), LOCK_EX | LOCK_NB) != 0)
    throw Error(ErrorKind::environment, "another process is writing this data set", part_.string(),
                "wait for it, or give another --output");
  if (::ftruncate(fd_.get(), 0) != 0)
    throw system_error(ErrorKind::environment, "cannot write the file", part_.string(), errno);
}

IndexedWriter::~IndexedWriter() {
  std::error_code ignored;
  if (!finished_) fs::remove(part_, ignored);
}

void IndexedWriter::append(std::span<const std::int32_t> tokens) {
  for (const std::int32_t token : tokens) {
    if (type_ == kUint16Code)
      put(buffer_, static_cast<std::uint16_t>(token));
    else
      put(buffer_, token);
  }
  tokens_ += static_cast<std::int64_t>(tokens.size());
  if (buffer_.size() >= kFlushAt) flush();
}

void IndexedWriter::end_document() {
  const std::int64_t length = tokens_ - document_begin_;
  if (length == 0) return;
  if (length > std::numeric_limits<std::int32_t>::max())
    throw Error(ErrorKind::environment,
                fmt::format("document {} has {} tokens: an index has room for 2,147,483,647",
                            lengths_.size(), length),
                prefix_.string(), "split the text into smaller files");
  lengths_.push_back(static_cast<std::int32_t>(length));
  document_begin_ = tokens_;
}

void IndexedWriter::flush() {
  write_all(fd_.get(), buffer_, part_);
  buffer_.clear();
}

void IndexedWriter::write_index(const fs::path& path) const {
  const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!fd)
    throw system_error(ErrorKind::environment, "cannot write the file", path.string(), errno);
  std::string out(kIndexMagic);
  put(out, std::uint64_t{1});
  put(out, static_cast<std::uint8_t>(type_));
  put(out, std::uint64_t{lengths_.size()});
  put(out, std::uint64_t{lengths_.size() + 1});
  const auto write = [&](bool all) {
    if (!all && out.size() < kFlushAt) return;
    write_all(fd.get(), out, path);
    out.clear();
  };
  for (const std::int32_t length : lengths_) {
    put(out, length);
    write(false);
  }
  std::int64_t offset = 0;
  const auto width = static_cast<std::int64_t>(token_bytes(static_cast<std::uint64_t>(type_)));
  for (const std::int32_t length : lengths_) {
    put(out, offset);
    write(false);
    offset += length * width;
  }
  for (std::size_t i = 0; i <= lengths_.size(); ++i) {
    put(out, static_cast<std::int64_t>(i));
    write(false);
  }
  write(true);
  sync(fd.get(), path);
}

void IndexedWriter::finish() {
  end_document();
  flush();
  sync(fd_.get(), part_);
  const fs::path index = index_path(prefix_);
  const fs::path index_part = index.string() + ".part";
  write_index(index_part);
  // An old index must never accompany new tokens.
  std::error_code ignored;
  fs::remove(index, ignored);
  rename_to(part_, tokens_path(prefix_));
  finished_ = true;
  rename_to(index_part, index);
  const fs::path folder = prefix_.has_parent_path() ? prefix_.parent_path() : fs::path(".");
  if (const UniqueFd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)); fd)
    ::fsync(fd.get());
}

}  // namespace assay::train::tokens
