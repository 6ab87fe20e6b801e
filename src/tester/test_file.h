#pragma once

#include <filesystem>
#include <optional>

#include "tester/records.h"

namespace assay::tester {

/// tests/<id>/test.json: the database's content about a test and its manifest, stored beside the
/// test's files so that it can be restored if the database is lost.
struct TestFile {
  TestRecord test;
  std::optional<Manifest> manifest;
};

inline constexpr const char* kTestFile = "test.json";

/// Creates the folder if missing.
void write_test_file(const std::filesystem::path& folder, const TestRecord& test,
                     const std::optional<Manifest>& manifest);

/// A folder's description of its test: its test.json or, if that is missing or damaged, its
/// result.json, as an accepted test by "recovered". Nothing if neither is readable, or it describes
/// another test.
[[nodiscard]] std::optional<TestFile> read_test_file(const std::filesystem::path& folder);

}  // namespace assay::tester
