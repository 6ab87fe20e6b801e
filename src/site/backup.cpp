#include "site/backup.h"

#include <array>
#include <map>

#include "core/error.h"
#include "core/json.h"
#include "core/regular_file.h"
#include "database/database.h"
#include "jobs/job_state.h"
#include "tester/data_folder.h"

namespace assay::site {

namespace fs = std::filesystem;

namespace {

constexpr const char* kJobs = "jobs.db";
constexpr std::array kDatabases{"accounts.db", kJobs};
constexpr std::array kSettings{"cluster.json", "schedules.json"};

void require_sound(const fs::path& file) {
  database::Database copy(file, {.read_only = true});
  database::Statement check = copy.prepare("PRAGMA quick_check(1)");
  if (!check.step() || check.text(0) != "ok")
    throw Error(ErrorKind::environment, "the copy is damaged: " + check.text(0), file.string());
}

// By the copy of the database: what it calls ended is whole on the disk, and stays as it is. What
// it does not know came later.
void copy_runs(const fs::path& data, const fs::path& out) {
  if (!fs::exists(out / kJobs) || !fs::exists(data / "jobs")) return;
  std::map<std::string, bool> ended;
  database::Database copy(out / kJobs, {.read_only = true});
  database::Statement query = copy.prepare("SELECT id, state FROM jobs");
  while (query.step()) {
    const auto state = parse_enum<jobs::State>(query.text(1));
    ended[query.text(0)] = state && jobs::is_final(*state);
  }
  for (const auto& [id, is_final] : ended)
    if (fs::is_directory(data / "jobs" / id))
      tester::copy_files(data / "jobs" / id, out / "jobs" / id, is_final);
}

}  // namespace

void backup_platform(const fs::path& data, const fs::path& out) {
  const tester::OwnerOnly files;
  for (const char* name : kDatabases) {
    if (!fs::exists(data / name)) continue;
    database::Database original(data / name);
    original.prepare("VACUUM INTO ?1").bind(1, (out / name).string()).run();
  }
  for (const char* name : kSettings)
    if (const std::string text = read_regular_file_or_empty(data / name); !text.empty())
      tester::write_private(out / name, text);
  copy_runs(data, out);
  // By content: the part of an upload, which may grow, is checked before it is used.
  if (fs::exists(data / "code")) tester::copy_files(data / "code", out / "code", true);
}

void check_backup(const fs::path& from) {
  for (const char* name : kDatabases)
    if (fs::exists(from / name)) require_sound(from / name);
  for (const char* name : kSettings)
    if (const std::string text = read_regular_file_or_empty(from / name); !text.empty())
      (void)parse_json(text, (from / name).string());
}

}  // namespace assay::site
