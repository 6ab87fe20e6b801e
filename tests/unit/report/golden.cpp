#include "golden.h"

#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>

#include "core/files.h"

namespace assay::report {

void expect_golden(std::string_view text, const std::string& name) {
  const auto path = std::filesystem::path(ASSAY_SOURCE_DIR) / "tests/golden/report" / name;
  const char* update = std::getenv("ASSAY_UPDATE_GOLDEN");
  if (update != nullptr && std::string_view(update) == "1") {
    make_directories(path.parent_path());
    write_file_atomic(path, text);
    return;
  }
  ASSERT_TRUE(std::filesystem::exists(path))
      << path << " is missing; run the test with ASSAY_UPDATE_GOLDEN=1 and look at what it wrote";
  EXPECT_EQ(read_file(path), text) << "differs from " << path;
}

}  // namespace assay::report
