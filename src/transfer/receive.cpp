#include <algorithm>

#include <fcntl.h>
#include <unistd.h>
#include <zstd.h>

#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "core/json_access.h"
#include "core/text.h"
#include "transfer/stream.h"

namespace assay::transfer {

namespace fs = std::filesystem;

namespace {

// A header line is at most as long as a path.
constexpr std::size_t kMaxHeader = 16 << 10;
// Limits what a login prints before the stream, in lines of any length.
constexpr std::size_t kMaxGreeting = 4 << 20;

struct FreeReader {
  void operator()(ZSTD_DCtx* context) const noexcept { ZSTD_freeDCtx(context); }
};

[[noreturn]] void broken(const std::string& what, const fs::path& where) {
  throw Error(
      ErrorKind::environment, what, where.string(),
      "the transfer is taken up again where it stopped; if it fails again, look at the node");
}

NotWritten not_written(const fs::path& path, int error) {
  return NotWritten(system_error(ErrorKind::environment, "cannot write", path.string(), error));
}

LeftOut left_out_of(const Json& json) {
  LeftOut out;
  const auto number = [&](const char* key) {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(0, integer_at(json, key, 0)));
  };
  out.files = number("files");
  out.bytes = number("bytes");
  for (const Json& name : list_at(json, "names"))
    if (name.is_string()) out.names.push_back(printable(name.get<std::string>()));
  return out;
}

// The stream may come from a broken or hostile node: nothing is written outside the folder.
bool stays_inside(const std::string& name) {
  const fs::path path(name);
  if (name.empty() || path.is_absolute() || name.find('\0') != std::string::npos) return false;
  for (const fs::path& part : path)
    if (part == ".." || part == "." || part.empty()) return false;
  return true;
}

}  // namespace

struct Receiver::Impl {
  fs::path folder;
  std::unique_ptr<ZSTD_DCtx, FreeReader> context{ZSTD_createDCtx()};
  std::vector<char> piece = std::vector<char>(kPiece);  // decoded, not yet checked
  std::size_t filled = 0;                               // bytes of it in use
  std::string header;                                   // an unfinished line
  bool in_frame = false;
  UniqueFd file;
  fs::path path;
  std::uint64_t at = 0;    // position in the file
  std::uint64_t size = 0;  // of the file
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
  bool begun = false;
  std::size_t greeting = 0;  // bytes before the stream's begin
  bool complete = false;
  LeftOut left_out;

  explicit Impl(fs::path f) : folder(std::move(f)) {}

  void begin(const std::string& line) {
    const Json json = parse_json_or_null(line);
    if (!begun) {
      begun = json.is_object() && json.contains("begin");
      greeting += line.size() + 1;
      if (!begun && greeting > kMaxGreeting)
        broken("not a stream of files: '" + printable(line.substr(0, 80)) + "'", folder);
      return;
    }
    if (!json.is_object()) broken("not a stream of files: '" + line.substr(0, 80) + "'", folder);
    if (json.contains("end")) {
      complete = true;
      left_out = left_out_of(member_at(json, "left_out"));
      return;
    }
    const auto number = [&](const char* key) -> std::uint64_t {
      if (!json.contains(key) || !json[key].is_number_unsigned())
        broken(std::string("a file without ") + key, folder);
      return json[key].get<std::uint64_t>();
    };
    if (!json.contains("path") || !json["path"].is_string() ||
        !stays_inside(json["path"].get<std::string>()))
      broken("a path that leaves the folder: '" + line.substr(0, 200) + "'", folder);
    path = folder / json["path"].get<std::string>();
    size = number("size");
    at = number("offset");
    try {
      make_directories(path.parent_path());
    } catch (const Error& error) {
      throw NotWritten(error);
    }
    file.reset(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644));
    if (!file) throw not_written(path, errno);
    if (static_cast<std::uint64_t>(::lseek(file.get(), 0, SEEK_END)) < at || at > size)
      broken("the node goes on at byte " + std::to_string(at) + ", which does not fit", path);
    if (::ftruncate(file.get(), static_cast<off_t>(at)) != 0 ||
        ::lseek(file.get(), static_cast<off_t>(at), SEEK_SET) < 0)
      throw not_written(path, errno);
    ZSTD_DCtx_reset(context.get(), ZSTD_reset_session_only);
    filled = 0;
    in_frame = at < size;
    if (!in_frame) finish();
  }

  void finish() {
    file.reset();
    ++files;
    in_frame = false;
  }

  void content(ZSTD_inBuffer& in) {
    while (in_frame && in.pos < in.size) {
      ZSTD_outBuffer decoded{piece.data(), piece.size(), filled};
      const std::size_t before = in.pos;
      const std::size_t left = ZSTD_decompressStream(context.get(), &decoded, &in);
      if (ZSTD_isError(left) != 0)
        broken(std::string("damaged on the way: ") + ZSTD_getErrorName(left), path);
      const bool stuck = in.pos == before && decoded.pos == filled;
      filled = decoded.pos;
      if (filled > size - at || (stuck && left != 0))
        broken("the node sent more than it announced", path);
      if (left != 0) continue;
      // The piece's checksum was right.
      try {
        write_all(file.get(), {piece.data(), filled}, path);
      } catch (const Error& error) {
        throw NotWritten(error);
      }
      at += filled;
      bytes += filled;
      if (filled == 0) broken("the node sent less than it announced", path);
      filled = 0;
      if (at == size) finish();
    }
  }
};

Receiver::Receiver(fs::path folder) : impl_(std::make_unique<Impl>(std::move(folder))) {}
Receiver::~Receiver() = default;

void Receiver::feed(std::string_view bytes) {
  ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
  while (in.pos < in.size) {
    if (impl_->in_frame) {
      impl_->content(in);
      continue;
    }
    if (impl_->complete) broken("something follows the end", impl_->folder);
    const std::string_view rest = bytes.substr(in.pos);
    const std::size_t newline = rest.find('\n');
    impl_->header += rest.substr(0, newline);
    if (impl_->header.size() > (impl_->begun ? kMaxHeader : kMaxGreeting))
      broken("not a stream of files", impl_->folder);
    if (newline == std::string_view::npos) return;
    in.pos += newline + 1;
    const std::string line = std::move(impl_->header);
    impl_->header.clear();
    impl_->begin(line);
  }
}

bool Receiver::complete() const noexcept {
  return impl_->complete;
}
std::uint64_t Receiver::files() const noexcept {
  return impl_->files;
}
const LeftOut& Receiver::left_out() const noexcept {
  return impl_->left_out;
}
std::uint64_t Receiver::bytes() const noexcept {
  return impl_->bytes;
}

}  // namespace assay::transfer
