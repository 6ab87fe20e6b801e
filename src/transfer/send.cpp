#include <algorithm>
#include <cerrno>
#include <chrono>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>
#include <zstd.h>

#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "core/run_layout.h"
#include "core/text.h"
#include "core/time.h"
#include "core/units.h"
#include "transfer/stream.h"

namespace assay::transfer {

namespace fs = std::filesystem;

namespace {

// Logs shrink to a tenth at the fastest level; higher ones gain little and use the node's cores.
constexpr int kLevel = 1;
// Room for a rank's own results beyond its log's limit.
constexpr std::uint64_t kEvidenceRoom = 1ULL << 30;
constexpr std::size_t kNamesShown = 8;
constexpr std::size_t kNameShown = 500;

/// The destination of the bytes. A connection over a cut link accepts none and reports no error.
class Output {
 public:
  Output(int fd, Nanoseconds silence) : fd_(fd), silence_(silence) {
    const int flags = ::fcntl(fd_, F_GETFL);
    if (flags >= 0) ::fcntl(fd_, F_SETFL, flags | O_NONBLOCK);
  }

  void write(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t n = ::write(fd_, bytes.data(), bytes.size());
      if (n >= 0) {
        bytes.remove_prefix(static_cast<std::size_t>(n));
      } else if (errno == EAGAIN) {
        wait();
      } else if (errno != EINTR) {
        throw system_error(ErrorKind::environment, "cannot write", "the connection", errno);
      }
    }
  }

 private:
  void wait() const {
    pollfd room{fd_, POLLOUT, 0};
    const auto limit = std::chrono::duration_cast<std::chrono::milliseconds>(silence_).count();
    if (::poll(&room, 1, static_cast<int>(limit)) == 0)
      throw Error(ErrorKind::environment,
                  "the reader took no bytes for " + format_duration(silence_), "the connection");
  }

  int fd_;
  Nanoseconds silence_;
};

struct FreeWriter {
  void operator()(ZSTD_CCtx* context) const noexcept { ZSTD_freeCCtx(context); }
};

class Compressor {
 public:
  Compressor() : context_(ZSTD_createCCtx()), out_(ZSTD_compressBound(kPiece)) {
    ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_compressionLevel, kLevel);
    ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_checksumFlag, 1);
  }

  // Compresses in a single call rather than a stream, which would copy its input and search across
  // a ring buffer.
  void write(std::string_view piece, const Output& output, const fs::path& path) {
    const std::size_t size =
        ZSTD_compress2(context_.get(), out_.data(), out_.size(), piece.data(), piece.size());
    if (ZSTD_isError(size) != 0)
      throw Error(ErrorKind::internal, ZSTD_getErrorName(size), path.string());
    output.write({out_.data(), size});
  }

 private:
  std::unique_ptr<ZSTD_CCtx, FreeWriter> context_;
  std::vector<char> out_;
};

void send_line(const Json& header, const Output& output) {
  output.write(dump_line(header) + "\n");
}

void send_file(const fs::path& folder, const std::string& name, std::uint64_t offset,
               std::uint64_t size, Compressor& compressor, std::vector<char>& buffer,
               const Output& output) {
  const fs::path path = folder / name;
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file) throw system_error(ErrorKind::environment, "cannot read", path.string(), errno);
  send_line({{"path", name}, {"size", size}, {"offset", offset}}, output);
  for (std::uint64_t at = offset; at < size;) {
    const std::size_t want = std::min<std::uint64_t>(kPiece, size - at);
    for (std::size_t filled = 0; filled < want;) {
      const ssize_t n = ::pread(file.get(), buffer.data() + filled, want - filled,
                                static_cast<off_t>(at + filled));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) throw system_error(ErrorKind::environment, "cannot read", path.string(), errno);
      if (n == 0)
        throw Error(ErrorKind::environment, "the file became shorter while it was sent",
                    path.string());
      filled += static_cast<std::size_t>(n);
    }
    compressor.write({buffer.data(), want}, output, path);
    at += want;
  }
}

}  // namespace

Have list_files(const fs::path& folder) {
  Have files;
  std::error_code ec;
  for (auto it = fs::recursive_directory_iterator(folder, ec);
       !ec && it != fs::recursive_directory_iterator(); it.increment(ec)) {
    std::error_code ignored;
    if (it->is_symlink(ignored) || !it->is_regular_file(ignored)) continue;
    files[it->path().lexically_relative(folder).generic_string()] = it->file_size(ignored);
  }
  return files;
}

Sending plan_sending(const Have& files, std::uint64_t most) {
  Sending out;
  std::vector<std::string> others;
  for (const auto& [name, size] : files) {
    const layout::RunFile* known = layout::find_run_file(layout::FilePlace::node, name);
    // The agent's own files are sent at any size: a long run's telemetry may be large.
    const bool of_agent = name == layout::kTelemetry || name == layout::kEvidence;
    const bool evidence = known != nullptr && known->role == layout::FileRole::evidence &&
                          (of_agent || size <= most || size - most <= kEvidenceRoom);
    (evidence ? out.names : others).push_back(name);
  }
  std::uint64_t left = most;
  for (std::string& name : others) {
    const std::uint64_t size = files.at(name);
    if (size <= left) {
      left -= size;
      out.names.push_back(std::move(name));
      continue;
    }
    ++out.left_out.files;
    out.left_out.bytes += size;
    if (out.left_out.names.size() < kNamesShown)
      out.left_out.names.push_back(ellipsize(name, kNameShown));
  }
  return out;
}

void send_folder(const fs::path& folder, const Have& have, int fd, std::uint64_t most,
                 Nanoseconds silence) {
  const Output output(fd, silence);
  Compressor compressor;
  std::vector<char> buffer(kPiece);
  output.write("\n");  // ends a line that something else may have begun
  send_line({{"begin", true}}, output);
  const Have files = list_files(folder);
  const Sending sending = plan_sending(files, most);
  for (const std::string& name : sending.names) {
    const std::uint64_t size = files.at(name);
    const auto at = have.find(name);
    const std::uint64_t offset = at == have.end() || at->second > size ? 0 : at->second;
    if (offset == size && at != have.end()) continue;
    if (size == 0)
      send_line({{"path", name}, {"size", 0}, {"offset", 0}}, output);
    else
      send_file(folder, name, offset, size, compressor, buffer, output);
  }
  Json end{{"end", true}, {"files", sending.names.size()}};
  if (const LeftOut& rest = sending.left_out; rest.files > 0)
    end["left_out"] = {{"files", rest.files}, {"bytes", rest.bytes}, {"names", rest.names}};
  send_line(end, output);
}

}  // namespace assay::transfer
