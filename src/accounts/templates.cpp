#include "accounts/accounts.h"
#include "core/error.h"
#include "core/one_line.h"
#include "core/text.h"

namespace assay::accounts {

using database::Statement;
using database::Transaction;

namespace {

constexpr std::size_t kMaxTemplateName = 100;
constexpr std::int64_t kMaxTemplates = 1000;

}  // namespace

std::vector<Template> Accounts::templates(const std::string& user,
                                          const std::vector<std::string>& teams) {
  const std::scoped_lock lock(lock_);
  std::vector<Template> out;
  const auto add = [&](Scope scope, const std::string& of) {
    Statement rows = database_.prepare(
        "SELECT name, content, author, changed_ns FROM templates"
        " WHERE scope = ?1 AND owner = ?2 ORDER BY name");
    rows.bind(1, to_text(scope)).bind(2, of);
    while (rows.step())
      out.push_back({scope, of, rows.text(0), parse_json(rows.text(1), "template"), rows.text(2),
                     rows.number(3)});
  };
  add(Scope::own, user);
  for (const std::string& team : teams) add(Scope::team, team);
  add(Scope::all, "");
  return out;
}

void Accounts::put_template(const Template& made) {
  if (made.name.empty() || code_points(made.name) > kMaxTemplateName || !is_one_line(made.name))
    throw Error(ErrorKind::usage, "not a valid name of a template", {},
                "one line of 1 to 100 characters, without control characters and marks of "
                "direction");
  const std::scoped_lock lock(lock_);
  Transaction transaction(database_);
  Statement count =
      database_.prepare("SELECT COUNT(*) FROM templates WHERE scope = ?1 AND owner = ?2");
  if (count.bind(1, to_text(made.scope)).bind(2, made.of).step() &&
      count.number(0) >= kMaxTemplates)
    throw Error(ErrorKind::usage, "there are too many templates", {},
                "delete those that are not used");
  count.reset();
  database_
      .prepare(
          "INSERT INTO templates (scope, owner, name, content, author, changed_ns)"
          " VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (scope, owner, name) DO UPDATE SET"
          " content = ?4, author = ?5, changed_ns = ?6")
      .bind(1, to_text(made.scope))
      .bind(2, made.of)
      .bind(3, made.name)
      .bind(4, dump_line(made.content))
      .bind(5, made.author)
      .bind(6, made.changed_ns)
      .run();
  transaction.commit();
}

bool Accounts::remove_template(Scope scope, const std::string& of, const std::string& name) {
  const std::scoped_lock lock(lock_);
  database_.prepare("DELETE FROM templates WHERE scope = ?1 AND owner = ?2 AND name = ?3")
      .bind(1, to_text(scope))
      .bind(2, of)
      .bind(3, name)
      .run();
  return database_.changes() > 0;
}

}  // namespace assay::accounts
