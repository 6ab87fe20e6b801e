#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/types.h>

#include "core/json.h"
#include "core/subprocess.h"
#include "eventually.h"
#include "temporary_folder.h"

namespace assay::e2e {

namespace fs = std::filesystem;

inline const fs::path kShippedConf = fs::path(ASSAY_SOURCE_DIR) / "conf";

/// A folder of its own for every test, with the built `assay` at hand.
class AssayTest : public ::testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  /// Runs assay in the test's folder to its end.
  [[nodiscard]] CommandResult assay(std::vector<std::string> args,
                                    std::chrono::seconds limit = std::chrono::seconds(60)) const;
  /// Starts assay in the background; it is killed at the end of the test if it still runs.
  [[nodiscard]] pid_t start(std::vector<std::string> args);
  /// Exit status of a process from start(), or nothing when it runs longer than `limit`.
  [[nodiscard]] std::optional<ExitStatus> wait(pid_t pid, std::chrono::milliseconds limit);

  fs::path write(const std::string& name, const std::string& content) const;
  /// A suite with one case "probe" whose ranks run `script` with /bin/sh.
  fs::path script_suite(const std::string& script, const std::string& more = {}) const;

  /// The configuration of the test: the shipped one, but for what no machine can promise that runs
  /// several tests at once: that nothing else uses it.
  [[nodiscard]] const fs::path& conf() const { return conf_.path(); }

  /// From now on the test runs copies of the programs with an agent that takes libraries which are
  /// preloaded (tests/fakes): the one that is built is static.
  void use_dynamic_agent();

  [[nodiscard]] fs::path latest() const { return fs::canonical(folder_ / "results/latest"); }
  [[nodiscard]] Json result() const;
  [[nodiscard]] static Json read_json(const fs::path& path);

  testing::TemporaryFolder temporary_;
  testing::TemporaryFolder conf_;
  const fs::path folder_ = temporary_.path();

 private:
  fs::path programs_ = ASSAY_BIN_DIR;
  std::vector<pid_t> started_;
};

using testing::eventually;

/// Living processes whose command line contains `text`, but not this test itself.
[[nodiscard]] std::vector<pid_t> processes_with(const std::string& text);
/// The processes whose program lies below `folder`.
[[nodiscard]] std::vector<pid_t> processes_from(const fs::path& folder);

/// The agents that the assay process `pid` started, or their guardians ("assay-guardian").
[[nodiscard]] std::vector<pid_t> agents_of(pid_t pid, const std::string& half = "assay-agent");
[[nodiscard]] bool alive(pid_t pid);
/// -1: it is gone.
[[nodiscard]] pid_t parent_of(pid_t pid);
/// Every process below `pid`.
[[nodiscard]] std::vector<pid_t> descendants_of(pid_t pid);

}  // namespace assay::e2e
