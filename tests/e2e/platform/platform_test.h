#pragma once

#include <optional>
#include <string>
#include <vector>

#include "e2e/harness.h"
#include "e2e/tester/tester_process.h"

namespace assay::e2e {

/// A server with this machine as its cluster, in the test's folder, where commands find it.
class PlatformTest : public AssayTest {
 protected:
  void SetUp() override;

  /// What `assay serve` is started with.
  [[nodiscard]] virtual std::vector<std::string> server_options() const { return {}; }
  void start_server() { server_.emplace(folder_, server_options()); }
  void stop_server() { server_.reset(); }
  void kill_server();  ///< as a crash would
  [[nodiscard]] std::string url() const { return server_->url(); }

  /// Submits without code, and gives the number of the (first) job.
  [[nodiscard]] long submit(std::vector<std::string> words);
  /// The job as `assay job --format json` has it.
  [[nodiscard]] Json job(long id);
  [[nodiscard]] std::string state(long id);
  /// Whether it comes to be in this state.
  [[nodiscard]] bool becomes(long id, const std::string& state);

 private:
  std::optional<serve::TesterProcess> server_;
};

}  // namespace assay::e2e
