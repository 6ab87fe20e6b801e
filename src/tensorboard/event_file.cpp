#include "tensorboard/event_file.h"

#include <cerrno>

#include <fcntl.h>
#include <unistd.h>

#include "core/crc32c.h"
#include "core/error.h"
#include "core/files.h"
#include "core/little_endian.h"
#include "core/protobuf.h"

namespace assay::tensorboard {

namespace {

// How much may wait while a disk is full; beyond it, everything waiting is dropped.
constexpr std::size_t kMaxPending = 8U << 20;

// Event: wall_time = 1, step = 2, file_version = 3, summary = 5.
ProtoMessage event_at(double at) {
  return ProtoMessage().real(1, at);
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
  pending_ = tf_record(event_at(at).text(3, "brain.Event:2").encoded());
}

void EventFile::add(double at, std::int64_t step, std::span<const Scalar> scalars) {
  if (scalars.empty() || pending_.size() > kMaxPending) return;
  ProtoMessage summary;
  for (const Scalar& scalar : scalars)  // Summary.Value: tag = 1, simple_value = 2
    summary.message(1,
                    ProtoMessage().text(1, scalar.tag).real(2, static_cast<float>(scalar.value)));
  pending_ += tf_record(event_at(at).number(2, step).message(5, summary).encoded());
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
