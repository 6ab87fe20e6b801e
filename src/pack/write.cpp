#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/error.h"
#include "core/files.h"
#include "core/run_layout.h"
#include "core/sha256.h"
#include "core/text.h"
#include "core/utf8_text.h"
#include "evidence/file_record.h"
#include "pack/contents.h"
#include "pack/packed_run.h"
#include "pack/pieces.h"
#include "store/run_dir.h"

namespace assay::pack {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kReadBytes = std::size_t{1} << 20;
// Small files share a piece of this many bytes, because they compress less individually.
constexpr std::size_t kGroupBytes = std::size_t{64} << 10;

bool belongs(const std::string& path) {
  const layout::RunFile* known = layout::find_run_file(path);
  return known == nullptr || known->role != layout::FileRole::control;
}

void collect(const fs::path& run, Written& out) {
  for (fs::recursive_directory_iterator entry(run), end; entry != end; ++entry) {
    const std::string path = entry->path().lexically_relative(run).generic_string();
    const fs::file_type type = entry->symlink_status().type();
    if (type == fs::file_type::directory) continue;
    if (type != fs::file_type::regular || !belongs(path)) {
      out.left_out.push_back(path);
      continue;
    }
    if (!evidence::is_plain_path(path) || !is_utf8_text(path))
      throw Error(ErrorKind::environment, "the name of a file is not text, so it cannot be packed",
                  (run / printable(path)).string(), "rename it, or move it out of the run");
    out.contents.files.push_back({path, entry->file_size()});
  }
  std::ranges::sort(out.contents.files, {}, &PackedFile::path);
  std::ranges::sort(out.left_out);
}

// A file under a temporary name; removed unless it is given its own.
class NewFile {
 public:
  explicit NewFile(const fs::path& target) : target_(target) {
    name_ = (target.parent_path() / ("." + target.filename().string() + ".XXXXXX")).string();
    fd_ = UniqueFd(::mkostemp(name_.data(), O_CLOEXEC));
    if (!fd_) throw system_error(ErrorKind::environment, "cannot write", target.string(), errno);
  }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;
  ~NewFile() {
    if (!kept_) ::unlink(name_.c_str());
  }
  [[nodiscard]] int fd() const noexcept { return fd_.get(); }
  void keep() {
    const mode_t mask = ::umask(0);
    ::umask(mask);
    if (::fchmod(fd_.get(), 0666 & ~mask) != 0 || ::fsync(fd_.get()) != 0 ||
        ::rename(name_.c_str(), target_.c_str()) != 0)
      throw system_error(ErrorKind::environment, "cannot write", target_.string(), errno);
    kept_ = true;
    const fs::path parent = target_.parent_path().empty() ? "." : target_.parent_path();
    if (const UniqueFd folder(::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)); folder)
      ::fsync(folder.get());
  }

 private:
  fs::path target_;
  std::string name_;
  UniqueFd fd_;
  bool kept_ = false;
};

Error changed_meanwhile(const fs::path& path) {
  return {ErrorKind::environment, "the file changed while it was packed", path.string(),
          "pack the run again when nothing writes into it"};
}

void append_file(const fs::path& path, PackedFile& file, PieceWriter& pieces,
                 const std::function<void(std::uint64_t)>& progress) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!fd) throw system_error(ErrorKind::environment, "cannot read", path.string(), errno);
  Sha256 hash;
  std::string buffer(kReadBytes, '\0');
  std::uint64_t at = 0;
  for (;;) {
    const ssize_t n = ::read(fd.get(), buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw system_error(ErrorKind::environment, "cannot read", path.string(), errno);
    if (n == 0) break;
    const std::string_view bytes(buffer.data(), static_cast<std::size_t>(n));
    at += bytes.size();
    if (at > file.bytes) throw changed_meanwhile(path);
    hash.update(bytes);
    pieces.append(bytes);
    if (progress) progress(bytes.size());
  }
  if (at != file.bytes) throw changed_meanwhile(path);
  file.sha256 = hash.hex();
  pieces.end_piece(kGroupBytes);
}

}  // namespace

Written write(const fs::path& run_dir, const fs::path& out, const Options& options) {
  const store::RunDir run = store::RunDir::open(run_dir);
  if (store::RunLock::held(run.path()))
    throw Error(ErrorKind::usage, "the run is going on", run.path().string(),
                "pack it when it has ended, or end it with 'assay stop'");
  Written written;
  written.contents.run_id = run.plan().run_id;
  collect(run.path(), written);
  const std::string head = head_text(written.contents);
  if (head.size() > kMaxHead)
    throw Error(ErrorKind::environment, "the run has too many files to be packed",
                run.path().string(), "move what is not part of it elsewhere");
  NewFile file(out);
  PieceWriter pieces(file.fd(), out, options.threads);
  pieces.append(head);
  pieces.end_piece(0);
  const std::uint64_t total = written.contents.bytes();
  std::uint64_t done = 0;
  for (PackedFile& packed : written.contents.files)
    append_file(run.path() / packed.path, packed, pieces, [&](std::uint64_t more) {
      done += more;
      if (options.progress) options.progress(done, total);
    });
  pieces.end_piece(0);
  pieces.append(tail_text(written.contents));
  written.packed_bytes = pieces.finish();
  file.keep();
  return written;
}

}  // namespace assay::pack
