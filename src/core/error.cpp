#include "core/error.h"

#include <cerrno>
#include <cstring>

namespace assay {

Error::Error(ErrorKind kind, std::string what, std::string where, std::string advice)
    : kind_(kind), message_(std::move(what)), where_(std::move(where)), advice_(std::move(advice)) {
  if (!where_.empty()) rendered_ = where_ + ": ";
  rendered_ += message_;
  if (!advice_.empty()) rendered_ += "\n  " + advice_;
}

int exit_code(ErrorKind kind) noexcept {
  switch (kind) {
    case ErrorKind::usage:
    case ErrorKind::config:
      return 2;
    case ErrorKind::environment:
      return 3;
    case ErrorKind::launch:
      return 4;
    case ErrorKind::round_failed:
      return 5;
    case ErrorKind::invalid:
      return 6;
    case ErrorKind::regression:
      return 7;
    case ErrorKind::internal:
      break;
  }
  return 1;
}

std::string_view to_string(ErrorKind kind) noexcept {
  switch (kind) {
    case ErrorKind::usage:
      return "usage";
    case ErrorKind::config:
      return "config";
    case ErrorKind::environment:
      return "environment";
    case ErrorKind::launch:
      return "launch";
    case ErrorKind::round_failed:
      return "round_failed";
    case ErrorKind::invalid:
      return "invalid";
    case ErrorKind::regression:
      return "regression";
    case ErrorKind::internal:
      break;
  }
  return "internal";
}

namespace {

std::string advice_for(int errno_value) {
  switch (errno_value) {
    case ENOSPC:
    case EDQUOT:
      return "the disk is full: free some space, or choose another folder with --out";
    case EROFS:
    case EACCES:
    case EPERM:
      return "check the permissions, or choose another folder with --out";
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

Error system_error(ErrorKind kind, std::string what, std::string where, int errno_value) {
  return {kind, std::move(what) + ": " + std::strerror(errno_value), std::move(where),
          advice_for(errno_value)};
}

}  // namespace assay
