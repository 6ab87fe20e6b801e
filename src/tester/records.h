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
  std::string revoked;  ///< empty: it is good
};

/// With what is stored of its secret.
struct StoredToken {
  TokenRecord record;
  std::string sha256;
};
/// Those that can be read in a database, however damaged it is.
[[nodiscard]] std::vector<StoredToken> read_tokens(const std::filesystem::path& file);

/// Once accepted or refused, a test never changes again.
enum class TestStatus { open, uploading, accepted, refused };

constexpr auto enum_names(TestStatus /*value*/) {
  using enum TestStatus;
  return std::to_array<EnumName<TestStatus>>(
      {{open, "open"}, {uploading, "uploading"}, {accepted, "accepted"}, {refused, "refused"}});
}

struct TestRecord {
  std::int64_t number = 0;  ///< counted from 1, in the order in which they were made
  std::string id;           ///< "20261115-ab3dE9"
  std::string token;        ///< name of the token that made it
  std::string name;
  Json system;  ///< as it was sent, or null
  Json ais;
  TestStatus status = TestStatus::open;
  std::string created;   ///< ISO, UTC
  std::string finished;  ///< empty: not yet
  std::string verdict;   ///< computed by the server; empty: not yet
  std::string run_id;
  std::string suite;
  std::uint64_t bytes = 0;  ///< of evidence, according to the manifest
  Json answer;              ///< of /finish, once it has ended
  std::string machine;      ///< of an accepted one; for people
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

/// Which tests, and in which order.
struct TestQuery {
  std::int64_t page = 1;
  std::int64_t per_page = 25;
  std::optional<TestStatus> status{};
  std::string text{};  ///< in names, ids, suites and machines, whatever the case
  TestSort sort = TestSort::number;
  bool descending = true;
};

struct TestPage {
  std::vector<TestRecord> tests;  ///< without `answer`
  std::int64_t total = 0;
};

/// What the tester keeps in SQLite: tokens, tests and their manifests. Thread-safe; every change
/// is on the disk when its function returns. Throws Error of kind environment when the database
/// fails, Refusal when a request cannot be granted.
class Records {
 public:
  explicit Records(const std::filesystem::path& file);

  /// A new token, shown this once: only its SHA-256 is kept. Throws Error of kind usage when the
  /// name is taken or not valid.
  [[nodiscard]] std::string add_token(const std::string& name);
  /// Throws Error of kind usage when there is no such token.
  void revoke_token(const std::string& name);
  /// A new secret for the same name; the old one stops working. Throws like revoke_token.
  [[nodiscard]] std::string rotate_token(const std::string& name);
  [[nodiscard]] std::vector<TokenRecord> tokens();
  /// The name of the token, or nothing when there is none or it was revoked. Hashes are compared
  /// in constant time.
  [[nodiscard]] std::optional<std::string> token_name(const std::string& token);

  /// The same key of the same token gives the same test; `is_new` tells whether it was made now.
  /// Refusal 429 when the token has `max_open` unfinished ones.
  [[nodiscard]] TestRecord make_test(const TestRecord& wanted, const std::string& idempotency_key,
                                     bool& is_new, std::int64_t max_open = 1'000'000);
  [[nodiscard]] std::optional<TestRecord> test(const std::string& id);
  [[nodiscard]] TestPage list(const TestQuery& query);

  /// The first manifest stays: another one is a Refusal 409, more than `quota` bytes in all 507.
  /// A manifest that another test of the same token has, which was not refused, is a Refusal 409
  /// "same_run" with that test's id as "test_id"; this test is removed then, unless it is
  /// `reserved`: it waits for the run that it was made for.
  void set_manifest(const std::string& id, const Manifest& manifest, std::uint64_t quota,
                    bool reserved = false);
  [[nodiscard]] std::optional<Manifest> manifest(const std::string& id);
  /// One file of the manifest; nothing when there is no such file.
  [[nodiscard]] std::optional<ManifestFile> file(const std::string& id, std::int64_t n);

  /// The end of a test. `verdict`, `run_id` and `suite` are the server's own. `challenge`: id of
  /// the one that it answers, which is used up then; empty: none.
  /// `board`: what an accepted one shows there.
  void finish(const TestRecord& test, const std::string& challenge = {},
              const BoardRun* board = nullptr);

  /// The lines of accepted tests. Of tests of the same run there is one: of those by whoever sent
  /// it first (the key that signed, else the token), the newest.
  [[nodiscard]] BoardPage board(const BoardQuery& query, const BoardTerms& terms);
  [[nodiscard]] BoardChoices board_choices();
  /// Puts an accepted test on the board, again when it was there.
  void set_board(const std::string& id, const BoardRun& run);
  /// Those of a database that an earlier version wrote.
  [[nodiscard]] std::vector<std::string> accepted_without_board();

  /// Refusal 429 when the test has kMaxChallenges that are neither answered nor expired.
  void add_challenge(const Challenge& challenge, const std::string& token);
  [[nodiscard]] std::optional<ChallengeRecord> challenge(const std::string& id);
  /// Those about the test, newest first, at most 100.
  [[nodiscard]] std::vector<ChallengeRecord> challenges_of(const std::string& test);
  static constexpr int kMaxChallenges = 20;

  // For who operates the tester.
  void adopt_token(const StoredToken& token);
  /// A test of another database; its token comes with it, revoked, unless it is there.
  void adopt(const TestRecord& test, const std::optional<Manifest>& manifest);
  [[nodiscard]] std::vector<std::string> all_tests();  ///< their ids, oldest first
  /// What SQLite finds wrong, one sentence each; at most 100.
  [[nodiscard]] std::vector<std::string> faults();
  /// Whether its pages hold together, as far as a quick look tells. Throws DatabaseError where even
  /// that cannot be read.
  [[nodiscard]] bool sound();
  /// A consistent copy in a new file, while others write.
  void copy_to(const std::filesystem::path& file);
  [[nodiscard]] std::string public_key_of(const std::string& test);  ///< that signed it, or ""

  /// Unfinished tests made before `created`, and those without a manifest made before
  /// `empty_created`; removed from the database by remove_test.
  [[nodiscard]] std::vector<std::string> unfinished_before(const std::string& created,
                                                           const std::string& empty_created);
  void remove_test(const std::string& id);

 private:
  // With the lock held, inside of a transaction.
  void insert_manifest(const std::string& id, const Manifest& manifest, std::uint64_t bytes);
  void insert_board(const std::string& id, const std::string& token, const BoardRun& run);
  void list_run(const std::string& run_id);
  [[nodiscard]] std::int64_t count_lines(const BoardQuery& query, const BoardTerms& terms);
  void place_lines(std::vector<BoardLine>& lines);

  std::mutex lock_;
  Database database_;
};

}  // namespace assay::tester
