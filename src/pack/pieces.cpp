#include "pack/pieces.h"

#include <algorithm>
#include <cerrno>
#include <memory>
#include <new>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "core/error.h"

namespace assay::pack {

namespace {

// The zstd program's default level. Logs shrink to a tenth; higher levels gain little.
constexpr int kLevel = 3;

constexpr std::uint32_t kTableMagic = 0x184D2A5E;
constexpr std::uint32_t kTableEnd = 0x8F92EAB1;
constexpr std::size_t kTableHead = 8;
constexpr std::size_t kTableFoot = 9;
constexpr std::size_t kTableEntry = 8;
constexpr std::size_t kMaxPieces = std::size_t{1} << 27;  // the most that fits into a table

struct FreeContext {
  void operator()(ZSTD_CCtx* context) const noexcept { ZSTD_freeCCtx(context); }
  void operator()(ZSTD_DCtx* context) const noexcept { ZSTD_freeDCtx(context); }
};

void put32(std::string& out, std::uint32_t value) {
  for (int shift = 0; shift < 32; shift += 8) out += static_cast<char>((value >> shift) & 0xFF);
}

std::uint32_t get32(std::string_view bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i)
    value |= static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[at + i])) << (8 * i);
  return value;
}

std::size_t pieces_ahead(int threads) {
  const auto count = threads > 0 ? static_cast<unsigned>(threads)
                                 : std::max(1U, std::thread::hardware_concurrency());
  return std::min<std::size_t>(count, 64);
}

}  // namespace

PieceWriter::PieceWriter(int out, std::filesystem::path path, int threads)
    : out_(out), path_(std::move(path)), ahead_(pieces_ahead(threads)) {
  piece_.reserve(kPieceBytes);
}

PieceWriter::~PieceWriter() = default;

PieceWriter::Packed PieceWriter::compress(std::string piece) {
  const std::unique_ptr<ZSTD_CCtx, FreeContext> context(ZSTD_createCCtx());
  if (!context) throw std::bad_alloc();
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, kLevel);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, 1);
  Packed packed;
  packed.size = static_cast<std::uint32_t>(piece.size());
  packed.bytes.resize(ZSTD_compressBound(piece.size()));
  const std::size_t size = ZSTD_compress2(context.get(), packed.bytes.data(), packed.bytes.size(),
                                          piece.data(), piece.size());
  if (ZSTD_isError(size) != 0) throw Error(ErrorKind::internal, ZSTD_getErrorName(size));
  packed.bytes.resize(size);
  return packed;
}

void PieceWriter::append(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t take = std::min(bytes.size(), kPieceBytes - piece_.size());
    piece_ += bytes.substr(0, take);
    bytes.remove_prefix(take);
    if (piece_.size() == kPieceBytes) start();
  }
}

void PieceWriter::end_piece(std::size_t least) {
  if (!piece_.empty() && piece_.size() >= least) start();
}

void PieceWriter::start() {
  if (packing_.size() > ahead_) write_one();
  packing_.push_back(std::async(std::launch::async, compress, std::exchange(piece_, {})));
  piece_.reserve(kPieceBytes);
}

void PieceWriter::write_one() {
  const Packed packed = packing_.front().get();
  packing_.pop_front();
  write_all(out_, packed.bytes, path_);
  table_.push_back({static_cast<std::uint32_t>(packed.bytes.size()), packed.size});
  written_ += packed.bytes.size();
  if (table_.size() > kMaxPieces)
    throw Error(ErrorKind::usage, "the run is too large to be packed");
}

std::uint64_t PieceWriter::finish() {
  if (!piece_.empty()) start();
  while (!packing_.empty()) write_one();
  std::string table;
  put32(table, kTableMagic);
  put32(table, static_cast<std::uint32_t>(table_.size() * kTableEntry + kTableFoot));
  for (const Entry& entry : table_) {
    put32(table, entry.packed);
    put32(table, entry.size);
  }
  put32(table, static_cast<std::uint32_t>(table_.size()));
  table += '\0';
  put32(table, kTableEnd);
  write_all(out_, table, path_);
  return written_ + table.size();
}

PieceReader::PieceReader(const std::filesystem::path& file, int threads)
    : path_(file),
      file_(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)),
      ahead_(pieces_ahead(threads)) {
  struct stat info {};
  if (!file_ || ::fstat(file_.get(), &info) != 0)
    throw system_error(ErrorKind::environment, "cannot read", file.string(), errno);
  if (!S_ISREG(info.st_mode))
    throw Error(ErrorKind::config, "this is not a packed run, it is not even a regular file",
                file.string(), "'assay pack RUN' makes one");
  file_bytes_ = static_cast<std::uint64_t>(info.st_size);
  whole_ = read_table();
  if (!whole_) walk();
}

PieceReader::~PieceReader() = default;

std::string PieceReader::read_at(std::uint64_t at, std::size_t size) const {
  std::string out(size, '\0');
  std::size_t filled = 0;
  while (filled < size) {
    const ssize_t n =
        ::pread(file_.get(), out.data() + filled, size - filled, static_cast<off_t>(at + filled));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw system_error(ErrorKind::environment, "cannot read", path_.string(), errno);
    if (n == 0) break;  // the file was truncated: what is missing will not decompress
    filled += static_cast<std::size_t>(n);
  }
  out.resize(filled);
  return out;
}

// The table is used only if it accounts for the file to its last byte.
bool PieceReader::read_table() {
  if (file_bytes_ < kTableHead + kTableFoot) return false;
  const std::string foot = read_at(file_bytes_ - kTableFoot, kTableFoot);
  if (foot.size() != kTableFoot || get32(foot, 5) != kTableEnd || foot[4] != 0) return false;
  const std::size_t count = get32(foot, 0);
  const std::size_t size = kTableHead + count * kTableEntry + kTableFoot;
  if (count > kMaxPieces || size > file_bytes_) return false;
  const std::string table = read_at(file_bytes_ - size, size);
  if (table.size() != size || get32(table, 0) != kTableMagic ||
      get32(table, 4) != size - kTableHead)
    return false;
  std::uint64_t at = 0;
  std::vector<Frame> frames;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t entry = kTableHead + i * kTableEntry;
    const Frame frame{at, get32(table, entry), get32(table, entry + 4)};
    if (frame.packed == 0 || frame.packed > ZSTD_compressBound(kPieceBytes) || frame.size == 0 ||
        frame.size > kPieceBytes)
      return false;
    at += frame.packed;
    frames.push_back(frame);
  }
  if (at != file_bytes_ - size) return false;
  frames_ = std::move(frames);
  return true;
}

// Without a table, finds the pieces one by one, up to the first incomplete one.
void PieceReader::walk() {
  const std::size_t most = ZSTD_compressBound(kPieceBytes);
  for (std::uint64_t at = 0; at < file_bytes_ && frames_.size() < kMaxPieces;) {
    const std::string bytes = read_at(at, std::min<std::uint64_t>(most, file_bytes_ - at));
    if (bytes.size() < 4 || get32(bytes, 0) == kTableMagic) return;
    const std::size_t packed = ZSTD_findFrameCompressedSize(bytes.data(), bytes.size());
    const auto size = ZSTD_getFrameContentSize(bytes.data(), bytes.size());
    if (ZSTD_isError(packed) != 0 || size == 0 || size > kPieceBytes) return;
    frames_.push_back({at, packed, static_cast<std::size_t>(size)});
    at += packed;
  }
}

PieceReader::Piece PieceReader::decompress(const Frame& frame) const {
  Piece piece{frame.size};
  const std::string packed = read_at(frame.at, frame.packed);
  const std::unique_ptr<ZSTD_DCtx, FreeContext> context(ZSTD_createDCtx());
  if (!context) throw std::bad_alloc();
  std::string bytes(frame.size, '\0');
  const std::size_t size =
      ZSTD_decompressDCtx(context.get(), bytes.data(), bytes.size(), packed.data(), packed.size());
  if (ZSTD_isError(size) == 0 && size == frame.size) piece.bytes = std::move(bytes);
  return piece;
}

std::optional<PieceReader::Piece> PieceReader::next() {
  while (started_ < frames_.size() && unpacking_.size() <= ahead_) {
    const Frame frame = frames_[started_++];
    unpacking_.push_back(
        std::async(std::launch::async, [this, frame] { return decompress(frame); }));
  }
  if (unpacking_.empty()) return std::nullopt;
  Piece piece = unpacking_.front().get();
  unpacking_.pop_front();
  return piece;
}

}  // namespace assay::pack
