#include <cerrno>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "core/error.h"
#include "core/files.h"
#include "core/scratch_folder.h"
#include "core/units.h"
#include "pack/contents.h"
#include "pack/packed_run.h"
#include "pack/pieces.h"
#include "pack/unfold.h"

namespace assay::pack {

namespace fs = std::filesystem;

namespace {

// A packed run that has been read up to the end of its file list.
class Opened {
 public:
  Opened(const fs::path& file, int threads)
      : path_(file), pieces_(file, threads), head_(file.string()) {
    while (!head_.complete()) {
      std::optional<PieceReader::Piece> piece = pieces_.next();
      if (!piece)
        fail(pieces_.file_bytes() == 0
                 ? "the file is empty"
                 : "this is not a packed run, or it was cut inside its list of files");
      if (!piece->bytes) fail("its list of files is damaged");
      const std::size_t taken = head_.feed(*piece->bytes);
      rest_ = piece->bytes->substr(taken);
    }
  }
  [[nodiscard]] const Contents& contents() const noexcept { return head_.contents(); }

  Check unfold(FileSink* sink, const Progress& progress) {
    Unfolder unfolder(contents(), sink);
    const std::uint64_t total = contents().bytes();
    unfolder.feed(rest_);
    while (std::optional<PieceReader::Piece> piece = pieces_.next()) {
      if (piece->bytes)
        unfolder.feed(*piece->bytes);
      else
        unfolder.skip(piece->size);
      if (progress) progress(unfolder.done(), total);
    }
    return unfolder.finish(pieces_.whole());
  }

 private:
  [[noreturn]] void fail(const char* what) const {
    throw Error(ErrorKind::config, what, path_.string(),
                "take another copy of it, or pack the run again with 'assay pack RUN'");
  }

  fs::path path_;
  PieceReader pieces_;
  HeadReader head_;
  std::string rest_;
};

// Writes files below a folder that it created itself, so that nothing in it is a link.
class FolderSink : public FileSink {
 public:
  explicit FolderSink(fs::path folder) : folder_(std::move(folder)) {}

  void begin(const PackedFile& file) override {
    path_ = folder_ / file.path;
    if (const fs::path parent = path_.parent_path(); parent != parent_) {
      make_directories(parent);
      parent_ = parent;
    }
    fd_ =
        UniqueFd(::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
    if (!fd_) throw system_error(ErrorKind::environment, "cannot write", path_.string(), errno);
  }
  void append(std::string_view bytes) override { write_all(fd_.get(), bytes, path_); }
  void end() override {
    if (::close(fd_.release()) != 0)
      throw system_error(ErrorKind::environment, "cannot write", path_.string(), errno);
  }

 private:
  fs::path folder_;
  fs::path path_;
  fs::path parent_;
  UniqueFd fd_;
};

void require_room(const fs::path& folder, std::uint64_t bytes) {
  struct statvfs info {};
  if (::statvfs(folder.c_str(), &info) != 0) return;  // writing will report it
  const std::uint64_t room = std::uint64_t{info.f_bavail} * info.f_frsize;
  if (bytes > room)
    throw Error(ErrorKind::environment,
                "the packed run declares " + format_bytes(static_cast<double>(bytes)) +
                    ", and the disk has room for " + format_bytes(static_cast<double>(room)),
                folder.string(), "free space, or unpack elsewhere with '-o FOLDER'");
}

void require_new(const fs::path& folder) {
  std::error_code ec;
  const fs::file_status status = fs::symlink_status(folder, ec);
  if (status.type() == fs::file_type::not_found) return;
  if (status.type() == fs::file_type::directory && fs::is_empty(folder, ec) && !ec) return;
  throw Error(ErrorKind::usage, "it exists already", folder.string(),
              "unpack elsewhere with '-o FOLDER', or remove it");
}

}  // namespace

Contents list(const fs::path& file) {
  return Opened(file, 1).contents();
}

Check verify(const fs::path& file, const Options& options) {
  return Opened(file, options.threads).unfold(nullptr, options.progress);
}

Check extract(const fs::path& file, const fs::path& folder, const Options& options,
              const Accept& accept) {
  // "runs/a/" has an empty file name.
  const fs::path target = folder.has_filename() ? folder : folder.parent_path();
  Opened opened(file, options.threads);
  require_new(target);
  const fs::path parent = target.has_parent_path() ? target.parent_path() : ".";
  make_directories(parent);
  ScratchFolder unpacked(parent, ".unpack");
  require_room(unpacked.path(), opened.contents().bytes());
  FolderSink sink(unpacked.path());
  Check check = opened.unfold(&sink, options.progress);
  if (check.ok() && (!accept || accept(unpacked.path()))) unpacked.keep_as(target);
  return check;
}

}  // namespace assay::pack
