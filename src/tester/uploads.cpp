#include "tester/uploads.h"

#include <cerrno>
#include <functional>
#include <memory>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "core/error.h"
#include "core/files.h"
#include "core/sha256.h"
#include "serve/refusal.h"

namespace assay::tester {

namespace fs = std::filesystem;

namespace {

std::uint64_t size_of(const fs::path& path) {
  struct stat found {};
  return ::stat(path.c_str(), &found) == 0 ? static_cast<std::uint64_t>(found.st_size) : 0;
}

void sync_folder(const fs::path& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd) ::fsync(fd.get());
}

void remove_tree(const fs::path& path) {
  std::error_code ignored;
  fs::remove_all(path, ignored);
}

[[noreturn]] void disk_failed(const fs::path& path, int error) {
  if (error == ENOSPC || error == EDQUOT)
    throw serve::Refusal(507, "no_room", "the tester's disk is full",
                         "try again later; what was sent is kept");
  throw system_error(ErrorKind::environment, "cannot write", path.string(), error);
}

serve::Refusal wrong_offset(std::uint64_t received) {
  serve::Refusal refusal(409, "wrong_offset", fmt::format("{} bytes are here", received),
                         "go on at 'received'");
  refusal.more["received"] = received;
  return refusal;
}

}  // namespace

Uploads::Uploads(fs::path data) : data_(std::move(data)) {
  make_directories(data_ / "tests");
}

fs::path Uploads::folder(const std::string& id) const {
  return data_ / "tests" / id;
}

fs::path Uploads::file_path(const std::string& id, std::int64_t n) const {
  return folder(id) / "files" / std::to_string(n);
}

std::mutex& Uploads::lock_of(const std::string& id, std::int64_t n) const {
  return locks_[(std::hash<std::string>{}(id) + static_cast<std::size_t>(n)) % locks_.size()];
}

std::uint64_t Uploads::received(const std::string& id, std::int64_t n, const ManifestFile& file) {
  const std::scoped_lock lock(lock_of(id, n));
  try {
    return received_locked(id, n, file);
  } catch (const serve::Refusal&) {
    return 0;  // a wrong hash: starts over
  }
}

std::uint64_t Uploads::received_locked(const std::string& id, std::int64_t n,
                                       const ManifestFile& file) {
  const fs::path path = file_path(id, n);
  const fs::path coming = path.string() + ".part";
  std::error_code ec;
  if (fs::exists(path, ec)) return file.size;
  const std::uint64_t size = size_of(coming);
  // A killed server may have received the whole file without checking it.
  if (size < file.size || !fs::exists(coming, ec)) return size;
  if (sha256_file(coming) != file.sha256) {
    fs::remove(coming, ec);
    serve::Refusal refusal(
        422, "wrong_hash",
        fmt::format("{} is whole, but its SHA-256 is not the manifest's", file.path),
        "send the file again from its beginning; if it has changed, make a new test");
    refusal.more["received"] = 0;
    throw refusal;
  }
  fs::rename(coming, path);
  sync_folder(path.parent_path());
  return file.size;
}

std::uint64_t Uploads::append(const std::string& id, std::int64_t n, const ManifestFile& file,
                              std::uint64_t offset, const std::string& part) {
  const std::scoped_lock lock(lock_of(id, n));
  const fs::path path = file_path(id, n);
  const std::uint64_t before = received_locked(id, n, file);
  // The answer to this part was lost, and the part was sent again.
  const bool again = offset < before && offset + part.size() <= before;
  std::error_code ec;
  if (again || (offset == file.size && fs::exists(path, ec))) return before;
  if (offset != before) throw wrong_offset(before);
  if (part.size() > file.size - offset)
    throw serve::Refusal(
        413, "too_large",
        fmt::format("{} has {} bytes by the manifest, and more came", file.path, file.size));
  make_directories(path.parent_path());
  const fs::path coming = path.string() + ".part";
  UniqueFd fd(::open(coming.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) disk_failed(coming, errno);
  for (std::size_t done = 0; done < part.size();) {
    const ssize_t wrote = ::pwrite(fd.get(), part.data() + done, part.size() - done,
                                   static_cast<off_t>(offset + done));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) {
      const int error = errno;
      // Drops a part that was not written completely.
      if (::ftruncate(fd.get(), static_cast<off_t>(before)) != 0) disk_failed(coming, errno);
      disk_failed(coming, error);
    }
    done += static_cast<std::size_t>(wrote);
  }
  if (::fdatasync(fd.get()) != 0) disk_failed(coming, errno);
  fd.reset();
  return received_locked(id, n, file);
}

fs::path Uploads::make_work_folder(const std::string& id, const Manifest& manifest) {
  fs::path work = folder(id) / "work";
  remove_tree(work);
  make_directories(work);
  std::int64_t n = 0;
  for (const ManifestFile& file : manifest.files) {
    const fs::path from = file_path(id, n);
    const std::uint64_t size = received(id, n++, file);
    std::error_code ec;
    if (!fs::exists(from, ec)) {
      remove_tree(work);
      throw serve::Refusal(409, "incomplete",
                           fmt::format("{} of {} bytes of {} are here", size, file.size, file.path),
                           "send all files of the manifest first");
    }
    if (is_derived(file.path)) continue;
    const fs::path to = work / fs::path(file.path);
    make_directories(to.parent_path());
    if (::link(from.c_str(), to.c_str()) != 0) disk_failed(to, errno);
  }
  return work;
}

void Uploads::remove(const std::string& id) {
  remove_tree(folder(id));
}

void Uploads::remove_work(const std::string& id) {
  remove_tree(folder(id) / "work");
}

void Uploads::remove_evidence(const std::string& id) {
  remove_tree(folder(id) / "files");
}

std::string unpack_zstd(const std::string& packed, std::size_t max) {
  const std::unique_ptr<ZSTD_DStream, decltype(&ZSTD_freeDStream)> stream(ZSTD_createDStream(),
                                                                          &ZSTD_freeDStream);
  if (!stream) throw Error(ErrorKind::environment, "out of memory");
  // Bounds the window, and so the memory, whatever the frame asks for.
  ZSTD_DCtx_setParameter(stream.get(), ZSTD_d_windowLogMax, 23);
  std::string out;
  ZSTD_inBuffer in{packed.data(), packed.size(), 0};
  std::size_t expected = 1;
  std::string piece(ZSTD_DStreamOutSize(), '\0');
  for (bool full = false; in.pos < in.size || full;) {
    ZSTD_outBuffer to{piece.data(), piece.size(), 0};
    expected = ZSTD_decompressStream(stream.get(), &to, &in);
    if (ZSTD_isError(expected) != 0U)
      throw serve::Refusal(
          400, "bad_encoding",
          std::string("the body is not valid zstd: ") + ZSTD_getErrorName(expected));
    // An ended frame has no more output, even if its end filled the piece.
    full = to.pos == to.size && expected != 0;
    if (to.pos > max - out.size())
      throw serve::Refusal(413, "too_large",
                           fmt::format("the unpacked part has more than {} bytes", max));
    out.append(piece.data(), to.pos);
  }
  if (expected != 0) throw serve::Refusal(400, "bad_encoding", "the zstd stream is cut off");
  return out;
}

}  // namespace assay::tester
