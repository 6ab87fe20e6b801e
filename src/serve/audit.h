#pragma once

#include <atomic>
#include <filesystem>
#include <string>

#include "core/files.h"
#include "serve/http_server.h"

namespace assay::serve {

/// DATA/audit.jsonl: one line for every request, appended with one write. No token, no body.
class AuditLog {
 public:
  explicit AuditLog(const std::filesystem::path& path);
  /// Thread-safe. A disk that is full does not stop the server; it is reported once on stderr.
  void write(const HttpRequest& request, const std::string& token_name, int status,
             std::size_t bytes_in, std::size_t bytes_out);

 private:
  std::filesystem::path path_;
  UniqueFd file_;
  std::atomic<bool> failed_ = false;
};

}  // namespace assay::serve
