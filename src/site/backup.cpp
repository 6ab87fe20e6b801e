#include "site/backup.h"

#include <array>

#include "core/error.h"
#include "core/json.h"
#include "core/regular_file.h"
#include "database/database.h"
#include "tester/data_folder.h"

namespace assay::site {

namespace fs = std::filesystem;

namespace {

constexpr std::array kDatabases{"accounts.db", "jobs.db"};
constexpr const char* kCluster = "cluster.json";

void require_sound(const fs::path& file) {
  database::Database copy(file, {.read_only = true});
  database::Statement check = copy.prepare("PRAGMA quick_check(1)");
  if (!check.step() || check.text(0) != "ok")
    throw Error(ErrorKind::environment, "the copy is damaged: " + check.text(0), file.string());
}

}  // namespace

void backup_platform(const fs::path& data, const fs::path& out) {
  const tester::OwnerOnly files;
  for (const char* name : kDatabases) {
    if (!fs::exists(data / name)) continue;
    database::Database original(data / name);
    original.prepare("VACUUM INTO ?1").bind(1, (out / name).string()).run();
  }
  if (const std::string text = read_regular_file_or_empty(data / kCluster); !text.empty())
    tester::write_private(out / kCluster, text);
}

void check_backup(const fs::path& from) {
  for (const char* name : kDatabases)
    if (fs::exists(from / name)) require_sound(from / name);
  const std::string cluster = read_regular_file_or_empty(from / kCluster);
  if (!cluster.empty()) (void)parse_json(cluster, (from / kCluster).string());
}

}  // namespace assay::site
