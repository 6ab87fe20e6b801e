#pragma once

#include <filesystem>
#include <string>

#include "temporary_folder.h"

namespace assay::importer {

/// A copy of the FlagPerf checkout in tests/fixtures that a test may change.
class Checkout {
 public:
  Checkout() {
    std::filesystem::copy(std::filesystem::path(ASSAY_SOURCE_DIR) / "tests/fixtures/flagperf",
                          path(), std::filesystem::copy_options::recursive);
  }
  [[nodiscard]] const std::filesystem::path& path() const { return folder_.path(); }
  [[nodiscard]] std::filesystem::path training() const { return path() / "training"; }

  void write(const std::string& file, const std::string& content) const {
    folder_.write("training/" + file, content);
  }
  void cluster(const std::string& content) const {
    write("run_benchmarks/config/cluster_conf.py", content);
  }
  /// test_conf.py with just these cases.
  void cases(const std::string& entries, const std::string& vendor = "nvidia") const {
    write("run_benchmarks/config/test_conf.py",
          "VENDOR = '" + vendor + "'\nCASES = {\n" + entries + "\n}\n");
  }

 private:
  assay::testing::TemporaryFolder folder_;
};

}  // namespace assay::importer
