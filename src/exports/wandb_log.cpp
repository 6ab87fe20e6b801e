#include "exports/wandb_log.h"

#include "core/crc32.h"
#include "core/error.h"
#include "core/little_endian.h"

namespace assay::exports {

namespace {

constexpr std::size_t kMaxPending = 1U << 20;
constexpr std::string_view kIdent = ":W&B";
constexpr std::uint16_t kMagic = 0xBEE1;
constexpr std::uint8_t kVersion = 0;
// Fields of Record.
constexpr std::uint32_t kNumber = 1;
constexpr std::uint32_t kControl = 16;

std::span<const std::uint8_t> bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

}  // namespace

WandbLog::WandbLog(std::filesystem::path file)
    : file_(std::move(file)), out_(file_, std::ios::binary | std::ios::trunc) {
  pending_ = kIdent;
  put_little_endian(pending_, kMagic);
  put_little_endian(pending_, kVersion);
  size_ = pending_.size();
}

void WandbLog::add(std::uint32_t field, const ProtoMessage& message, const ProtoMessage* control) {
  ProtoMessage record;
  record.number(kNumber, ++records_).message(field, message);
  if (control != nullptr) record.message(kControl, *control);
  add(record.encoded());
}

void WandbLog::add(std::string_view record) {
  const auto room = [&] { return kBlock - size_ % kBlock; };
  if (room() < kHeader) {  // too small for a part of a record
    const std::size_t padding = room();
    pending_.append(padding, '\0');
    size_ += padding;
  }
  if (record.size() + kHeader <= room()) {
    put(Part::full, record);
    return;
  }
  for (Part part = Part::first; part != Part::last;) {
    const std::string_view data = record.substr(0, room() - kHeader);
    record.remove_prefix(data.size());
    put(part, data);
    part = record.size() + kHeader <= kBlock ? Part::last : Part::middle;
  }
  put(Part::last, record);
}

void WandbLog::put(Part part, std::string_view data) {
  const char type = static_cast<char>(part);
  put_little_endian(pending_, crc32(bytes_of(data), crc32(bytes_of({&type, 1}))));
  put_little_endian(pending_, static_cast<std::uint16_t>(data.size()));
  pending_ += type;
  pending_ += data;
  size_ += kHeader + data.size();
  if (pending_.size() > kMaxPending) write();
}

void WandbLog::write() {
  out_ << pending_;
  pending_.clear();
  must_be_written();
}

void WandbLog::finish() {
  write();
  out_.close();
  must_be_written();
}

void WandbLog::must_be_written() const {
  if (out_.fail())
    throw Error(ErrorKind::environment, "cannot be written", file_.string(),
                "is there room on the disk, and may you write there?");
}

}  // namespace assay::exports
