#include "tensorboard/event_file.h"

#include <bit>
#include <cerrno>

#include <fcntl.h>
#include <unistd.h>

#include "core/crc32c.h"
#include "core/error.h"
#include "core/files.h"

namespace assay::tensorboard {

namespace {

// What waits for a disk that is full; then it is dropped, as a whole.
constexpr std::size_t kMaxPending = 8U << 20;

template <class T>
void put_little_endian(std::string& out, T value) {
  for (std::size_t i = 0; i < sizeof value; ++i)
    out += static_cast<char>(static_cast<unsigned char>(value >> (8 * i)));
}

void put_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

// Of a protocol buffer: the field's number and how its value is written.
enum class Wire : std::uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

void put_key(std::string& out, std::uint32_t field, Wire wire) {
  put_varint(out, field << 3 | static_cast<std::uint32_t>(wire));
}

void put_bytes(std::string& out, std::uint32_t field, std::string_view bytes) {
  put_key(out, field, Wire::bytes);
  put_varint(out, bytes.size());
  out += bytes;
}

// Event: wall_time = 1, step = 2, file_version = 3, summary = 5.
std::string event_at(double at) {
  std::string out;
  put_key(out, 1, Wire::fixed64);
  put_little_endian(out, std::bit_cast<std::uint64_t>(at));
  return out;
}

std::uint32_t checksum(std::string_view data) {
  return masked_crc32c(crc32c({reinterpret_cast<const std::uint8_t*>(data.data()), data.size()}));
}

}  // namespace

std::string tf_record(std::string_view data) {
  std::string out;
  put_little_endian(out, std::uint64_t{data.size()});
  put_little_endian(out, checksum(out));
  out += data;
  put_little_endian(out, checksum(data));
  return out;
}

EventFile::EventFile(std::filesystem::path file, double at) : file_(std::move(file)) {
  std::string version = event_at(at);
  put_bytes(version, 3, "brain.Event:2");
  pending_ = tf_record(version);
}

void EventFile::add(double at, std::int64_t step, std::span<const Scalar> scalars) {
  if (scalars.empty() || pending_.size() > kMaxPending) return;
  std::string summary;
  for (const Scalar& scalar : scalars) {
    std::string value;  // Summary.Value: tag = 1, simple_value = 2
    put_bytes(value, 1, scalar.tag);
    put_key(value, 2, Wire::fixed32);
    put_little_endian(value, std::bit_cast<std::uint32_t>(static_cast<float>(scalar.value)));
    put_bytes(summary, 1, value);
  }
  std::string event = event_at(at);
  put_key(event, 2, Wire::varint);
  put_varint(event, static_cast<std::uint64_t>(step));
  put_bytes(event, 5, summary);
  pending_ += tf_record(event);
}

void EventFile::flush() {
  if (pending_.empty()) return;
  const bool first = written_ == 0;
  if (first) make_directories(file_.parent_path());
  const UniqueFd fd(::open(
      file_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | (first ? O_TRUNC : 0), 0644));
  if (!fd) throw system_error(ErrorKind::environment, "cannot open", file_.string(), errno);
  if (::lseek(fd.get(), static_cast<off_t>(written_), SEEK_SET) < 0)
    throw system_error(ErrorKind::environment, "cannot write", file_.string(), errno);
  write_all(fd.get(), pending_, file_);
  written_ += pending_.size();
  pending_.clear();
}

}  // namespace assay::tensorboard
