#include "site/backup.h"

#include <array>
#include <map>

#include <fmt/format.h>
#include <sys/stat.h>

#include "accounts/accounts.h"
#include "core/error.h"
#include "core/json.h"
#include "core/regular_file.h"
#include "database/database.h"
#include "engine/execution_folder.h"
#include "jobs/job_state.h"
#include "platform/folder_identity.h"
#include "site/databases.h"
#include "tester/data_folder.h"

namespace assay::site {

namespace fs = std::filesystem;

namespace {

constexpr const char* kJobs = kJobsDatabase;
constexpr std::array kSettings{"cluster.json", "schedules.json"};

void require_sound(const fs::path& file) {
  database::Database copy(file, {.read_only = true});
  database::Statement check = copy.prepare("PRAGMA quick_check(1)");
  if (!check.step() || check.text(0) != "ok")
    throw Error(ErrorKind::environment, "the copy is damaged: " + check.text(0), file.string());
}

// Removes the values that wait for an execution to be started by Slurm. No backup contains values,
// just as none contains their key.
void remove_secrets(const fs::path& job) {
  std::error_code ec;
  for (fs::directory_iterator it(job, ec), end; !ec && it != end; it.increment(ec))
    engine::ExecutionFolder(it->path()).remove_secrets();
}

// Decides by the copy of the database: the files of a job that has ended there are complete on the
// disk and will not change. Jobs that it does not know came later.
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
    if (fs::is_directory(data / "jobs" / id)) {
      tester::copy_files(data / "jobs" / id, out / "jobs" / id, is_final);
      remove_secrets(out / "jobs" / id);
    }
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
  if (fs::exists(data / "code")) {
    tester::copy_files(data / "code", out / "code", true);
    // An unfinished upload still grows, even through a link. Its sender will repeat it.
    std::error_code ec;
    for (fs::directory_iterator it(out / "code/people", ec), end; !ec && it != end;
         it.increment(ec))
      fs::remove_all(it->path() / "partial");
  }
  write_backup_list(out, data);
}

fs::path key_left_out(const fs::path& data) {
  std::error_code ec;
  const fs::path key = data / accounts::kSecretsKey;
  return fs::exists(fs::symlink_status(key, ec)) ? key : fs::path();
}

std::optional<BackupList> check_backup(const fs::path& from) {
  std::optional<BackupList> list = read_backup_list(from);
  if (list) {
    const std::vector<std::string> faults = list_faults(from, *list, true);
    if (!faults.empty())
      throw Error(ErrorKind::environment,
                  fmt::format("the copy is damaged: {} ({} in all)", faults.front(), faults.size()),
                  from.string(), "'assay serve verify --deep' lists all of it");
  }
  for (const char* name : kDatabases)
    if (fs::exists(from / name)) require_sound(from / name);
  require_databases(from, false);
  for (const char* name : kSettings)
    if (const std::string text = read_regular_file_or_empty(from / name); !text.empty())
      (void)parse_json(text, (from / name).string());
  return list;
}

void mark_restored(const fs::path& from, const fs::path& data,
                   const std::optional<BackupList>& list, bool resume) {
  const tester::OwnerOnly files;
  // Without a list, the folder is as old as the backup.
  struct stat about {};
  std::int64_t made_ns = list ? list->made_ns : 0;
  if (!list && ::stat(from.c_str(), &about) == 0)
    made_ns = about.st_mtim.tv_sec * 1'000'000'000 + about.st_mtim.tv_nsec;
  platform::mark_restored(data, list ? list->from : "", made_ns, resume);
  std::error_code ec;
  fs::remove(data / platform::kBackupList, ec);
}

std::vector<std::string> verify_platform(const fs::path& data, bool deep) {
  std::vector<std::string> faults;
  try {
    if (const auto list = read_backup_list(data)) faults = list_faults(data, *list, deep);
  } catch (const Error& error) {
    faults.push_back(error.message());
  }
  for (std::string& fault : platform_faults(data)) faults.push_back(std::move(fault));
  return faults;
}

}  // namespace assay::site
