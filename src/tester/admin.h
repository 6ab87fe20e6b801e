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

// What an operator does with a tester's folder. All throw Error; those that change the database as
// a whole refuse while a server uses the folder.

/// The database of a data folder, made when it is not there; beside a running server, too.
[[nodiscard]] Records open_records(const std::filesystem::path& data);
inline constexpr const char* kRebuildAdvice =
    "'assay serve rebuild --data DIR' makes a new one from the tests' folders and keeps this one";

/// Throws Error of kind usage for a folder that no tester has used; a wrong name must not make one.
void require_tester(const std::filesystem::path& data);

/// Refuses when another process has it. Held as long as the descriptor lives.
[[nodiscard]] UniqueFd lock_folder(const std::filesystem::path& data);

/// Called with what is done so far.
using Progress = std::function<void(std::size_t done, std::size_t total)>;

/// Tests whose folders the database does not know come into it again; folders that say nothing
/// about a test are removed, as are leftovers of judging. Accepted ones go on the leaderboard.
/// Gives how many were found again.
std::size_t take_in_folders(const std::filesystem::path& data, Records& records, Uploads& uploads);

/// A new database from the folders of the tests. The old one is kept under another name; tokens
/// that can still be read in it stay good, others have to be rotated.
struct Rebuilt {
  std::filesystem::path kept;  ///< the old database; empty: there was none
  std::size_t tests = 0;
  std::size_t tokens = 0;  ///< that stay good
};
[[nodiscard]] Rebuilt rebuild(const std::filesystem::path& data);

/// What is wrong, one sentence each: the database, files that are missing or have other sizes,
/// tests without a folder and folders without a test. `deep`: also every file's hash.
[[nodiscard]] std::vector<std::string> verify(const std::filesystem::path& data, bool deep,
                                              const Progress& progress = {});

/// Beside a running server, too. Throws Error of kind usage when there is no such test.
void delete_test(const std::filesystem::path& data, const std::string& id);

/// The evidence under its own names, result.json, report.html and test.json, in a new folder.
void export_test(const std::filesystem::path& data, const std::string& id,
                 const std::filesystem::path& out);

/// A copy of database, finished tests, known keys and configuration in a new folder; beside a
/// running server, too. Files are linked where that is possible: none of them ever changes.
void backup(const std::filesystem::path& data, const std::filesystem::path& out,
            const Progress& progress = {});
/// The reverse, into a folder that has no tester yet.
void restore(const std::filesystem::path& from, const std::filesystem::path& data,
             const Progress& progress = {});

/// An id for a test that is to come, for the token of that name.
[[nodiscard]] std::string reserve_test(const std::filesystem::path& data, const std::string& token,
                                       const std::string& name);

}  // namespace assay::tester
