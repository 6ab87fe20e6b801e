#include "serve/audit.h"

#include <cerrno>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/error.h"
#include "core/json.h"
#include "core/text.h"
#include "core/time.h"
#include "serve/log.h"

namespace assay::serve {

AuditLog::AuditLog(const std::filesystem::path& path, std::uint64_t max_bytes)
    : path_(path), max_bytes_(max_bytes) {
  open();
}

void AuditLog::open() {
  file_.reset(::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!file_)
    throw system_error(ErrorKind::environment, "cannot open the audit log", path_.string(), errno);
  struct stat found {};
  size_ = ::fstat(file_.get(), &found) == 0 ? static_cast<std::uint64_t>(found.st_size) : 0;
}

bool AuditLog::is_ours() const {
  struct stat named {};
  struct stat opened {};
  return ::stat(path_.c_str(), &named) == 0 && ::fstat(file_.get(), &opened) == 0 &&
         named.st_ino == opened.st_ino && named.st_dev == opened.st_dev;
}

bool rotate_audit(const std::filesystem::path& path) {
  std::error_code ec;
  if (!std::filesystem::exists(path, ec)) return false;
  const auto kept = [&](int number) { return path.string() + "." + std::to_string(number); };
  for (int number = kAuditKept - 1; number >= 1; --number)
    std::filesystem::rename(kept(number), kept(number + 1), ec);
  std::filesystem::rename(path, kept(1));
  return true;
}

void AuditLog::write(const HttpRequest& request, const std::string& token_name, int status,
                     std::size_t bytes_in, std::size_t bytes_out) {
  const Json line = {{"time", iso_utc(wall_now_ns(), true)},
                     {"address", request.address},
                     {"token", token_name.empty() ? Json() : Json(token_name)},
                     {"method", request.method},
                     {"path", ellipsize(printable(request.path), 300)},
                     {"status", status},
                     {"bytes_in", bytes_in},
                     {"bytes_out", bytes_out}};
  try {
    const std::string text = dump_line(line) + "\n";
    const std::scoped_lock lock(lock_);
    if (size_ > 0 && size_ + text.size() > max_bytes_) rotate_audit(path_);
    if (!is_ours()) open();
    write_all(file_.get(), text, path_);
    size_ += text.size();
  } catch (const std::exception& error) {
    if (!failed_.exchange(true)) log_error(error.what());
  }
}

}  // namespace assay::serve
