#include "database/migrate.h"

#include <string>

#include "core/error.h"

namespace assay::database {

namespace {

std::string file_of(Database& database) {
  Statement query = database.prepare("PRAGMA database_list");
  while (query.step())
    if (query.text(1) == "main") return query.text(2);
  return {};
}

}  // namespace

void migrate(Database& database, std::span<const std::string_view> steps) {
  const auto newest = static_cast<std::int64_t>(steps.size());
  if (database.user_version() == newest) return;  // nobody's lock is waited for
  for (;;) {
    // Another process may be doing the same.
    Transaction transaction(database);
    const std::int64_t version = database.user_version();
    if (version < 0 || version > newest)
      throw Error(ErrorKind::environment,
                  "the database has schema " + std::to_string(version) +
                      "; this version of Assay knows " + std::to_string(newest) + " and older ones",
                  file_of(database), "use the version of Assay that wrote it, or a newer one");
    if (version == newest) return;
    database.execute(std::string(steps[static_cast<std::size_t>(version)]));
    database.execute("PRAGMA user_version = " + std::to_string(version + 1));
    transaction.commit();
  }
}

}  // namespace assay::database
