#include "site/databases.h"

#include <algorithm>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "core/error.h"
#include "core/parse_number.h"
#include "core/text.h"
#include "database/database.h"
#include "jobs/job_request.h"
#include "jobs/job_state.h"
#include "platform/folder_identity.h"

namespace assay::site {

namespace fs = std::filesystem;

namespace {

bool is_there(const fs::path& file) {
  std::error_code ec;
  return fs::symlink_status(file, ec).type() != fs::file_type::not_found;
}

bool has_content(const fs::path& file) {
  std::error_code ec;
  return fs::is_regular_file(file, ec) && fs::file_size(file, ec) > 0 && !ec;
}

std::vector<jobs::JobId> job_folders(const fs::path& data) {
  std::vector<jobs::JobId> out;
  std::error_code ec;
  for (fs::directory_iterator it(data / "jobs", ec), end; !ec && it != end; it.increment(ec))
    if (const auto number = parse_number<jobs::JobId>(it->path().filename().string()))
      out.push_back(*number);
  std::ranges::sort(out);
  return out;
}

// The file that proves that this database existed; empty if none does. cluster.json and accounts
// prove nothing, because an administrator may create them before the first start.
std::string sign_of(const fs::path& data, const std::string& name, bool used) {
  if (!job_folders(data).empty()) return "jobs/";
  for (const char* other : {"admin.token", "schedules.json"})
    if (is_there(data / other)) return other;
  if (name == kAccountsDatabase && has_content(data / kJobsDatabase)) return kJobsDatabase;
  return used ? "folder.json" : "";
}

// Empty if nothing is wrong.
std::string fault_of(const fs::path& data, const std::string& name, bool used) {
  const fs::path file = data / name;
  if (has_content(file)) return {};
  std::error_code ec;
  const fs::file_type type = fs::status(file, ec).type();
  if (is_there(file) && type != fs::file_type::regular) return "it is not a regular file";
  const std::string sign = sign_of(data, name, used);
  if (sign.empty()) return {};
  return fmt::format("it is {}, although {} is there", is_there(file) ? "empty" : "missing", sign);
}

std::optional<std::string> damage_of(const fs::path& file) {
  try {
    database::Database copy(file, {.read_only = true});
    database::Statement check = copy.prepare("PRAGMA quick_check(1)");
    if (check.step() && check.text(0) == "ok") return std::nullopt;
    return check.text(0);
  } catch (const Error& error) {
    return error.message();
  }
}

void compare_with_folders(const fs::path& data, std::vector<std::string>& faults) {
  std::set<jobs::JobId> known;
  database::Database database(data / kJobsDatabase, {.read_only = true});
  database::Statement query = database.prepare(
      "SELECT jobs.id, jobs.state, EXISTS(SELECT 1 FROM usage WHERE usage.job = jobs.id) FROM "
      "jobs");
  while (query.step()) {
    const jobs::JobId id = query.number(0);
    known.insert(id);
    const auto state = parse_enum<jobs::State>(query.text(1));
    const bool ran = query.number(2) != 0 && state && jobs::is_final(*state);
    if (ran && !fs::exists(data / "jobs" / std::to_string(id)))
      faults.push_back(fmt::format("job {}: its folder is gone", id));
  }
  for (const jobs::JobId id : job_folders(data))
    if (!known.contains(id))
      faults.push_back(fmt::format("jobs/{}: the database does not know it", id));
}

}  // namespace

void require_databases(const fs::path& data, bool used) {
  for (const char* name : kDatabases)
    if (const std::string fault = fault_of(data, name, used); !fault.empty())
      throw Error(ErrorKind::environment, "the database cannot be used: " + fault,
                  (data / name).string(),
                  "put the file back, or 'assay serve restore BACKUP --data NEW'; to begin anew, "
                  "give another --data DIR");
}

std::vector<std::string> platform_faults(const fs::path& data) {
  std::vector<std::string> faults;
  bool used = false;
  try {
    used = platform::look_at_folder(data).used;
  } catch (const Error& error) {
    faults.push_back(fmt::format("folder.json: {}", error.message()));
  }
  for (const char* name : kDatabases) {
    if (const std::string fault = fault_of(data, name, used); !fault.empty()) {
      faults.push_back(fmt::format("{}: {}", name, fault));
    } else if (has_content(data / name)) {
      if (const auto damage = damage_of(data / name))
        faults.push_back(fmt::format("{}: the database is damaged: {}", name, *damage));
    }
  }
  if (!faults.empty() || !has_content(data / kJobsDatabase)) return faults;
  try {
    compare_with_folders(data, faults);
  } catch (const Error& error) {
    faults.push_back(fmt::format("{}: {}", kJobsDatabase, error.message()));
  }
  return faults;
}

}  // namespace assay::site
