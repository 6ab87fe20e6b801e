#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/types.h>

#include "core/files.h"
#include "core/json.h"
#include "e2e/harness.h"
#include "http/client.h"

namespace assay::serve {

/// A running `assay serve`; ends with this object.
class TesterProcess {
 public:
  /// Throws std::runtime_error with its words when it does not begin to listen.
  TesterProcess(const std::filesystem::path& folder, const std::vector<std::string>& more);
  TesterProcess(const TesterProcess&) = delete;
  TesterProcess& operator=(const TesterProcess&) = delete;
  ~TesterProcess();

  [[nodiscard]] const std::string& url() const { return url_; }
  /// What it printed until it listened.
  [[nodiscard]] const std::string& said() const { return said_; }
  /// What it has printed since then.
  [[nodiscard]] const std::string& said_later();
  [[nodiscard]] int port() const;
  [[nodiscard]] pid_t pid() const { return pid_; }
  void kill();  ///< as a crash would
  /// As SIGTERM does; its exit status.
  [[nodiscard]] ExitStatus end();

 private:
  pid_t pid_ = -1;
  std::string url_;
  std::string said_;
  UniqueFd out_;
  std::string said_later_;
};

/// A folder with a short run, a tester with a token "alice", and `assay push` at hand.
class TesterTest : public e2e::AssayTest {
 protected:
  void SetUp() override;

  void start_tester(std::vector<std::string> more = {});
  void kill_tester();
  [[nodiscard]] TesterProcess& tester() { return *tester_; }
  [[nodiscard]] std::string add_token(const std::string& name);

  /// A run of the `null` workload that takes a second; made once per test program.
  [[nodiscard]] std::filesystem::path make_run();
  [[nodiscard]] CommandResult push(const std::filesystem::path& run,
                                   const std::vector<std::string>& more = {});

  struct Reply {
    int status = 0;
    Json json;
    http::Response response;
  };
  /// One request, without retries, with alice's token unless `token` says another ("" is none).
  Reply ask(const std::string& method, const std::string& path, const std::string& body = {},
            const http::Headers& headers = {}, std::optional<std::string> token = std::nullopt);
  /// What the tester answers to these bytes until it closes the connection, or `limit`.
  [[nodiscard]] std::string raw(const std::string& bytes,
                                std::chrono::seconds limit = std::chrono::seconds(20));

  std::string alice_;
  const std::filesystem::path data_ = folder_ / "tester";

 private:
  std::optional<TesterProcess> tester_;
};

}  // namespace assay::serve
