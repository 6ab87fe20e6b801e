#include "code/folder_rules.h"

#include <fmt/format.h>

#include "core/regular_file.h"
#include "core/run_layout.h"
#include "core/text.h"

namespace assay::code {

namespace fs = std::filesystem;

namespace {

// history::RunIndex keeps it beside the runs of a folder, and it changes with each of them.
constexpr std::string_view kRunIndex = ".assay-history.db";

std::string_view name_of(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

bool is_of_version_control(const std::string& path) {
  const std::string_view name = name_of(path);
  return name == ".git" || name == ".hg" || name == ".svn";
}

bool has(const fs::path& folder, std::string_view name) {
  std::error_code none;
  return fs::exists(folder / name, none);
}

/// Whether it is the data of a server that was started here, or a folder of runs.
bool is_kept_by_assay(const fs::path& folder) {
  return has(folder, "admin.token") || has(folder, kRunIndex);
}

/// It may be the running one.
bool is_run(const fs::path& folder) {
  return has(folder, layout::kPlan) && has(folder, layout::kJournal);
}

}  // namespace

FolderRules::FolderRules(const fs::path& folder) {
  usual_.add(kUsualRules);
  own_.add(read_regular_file_or_empty(folder / kIgnoreFile));
}

FolderRules::Choice FolderRules::of_file(const std::string& path) const {
  if (is_of_version_control(path) || name_of(path).starts_with(kRunIndex)) return Choice::leave_out;
  if (const auto own = own_.says(path, false)) return *own ? Choice::leave_out : Choice::send;
  if (usual_.ignores(path, false)) return Choice::leave_out;
  return looks_secret(path) ? Choice::secret : Choice::send;
}

FolderRules::Choice FolderRules::of_folder(const std::string& path, const fs::path& place) const {
  if (is_of_version_control(path) || is_kept_by_assay(place)) return Choice::leave_out;
  if (const auto own = own_.says(path, true)) return *own ? Choice::leave_out : Choice::send;
  if (usual_.ignores(path, true)) return Choice::leave_out;
  return is_run(place) ? Choice::run : Choice::send;
}

FolderRules::Choice FolderRules::of_content(const std::string& path, std::string_view head) const {
  const bool taken_back = own_.says(path, false).has_value();
  return !taken_back && begins_like_a_key(head) ? Choice::secret : Choice::send;
}

std::string listed_names(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < 10; ++i)
    text += (i == 0 ? "" : ", ") + printable(names[i]);
  return names.size() > 10 ? text + fmt::format(" and {} more", names.size() - 10) : text;
}

}  // namespace assay::code
