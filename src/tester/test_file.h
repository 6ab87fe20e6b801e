#pragma once

#include <filesystem>
#include <optional>

#include "tester/records.h"

namespace assay::tester {

/// tests/<id>/test.json: what the database says about a test and its manifest, beside its files, so
/// that a test can be found again when the database is lost.
struct TestFile {
  TestRecord test;
  std::optional<Manifest> manifest;
};

inline constexpr const char* kTestFile = "test.json";

/// Makes the folder when it is not there.
void write_test_file(const std::filesystem::path& folder, const TestRecord& test,
                     const std::optional<Manifest>& manifest);

/// What a folder says about its test: its test.json; where that is missing or damaged, its
/// result.json, as an accepted test by "recovered". Nothing: neither can be read, or it is about
/// another test.
[[nodiscard]] std::optional<TestFile> read_test_file(const std::filesystem::path& folder);

}  // namespace assay::tester
