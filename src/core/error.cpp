#include "core/error.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "core/disk_full.h"

namespace assay {

namespace {

struct KindInfo {
  ErrorKind kind;
  std::string_view name;
  int exit_code;
  std::string_view meaning;  // for users; empty if another kind with this code has it
};

constexpr std::array kKinds{
    KindInfo{ErrorKind::usage, "usage", 2, "usage or configuration"},
    KindInfo{ErrorKind::config, "config", 2, ""},
    KindInfo{ErrorKind::environment, "environment", 3, "environment or cluster not fit"},
    KindInfo{ErrorKind::launch, "launch", 4, "launch failed"},
    KindInfo{ErrorKind::round_failed, "round_failed", 5, "a round failed"},
    KindInfo{ErrorKind::invalid, "invalid", 6, "finished but INVALID"},
    KindInfo{ErrorKind::internal, "internal", 1, ""},
};

const KindInfo& info_of(ErrorKind kind) noexcept {
  for (const KindInfo& info : kKinds)
    if (info.kind == kind) return info;
  return kKinds.back();
}

}  // namespace

int exit_code(ErrorKind kind) noexcept {
  return info_of(kind).exit_code;
}

std::string_view to_string(ErrorKind kind) noexcept {
  return info_of(kind).name;
}

Error::Error(ErrorKind kind, std::string what, std::string where, std::string advice)
    : kind_(kind), message_(std::move(what)), where_(std::move(where)), advice_(std::move(advice)) {
  if (!where_.empty()) rendered_ = where_ + ": ";
  rendered_ += message_;
  if (!advice_.empty()) rendered_ += "\n  " + advice_;
}

std::string exit_codes() {
  std::string out = "  0  ok\n";
  for (const KindInfo& info : kKinds)
    if (!info.meaning.empty())
      out += "  " + std::to_string(info.exit_code) + "  " + std::string(info.meaning) + "\n";
  return out;
}

namespace {

std::string advice_for(int errno_value) {
  switch (errno_value) {
    case ENOSPC:
    case EDQUOT:
      return "the disk is full: free some space, or use a folder on another disk";
    case EROFS:
    case EACCES:
    case EPERM:
      return "check the permissions, or use a folder that can be written";
    case EMFILE:
    case ENFILE:
      return "raise the limit of open files (ulimit -n)";
    case EAGAIN:
    case ENOMEM:
      return "raise the limit of processes (ulimit -u), or free memory";
    default:
      return {};
  }
}

}  // namespace

bool is_disk_full(const std::exception& error) {
  if (const auto* const known = dynamic_cast<const Error*>(&error))
    return known->advice() == advice_for(ENOSPC);
  const auto* const other = dynamic_cast<const std::system_error*>(&error);
  return other != nullptr && (other->code() == std::errc::no_space_on_device ||
                              other->code() == std::error_code(EDQUOT, std::generic_category()));
}

Error system_error(ErrorKind kind, std::string what, std::string where, int errno_value) {
  return {kind, std::move(what) + ": " + std::strerror(errno_value), std::move(where),
          advice_for(errno_value)};
}

}  // namespace assay
