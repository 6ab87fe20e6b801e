#pragma once

#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "database/database.h"
#include "jobs/job_request.h"
#include "jobs/permissions.h"

namespace assay::accounts {

using jobs::WallTime;

inline constexpr Nanoseconds kSessionTime = std::chrono::hours(7 * 24);  ///< whatever is done in it
inline constexpr Nanoseconds kIdleTime = std::chrono::hours(12);         ///< without a request
inline constexpr Nanoseconds kLinkTime = std::chrono::minutes(15);
inline constexpr std::size_t kMaxTokens = 100;    ///< of a person
inline constexpr std::size_t kMaxSessions = 100;  ///< of a person; the oldest go
inline constexpr std::int64_t kMaxDeeds = 200'000;

struct Person {
  std::string name{};  ///< 1 to 64 letters, digits, '.', '-', '_', '@'
  std::string full_name{};
  jobs::Role role = jobs::Role::member;
  bool disabled = false;
  std::string language{};  ///< "en", "zh"; empty: the browser's
  // What is only read:
  bool has_password = false;
  WallTime made_ns = 0;
  std::vector<std::string> teams{};
};

struct Session {
  std::string user{};
  std::string csrf{};
  WallTime expires_ns = 0;
};
struct NewSession {
  std::string secret{};  ///< for the cookie; only its hash is kept
  Session session{};
};

/// What somebody was let in by: a session or a token of theirs. It holds no secret, so that what
/// stays open for long can keep it and ask again (Accounts::holder()).
struct Credential {
  enum class Kind { session, token };
  std::string user{};
  Kind kind = Kind::session;
  std::string sha256{};  ///< of the secret, as kept() makes it

  bool operator==(const Credential&) const = default;
};

struct Token {
  std::string name{};
  WallTime made_ns = 0;
  WallTime expires_ns = 0;  ///< 0: never
  WallTime used_ns = 0;     ///< within a minute; 0: never
};

/// How a one-time link reaches the browser that it signs in. One that is made for the one way is
/// not taken on the other.
enum class LinkBy {
  address,  ///< the page's address has it: whoever opens that is signed in
  cookie,   ///< only the browser that has come back from a provider has it
};

/// Whose a template is.
enum class Scope { own, team, all };

constexpr auto enum_names(Scope) {
  using enum Scope;
  return std::to_array<EnumName<Scope>>({{own, "own"}, {team, "team"}, {all, "all"}});
}

struct Template {
  Scope scope = Scope::own;
  std::string of{};  ///< the user or team; empty: everybody's
  std::string name{};
  Json content{};  ///< a submission, perhaps incomplete
  std::string author{};
  WallTime changed_ns = 0;
};

/// A value that jobs are given by its name. It is never read back, only given to jobs.
struct Secret {
  Scope scope = Scope::own;
  std::string of{};    ///< the user or team
  std::string name{};  ///< as names of people
  std::string author{};
  WallTime changed_ns = 0;
  bool usable = true;  ///< false: the key that it was kept with is not there any more
};

/// Something that somebody did: a line of the audit log.
struct DoneDeed {
  std::int64_t number = 0;
  WallTime at_ns = 0;
  std::string who{};
  std::string address{};
  std::string deed{};     ///< "sign_in", "stop_job"
  std::string subject{};  ///< "job 7"
  int status = 0;         ///< how it was answered
};

/// People, their passwords, sessions, tokens and teams, in one SQLite file. It knows who somebody
/// is, not what they may do: that is jobs::may().
///
/// Thread-safe; several processes may have the file open. No secret is kept as it is. Moments are
/// handed in. Throws Error: of kind usage for what cannot be done, environment when the disk fails.
class Accounts {
 public:
  explicit Accounts(const std::filesystem::path& file);

  [[nodiscard]] std::vector<Person> people();
  [[nodiscard]] std::optional<Person> find(const std::string& name);
  /// New, or as it is to be from now on; who is disabled is signed out. The last administrator
  /// cannot be disabled, demoted or removed. A new name differs from all others by more than the
  /// case of letters.
  void put(const Person& person, WallTime now_ns);
  /// Ends the person's sessions, but for the one of `keep_session`.
  void set_password(const std::string& name, std::string_view password,
                    std::string_view keep_session = {});
  /// The name is never given to anybody else: jobs and uploads keep it.
  void remove(const std::string& name);

  /// Nothing: the name or the password is wrong, or the person is disabled; it takes as long to
  /// say whichever it is.
  [[nodiscard]] std::optional<NewSession> sign_in(const std::string& name,
                                                  std::string_view password, WallTime now_ns);
  /// Whom a provider of sign-ins (src/oidc) knows by this subject.
  [[nodiscard]] std::optional<std::string> known_as(const std::string& issuer,
                                                    const std::string& subject);
  /// From now on; somebody has one identity of an issuer at most, so that nobody else gets in.
  void set_identity(const std::string& name, const std::string& issuer, const std::string& subject);
  /// For a person that there is; valid once.
  [[nodiscard]] std::string make_link(const std::string& name, WallTime now_ns,
                                      LinkBy by = LinkBy::address);
  [[nodiscard]] std::optional<NewSession> sign_in_by_link(std::string_view link, WallTime now_ns,
                                                          LinkBy by = LinkBy::address);
  /// Whom it would sign in; it stays good.
  [[nodiscard]] std::optional<std::string> link_owner(std::string_view link, WallTime now_ns,
                                                      LinkBy by = LinkBy::address);
  [[nodiscard]] std::optional<Session> session(std::string_view secret, WallTime now_ns);
  void sign_out(std::string_view secret);
  /// All of the person's sessions and links. Tokens stay.
  void sign_out_everywhere(const std::string& name);
  /// Sessions, links and tokens, all of them, and the role becomes the lowest. False: the role
  /// stays, because the person is the last administrator.
  bool shut_out(const std::string& name);

  /// Shown once. `expires_ns` 0: never. One that is made with a token ends with that.
  [[nodiscard]] std::string make_token(const std::string& user, const std::string& name,
                                       WallTime expires_ns, WallTime now_ns,
                                       const Credential& with = {});
  [[nodiscard]] std::vector<Token> tokens(const std::string& user);
  /// False: there is none of that name.
  bool revoke_token(const std::string& user, const std::string& name);
  struct TokenUse {
    std::string user{};
    WallTime expires_ns = 0;  ///< 0: never
  };
  [[nodiscard]] std::optional<TokenUse> token_use(std::string_view token, WallTime now_ns);
  /// Whose it is, as they are now; nothing once it lets nobody in any more: it was revoked, ended
  /// or has expired, or the person is disabled or gone. Counts as a use of it.
  [[nodiscard]] std::optional<Person> holder(const Credential& by, WallTime now_ns);

  [[nodiscard]] std::vector<std::string> members(const std::string& team);
  void set_members(const std::string& team, const std::vector<std::string>& names);

  /// Everybody's, those of the user, and those of the teams.
  [[nodiscard]] std::vector<Template> templates(const std::string& user,
                                                const std::vector<std::string>& teams);
  void put_template(const Template& made);
  bool remove_template(Scope scope, const std::string& of, const std::string& name);

  /// Those of the user, and those of the teams.
  [[nodiscard]] std::vector<Secret> secrets(const std::string& user,
                                            const std::vector<std::string>& teams);
  /// New, or with another value from now on; of a user or a team. It is kept encrypted, with the
  /// key of the file kSecretsKey beside the database, which is made when it is needed first.
  void put_secret(const Secret& made, std::string_view value);
  bool remove_secret(Scope scope, const std::string& of, const std::string& name);
  /// For a job of that user in that team (empty: none): the user's own secret of that name, else
  /// the team's, if the user is in it. Throws Error of kind usage where there is none, environment
  /// where it cannot be decrypted.
  [[nodiscard]] std::string secret_for(const std::string& user, const std::string& team,
                                       const std::string& name);
  /// The team is no more: who makes one of the same name does not get its secrets.
  void forget_team(const std::string& team);

  /// Who may enter a job besides its owner.
  [[nodiscard]] std::vector<std::string> shared_with(jobs::JobId job);
  void share(jobs::JobId job, const std::vector<std::string>& names);

  void record(const DoneDeed& deed);
  /// The latest first; of numbers below `before` (0: all).
  [[nodiscard]] std::vector<DoneDeed> deeds(std::int64_t before, std::int64_t limit);

  /// A copy of the whole file, as it is at one moment.
  void copy_to(const std::filesystem::path& file);

 private:
  [[nodiscard]] NewSession make_session(const std::string& name, WallTime now_ns);
  [[nodiscard]] std::optional<Session> session_of(const std::string& sha256, WallTime now_ns);
  [[nodiscard]] std::optional<TokenUse> token_use_of(const std::string& sha256, WallTime now_ns);
  [[nodiscard]] bool has_an_admin();
  void refuse_taken_name(const std::string& name);
  void require_person(const std::string& name);
  void keep_an_admin();

  std::mutex lock_;
  database::Database database_;
  const std::filesystem::path secrets_key_;
};

/// Throws Error of kind usage.
void check_name(std::string_view name, std::string_view what);

inline constexpr const char* kSecretsKey = "secrets.key";
inline constexpr std::size_t kMaxSecretValue = 32U << 10;  ///< bytes, as of any variable of a job
inline constexpr std::int64_t kMaxSecrets = 200;           ///< of a user or a team

/// The account of the first sign-in, made where there is nobody.
inline constexpr const char* kFirstAdmin = "admin";

}  // namespace assay::accounts
