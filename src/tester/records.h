#pragma once

#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/enum_names.h"
#include "core/json.h"
#include "database/database.h"
#include "tester/board.h"
#include "tester/challenges.h"
#include "tester/manifest.h"

namespace assay::tester {

using database::Database;
using database::Statement;
using database::Transaction;

struct TokenRecord {
  std::string name;
  std::string created;  ///< ISO, UTC
  std::string revoked;  ///< empty: valid
};

/// A token with the stored form of its secret.
struct StoredToken {
  TokenRecord record;
  std::string sha256;
};
/// The tokens that are readable in a database, however damaged it is.
[[nodiscard]] std::vector<StoredToken> read_tokens(const std::filesystem::path& file);

/// An accepted or refused test never changes again.
enum class TestStatus { open, uploading, accepted, refused };

constexpr auto enum_names(TestStatus /*value*/) {
  using enum TestStatus;
  return std::to_array<EnumName<TestStatus>>(
      {{open, "open"}, {uploading, "uploading"}, {accepted, "accepted"}, {refused, "refused"}});
}

struct TestRecord {
  std::int64_t number = 0;  ///< counted from 1, in order of creation
  std::string id;           ///< "20261115-ab3dE9"
  std::string token;        ///< name of the creating token
  std::string name;
  Json system;  ///< as sent, or null
  Json ais;
  TestStatus status = TestStatus::open;
  std::string created;   ///< ISO, UTC
  std::string finished;  ///< empty: not yet
  std::string verdict;   ///< computed by the server; empty: not yet
  std::string run_id;
  std::string suite;
  std::uint64_t bytes = 0;  ///< of evidence, by the manifest
  Json answer;              ///< to /finish, once ended
  std::string machine;      ///< of an accepted test; for people
};

enum class TestSort { number, name, status, verdict, by, machine, bytes };

constexpr auto enum_names(TestSort /*sort*/) {
  using enum TestSort;
  return std::to_array<EnumName<TestSort>>({{number, "number"},
                                            {name, "name"},
                                            {status, "status"},
                                            {verdict, "verdict"},
                                            {by, "by"},
                                            {machine, "machine"},
                                            {bytes, "bytes"}});
}

/// Which tests to list, in which order.
struct TestQuery {
  std::int64_t page = 1;
  std::int64_t per_page = 25;
  std::optional<TestStatus> status{};
  std::string text{};  ///< part of a name, id, suite or machine, ignoring case
  TestSort sort = TestSort::number;
  bool descending = true;
};

struct TestPage {
  std::vector<TestRecord> tests;  ///< without `answer`
  std::int64_t total = 0;
};

/// The tester's SQLite records: tokens, tests and their manifests. Thread-safe; every change is on
/// disk when its function returns. Throws Error of kind environment if the database fails, Refusal
/// if a request cannot be granted.
class Records {
 public:
  explicit Records(const std::filesystem::path& file);

  /// Creates a token and returns it only this once: only its SHA-256 is kept. Throws Error of kind
  /// usage if the name is taken or invalid.
  [[nodiscard]] std::string add_token(const std::string& name);
  /// Throws Error of kind usage if there is no such token.
  void revoke_token(const std::string& name);
  /// Replaces the secret of a name; the old one stops working. Throws like revoke_token.
  [[nodiscard]] std::string rotate_token(const std::string& name);
  [[nodiscard]] std::vector<TokenRecord> tokens();
  /// The token's name; nothing if it is unknown or revoked. Compares hashes in constant time.
  [[nodiscard]] std::optional<std::string> token_name(const std::string& token);

  /// The same key of the same token yields the same test; `is_new` tells whether it was created
  /// now. Refusal 429 if the token has `max_open` unfinished ones.
  [[nodiscard]] TestRecord make_test(const TestRecord& wanted, const std::string& idempotency_key,
                                     bool& is_new, std::int64_t max_open = 1'000'000);
  [[nodiscard]] std::optional<TestRecord> test(const std::string& id);
  [[nodiscard]] TestPage list(const TestQuery& query);

  /// The first manifest stays: a different one is a Refusal 409; more than `quota` bytes in total
  /// is a 507. If another test of the same token that was not refused has the same manifest, that
  /// is a Refusal 409 "same_run" with that test's id as "test_id"; this test is then removed,
  /// unless it is `reserved` and so waits for the run it was created for.
  void set_manifest(const std::string& id, const Manifest& manifest, std::uint64_t quota,
                    bool reserved = false);
  [[nodiscard]] std::optional<Manifest> manifest(const std::string& id);
  /// A file of the manifest; nothing if there is no such file.
  [[nodiscard]] std::optional<ManifestFile> file(const std::string& id, std::int64_t n);

  /// Ends a test. `verdict`, `run_id` and `suite` are the server's own. `challenge` is the id of
  /// the one it answers, which is thereby used up; empty: none. `board` is an accepted test's
  /// content there.
  void finish(const TestRecord& test, const std::string& challenge = {},
              const BoardRun* board = nullptr);

  /// The lines of accepted tests, with only one test per run: the newest by whoever sent the run
  /// first (the key that signed it, else the token).
  [[nodiscard]] BoardPage board(const BoardQuery& query, const BoardTerms& terms);
  [[nodiscard]] BoardChoices board_choices();
  /// Puts an accepted test on the board, replacing its earlier lines.
  void set_board(const std::string& id, const BoardRun& run);
  /// Tests in a database written by an earlier version.
  [[nodiscard]] std::vector<std::string> accepted_without_board();

  /// Refusal 429 if the test has kMaxChallenges that are neither answered nor expired.
  void add_challenge(const Challenge& challenge, const std::string& token);
  [[nodiscard]] std::optional<ChallengeRecord> challenge(const std::string& id);
  /// The test's challenges, newest first, at most 100.
  [[nodiscard]] std::vector<ChallengeRecord> challenges_of(const std::string& test);
  static constexpr int kMaxChallenges = 20;

  // For the tester's operator.
  void adopt_token(const StoredToken& token);
  /// Adds another database's test and, unless it exists here, its token, revoked.
  void adopt(const TestRecord& test, const std::optional<Manifest>& manifest);
  [[nodiscard]] std::vector<std::string> all_tests();  ///< their ids, oldest first
  /// Problems found by SQLite, one sentence each; at most 100.
  [[nodiscard]] std::vector<std::string> faults();
  /// Whether its pages are consistent, as far as a quick check can tell. Throws DatabaseError if
  /// even that cannot be read.
  [[nodiscard]] bool sound();
  /// Makes a consistent copy in a new file while others write.
  void copy_to(const std::filesystem::path& file);
  [[nodiscard]] std::string public_key_of(const std::string& test);  ///< the signer's, or ""

  /// Unfinished tests created before `created`, and those without a manifest created before
  /// `empty_created`; remove_test removes them from the database.
  [[nodiscard]] std::vector<std::string> unfinished_before(const std::string& created,
                                                           const std::string& empty_created);
  void remove_test(const std::string& id);

 private:
  // Called with the lock held, within a transaction.
  void insert_manifest(const std::string& id, const Manifest& manifest, std::uint64_t bytes);
  void insert_board(const std::string& id, const std::string& token, const BoardRun& run);
  void list_run(const std::string& run_id);
  [[nodiscard]] std::int64_t count_lines(const BoardQuery& query, const BoardTerms& terms);
  void place_lines(std::vector<BoardLine>& lines);

  std::mutex lock_;
  Database database_;
};

}  // namespace assay::tester
