#include "serve/audit.h"

#include <cerrno>

#include <fcntl.h>
#include <unistd.h>

#include "core/error.h"
#include "core/json.h"
#include "core/text.h"
#include "core/time.h"
#include "serve/log.h"

namespace assay::serve {

AuditLog::AuditLog(const std::filesystem::path& path)
    : path_(path), file_(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)) {
  if (!file_)
    throw system_error(ErrorKind::environment, "cannot open the audit log", path.string(), errno);
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
    write_all(file_.get(), dump_line(line) + "\n", path_);
  } catch (const Error& error) {
    if (!failed_.exchange(true)) log_error(error.what());
  }
}

}  // namespace assay::serve
