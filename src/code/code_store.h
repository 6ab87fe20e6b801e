#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "code/content_bundle.h"
#include "code/folder_manifest.h"
#include "core/time.h"

namespace assay::code {

struct StoreOptions {
  Limits limits{};                            ///< of one upload
  std::uint64_t quota = 10ULL << 30;          ///< bytes of one person's contents
  std::size_t unfinished = 4;                 ///< uploads of a person at a time; the oldest goes
  std::size_t unfinished_in_all = 64;         ///< the same, of everybody
  Nanoseconds keep = std::chrono::hours(24);  ///< an upload that no job has named yet
};

/// Folders that people have sent for their jobs, by the hashes of what they hold: a content is
/// stored once for each person, and nobody gets at what another has sent by knowing its hash.
///
///     FOLDER/people/P/blobs/ab/abcd…   contents, verified, read-only (P: hash of the name)
///     FOLDER/people/P/partial/abcd…    what has arrived of one
///     FOLDER/uploads/ID/               the folder as it was sent, for copies
///     FOLDER/uploads/ID.json           whose it is and what it holds; written last
///
/// An upload is announced, its missing contents are put, and when all are there it is complete. One
/// that is not complete is forgotten with the process; what has arrived of it is not.
///
/// Thread-safe; one process at a time. Throws Error: usage or config for what cannot be taken or is
/// above the person's quota, environment when the disk fails.
class CodeStore {
 public:
  explicit CodeStore(std::filesystem::path folder, StoreOptions options = {});

  struct Announced {
    std::string id{};
    std::vector<std::string> missing{};  ///< hashes that have to be put; empty: it is complete
  };
  [[nodiscard]] Announced announce(const std::string& owner, const Manifest& manifest);

  struct Received {
    std::uint64_t received = 0;  ///< bytes that are here: the next part begins there
    bool fits = true;            ///< false: the part began elsewhere, and was not taken
    bool complete = false;       ///< all of it, with the right hash
  };
  /// A part of a content that an announced upload of this person needs. A content with another hash
  /// than it should have is thrown away: Error of kind usage.
  Received put(const std::string& owner, const std::string& sha256, std::uint64_t offset,
               std::string_view bytes);

  /// Whole contents that announced uploads of this person need, with one sync of the disk for all
  /// of them. The hashes of those that have another one than they should have, and were not taken.
  /// Throws as put() does, before anything is written.
  std::vector<std::string> put_all(const std::string& owner,
                                   const std::vector<BundledContent>& contents);

  /// Whether it is complete, and this person's. It is kept for a while from then on.
  [[nodiscard]] bool has(const std::string& owner, const std::string& id) const;
  /// The folder of a complete upload. It is shared and must not be changed: a job gets a copy.
  [[nodiscard]] std::filesystem::path folder_of(const std::string& id) const;

  struct Collected {
    std::size_t uploads = 0;
    std::size_t blobs = 0;
    std::uint64_t bytes = 0;
  };
  /// Removes uploads that are not `needed` by a job and older than `keep`, and then contents that
  /// no upload has. `now_ns`: Unix epoch.
  Collected collect(const std::set<std::string>& needed, std::int64_t now_ns);

 private:
  struct Unfinished {
    std::string owner;
    std::string id;
    Manifest manifest;
    std::map<std::string, std::uint64_t> missing;  ///< sizes by hash
  };
  [[nodiscard]] std::filesystem::path person(const std::string& owner) const;
  [[nodiscard]] std::filesystem::path blob(const std::string& owner, const std::string& hash) const;
  [[nodiscard]] std::filesystem::path record(const std::string& id) const;
  [[nodiscard]] std::uint64_t used_by(const std::string& owner);
  /// Of a content that an announced upload needs; nothing: it is here already. Throws Error of kind
  /// usage for any other.
  [[nodiscard]] std::optional<std::uint64_t> awaited(const std::string& owner,
                                                     const std::string& hash) const;
  /// A file that is on the disk becomes a content.
  void keep(const std::string& owner, const std::string& hash, std::uint64_t size,
            const std::filesystem::path& file);
  void complete(const Unfinished& upload);
  void make_room_for_unfinished(const std::string& owner);
  void remove_unused(const std::filesystem::path& person, const std::set<std::string>& used,
                     std::int64_t now_ns, Collected& out);

  std::filesystem::path folder_;
  StoreOptions options_;
  mutable std::mutex mutex_;
  std::vector<Unfinished> unfinished_;         ///< the oldest first
  std::map<std::string, std::uint64_t> used_;  ///< by owner, where it has been counted
};

}  // namespace assay::code
