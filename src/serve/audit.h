#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <string>

#include "core/files.h"
#include "serve/http_server.h"

namespace assay::serve {

/// DATA/audit.jsonl: one line for every request, appended with one write. No token, no body. It is
/// bounded: when it has `max_bytes` it is rotated. Who renames it gets a new one with the next
/// line.
class AuditLog {
 public:
  explicit AuditLog(const std::filesystem::path& path, std::uint64_t max_bytes);
  /// Thread-safe. A disk that is full does not stop the server; it is reported once on stderr.
  void write(const HttpRequest& request, const std::string& token_name, int status,
             std::size_t bytes_in, std::size_t bytes_out);

 private:
  void open();
  [[nodiscard]] bool is_ours() const;  // the file of that name is the one that is open

  std::filesystem::path path_;
  std::uint64_t max_bytes_;
  std::mutex lock_;
  UniqueFd file_;
  std::uint64_t size_ = 0;
  std::atomic<bool> failed_ = false;
};

/// audit.jsonl becomes audit.jsonl.1, that .2 and so on; of older ones kAuditKept stay. False:
/// there is none.
inline constexpr int kAuditKept = 5;
bool rotate_audit(const std::filesystem::path& path);

}  // namespace assay::serve
