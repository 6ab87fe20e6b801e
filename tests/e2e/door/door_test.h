#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/files.h"
#include "e2e/harness.h"
#include "e2e/tester/tester_process.h"

namespace assay::e2e {

/// A server whose jobs are entered, in the test's folder.
class DoorTest : public AssayTest {
 protected:
  void SetUp() override;
  /// Jobs outlive their server: they are stopped before it is.
  void TearDown() override;
  void serve(const std::vector<std::string>& more = {});
  void stop_server() { server_.reset(); }
  [[nodiscard]] serve::TesterProcess& server() { return *server_; }

  /// Submits a command that runs until the test ends, and waits until it does.
  [[nodiscard]] long running(const std::string& command, std::vector<std::string> more = {});
  [[nodiscard]] std::string state(long id);
  /// `assay ssh` in a shell of its own: `words` are shell text, stdin included.
  [[nodiscard]] CommandResult shell(const std::string& text,
                                    std::chrono::seconds limit = std::chrono::seconds(60)) const;

  struct Reply {
    int status = 0;
    std::string head{};
    std::string body{};
    [[nodiscard]] std::string header(const std::string& name) const;  ///< the first; or ""
  };
  using Headers = std::map<std::string, std::string>;
  /// A connection to the server.
  [[nodiscard]] UniqueFd connect() const;
  /// One request at a host of the server, read to the end of the connection or of its length.
  Reply ask(const std::string& host, const std::string& method, const std::string& path,
            const Headers& headers = {}, const std::string& body = {}) const;
  /// The same at the platform, with the token of this machine's administrator, or another's.
  Reply api(const std::string& method, const std::string& path, const std::string& body = {},
            const std::string& token = {}) const;
  [[nodiscard]] std::string admin_token() const;
  /// A member with a token.
  std::string make_member(const std::string& name) const;

  /// Somebody who has come in at an endpoint.
  struct Guest {
    std::string host{};    ///< with its port
    std::string cookie{};  ///< "assay_door=…"
  };
  [[nodiscard]] Guest open(long id, const std::string& endpoint, const std::string& token = {});

  /// Until it has that text, or `limit` has passed.
  static std::string read_until(int fd, const std::string& text,
                                std::chrono::seconds limit = std::chrono::seconds(30));

 private:
  std::optional<serve::TesterProcess> server_;
};

}  // namespace assay::e2e
