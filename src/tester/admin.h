#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "core/files.h"
#include "tester/records.h"
#include "tester/uploads.h"

namespace assay::tester {

// An operator's actions on a tester's folder. All throw Error; those that change the database as a
// whole refuse while a server uses the folder.

/// The database of a data folder, created if missing; works beside a running server.
[[nodiscard]] Records open_records(const std::filesystem::path& data);
inline constexpr const char* kRebuildAdvice =
    "'assay serve rebuild --data DIR' makes a new one from the tests' folders and keeps this one";

/// Throws Error of kind usage if no tester has used the folder: a wrong name must not make one.
void require_tester(const std::filesystem::path& data);

/// Locks the folder as long as the descriptor lives; refuses if another process holds it.
[[nodiscard]] UniqueFd lock_folder(const std::filesystem::path& data);

/// Called with the progress so far.
using Progress = std::function<void(std::size_t done, std::size_t total)>;

/// Adds tests whose folders the database does not know; removes folders that do not describe a
/// test, and leftovers of judging. Accepted tests go on the leaderboard. Returns the number of
/// tests added.
std::size_t take_in_folders(const std::filesystem::path& data, Records& records, Uploads& uploads);

/// Makes a new database from the tests' folders and keeps the old one under another name. Tokens
/// that are still readable in it stay valid; others must be rotated.
struct Rebuilt {
  std::filesystem::path kept;  ///< the old database; empty if none
  std::size_t tests = 0;
  std::size_t tokens = 0;  ///< still valid
};
[[nodiscard]] Rebuilt rebuild(const std::filesystem::path& data);

/// Everything wrong, one sentence each: the database, missing files or files of other sizes, tests
/// without a folder and folders without a test. `deep` also checks every file's hash.
[[nodiscard]] std::vector<std::string> verify(const std::filesystem::path& data, bool deep,
                                              const Progress& progress = {});

/// Works beside a running server. Throws Error of kind usage if there is no such test.
void delete_test(const std::filesystem::path& data, const std::string& id);

/// Copies the evidence under its own names, result.json, report.html and test.json to a new folder.
void export_test(const std::filesystem::path& data, const std::string& id,
                 const std::filesystem::path& out);

/// Copies the database, finished tests, known keys and configuration to a new folder, even beside a
/// running server. Links files if possible, since none of them ever changes.
void backup(const std::filesystem::path& data, const std::filesystem::path& out,
            const Progress& progress = {});
/// The inverse, into a folder without a tester.
void restore(const std::filesystem::path& from, const std::filesystem::path& data,
             const Progress& progress = {});

/// Reserves an id for a future test, for the token of that name.
[[nodiscard]] std::string reserve_test(const std::filesystem::path& data, const std::string& token,
                                       const std::string& name);

}  // namespace assay::tester
