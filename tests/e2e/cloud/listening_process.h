#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <sys/types.h>

namespace assay::cloud {

/// A server that says "listening on URL" as its first line. It ends with this object, by SIGTERM.
class ListeningProcess {
 public:
  /// `errors` gets what it writes to stderr. Throws std::runtime_error when it does not come up.
  ListeningProcess(const std::vector<std::string>& argv, const std::filesystem::path& errors);
  ListeningProcess(const ListeningProcess&) = delete;
  ListeningProcess& operator=(const ListeningProcess&) = delete;
  ~ListeningProcess();

  [[nodiscard]] const std::string& url() const { return url_; }
  [[nodiscard]] int port() const;
  [[nodiscard]] pid_t pid() const { return pid_; }
  /// Ends it as a crash would.
  void kill();
  /// Ends it by SIGTERM; its status as waitpid gives it.
  int end();

 private:
  pid_t pid_ = -1;
  std::string url_;
};

}  // namespace assay::cloud
