#include "core/json_fields.h"
#include "core/time.h"
#include "serve/refusal.h"
#include "tester/records.h"

namespace assay::tester {

namespace {

ChallengeRecord challenge_in(const Statement& row) {
  return {fields_from_json<Challenge>(parse_json_or_null(row.text(0)), "the tester's database"),
          row.text(1), row.text(2)};
}

}  // namespace

void Records::add_challenge(const Challenge& challenge, const std::string& token) {
  const std::scoped_lock lock(lock_);
  Transaction transaction(database_);
  Statement open = database_.prepare(
      "SELECT count(*) FROM challenges WHERE test_id = ?1 AND answered_by IS NULL AND expires > "
      "?2");
  open.bind(1, challenge.test).bind(2, iso_utc(wall_now_ns()));
  if (open.step() && open.number(0) >= kMaxChallenges)
    throw serve::Refusal(429, "too_many_challenges",
                         "the test has too many challenges without an answer",
                         "answer one, or wait until one expires");
  open.reset();
  database_
      .prepare(
          "INSERT INTO challenges (id, test_id, token, body, expires) VALUES (?1, ?2, ?3, ?4, ?5)")
      .bind(1, challenge.id)
      .bind(2, challenge.test)
      .bind(3, token)
      .bind(4, dump_line(fields_to_json(challenge)))
      .bind(5, challenge.expires)
      .run();
  transaction.commit();
}

std::optional<ChallengeRecord> Records::challenge(const std::string& id) {
  const std::scoped_lock lock(lock_);
  Statement row =
      database_.prepare("SELECT body, token, answered_by FROM challenges WHERE id = ?1");
  if (!row.bind(1, id).step()) return std::nullopt;
  return challenge_in(row);
}

std::vector<ChallengeRecord> Records::challenges_of(const std::string& test) {
  const std::scoped_lock lock(lock_);
  std::vector<ChallengeRecord> out;
  Statement rows = database_.prepare(
      "SELECT body, token, answered_by FROM challenges WHERE test_id = ?1 ORDER BY seq DESC LIMIT "
      "100");
  rows.bind(1, test);
  while (rows.step()) out.push_back(challenge_in(rows));
  return out;
}

}  // namespace assay::tester
