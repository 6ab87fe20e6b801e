#include "accounts/accounts.h"

namespace assay::accounts {

using database::Statement;
using database::Transaction;

std::vector<std::string> Accounts::shared_with(jobs::JobId job) {
  const std::scoped_lock lock(lock_);
  Statement rows = database_.prepare("SELECT person FROM shares WHERE job = ?1 ORDER BY person");
  rows.bind(1, job);
  std::vector<std::string> out;
  while (rows.step()) out.push_back(rows.text(0));
  return out;
}

void Accounts::share(jobs::JobId job, const std::vector<std::string>& names) {
  const std::scoped_lock lock(lock_);
  Transaction transaction(database_);
  database_.prepare("DELETE FROM shares WHERE job = ?1").bind(1, job).run();
  for (const std::string& name : names) {
    require_person(name);
    database_.prepare("INSERT OR IGNORE INTO shares (job, person) VALUES (?1, ?2)")
        .bind(1, job)
        .bind(2, name)
        .run();
  }
  transaction.commit();
}

void Accounts::record(const DoneDeed& deed) {
  const std::scoped_lock lock(lock_);
  Transaction transaction(database_);
  database_
      .prepare(
          "INSERT INTO deeds (at_ns, who, address, deed, subject, status)"
          " VALUES (?1, ?2, ?3, ?4, ?5, ?6)")
      .bind(1, deed.at_ns)
      .bind(2, deed.who)
      .bind(3, deed.address)
      .bind(4, deed.deed)
      .bind(5, deed.subject)
      .bind(6, std::int64_t{deed.status})
      .run();
  database_.prepare("DELETE FROM deeds WHERE number <= (SELECT MAX(number) FROM deeds) - ?1")
      .bind(1, kMaxDeeds)
      .run();
  transaction.commit();
}

std::vector<DoneDeed> Accounts::deeds(std::int64_t before, std::int64_t limit) {
  const std::scoped_lock lock(lock_);
  Statement rows = database_.prepare(
      "SELECT number, at_ns, who, address, deed, subject, status FROM deeds"
      " WHERE ?1 = 0 OR number < ?1 ORDER BY number DESC LIMIT ?2");
  rows.bind(1, before).bind(2, limit);
  std::vector<DoneDeed> out;
  while (rows.step())
    out.push_back({rows.number(0), rows.number(1), rows.text(2), rows.text(3), rows.text(4),
                   rows.text(5), static_cast<int>(rows.number(6))});
  return out;
}

}  // namespace assay::accounts
