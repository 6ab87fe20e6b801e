#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include <unistd.h>

#include "core/files.h"

namespace assay::importer {

/// A copy of the FlagPerf checkout in tests/fixtures that a test may change.
class Checkout {
 public:
  Checkout() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "assay-flagperf-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
    std::filesystem::copy(std::filesystem::path(ASSAY_SOURCE_DIR) / "tests/fixtures/flagperf",
                          path_, std::filesystem::copy_options::recursive);
  }
  ~Checkout() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Checkout(const Checkout&) = delete;
  Checkout& operator=(const Checkout&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::filesystem::path training() const { return path_ / "training"; }

  void write(const std::string& file, const std::string& content) const {
    std::filesystem::create_directories((training() / file).parent_path());
    std::ofstream(training() / file, std::ios::binary) << content;
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
  std::filesystem::path path_;
};

}  // namespace assay::importer
