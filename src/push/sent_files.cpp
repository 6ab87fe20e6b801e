#include "push/sent_files.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/error.h"
#include "core/run_layout.h"
#include "core/secrets.h"
#include "core/sha256.h"
#include "core/text.h"
#include "plan/dependencies.h"

namespace assay::push {

namespace fs = std::filesystem;

namespace {

constexpr int kMaxDepth = 4;  // for a round's folders; a job's results may have three

// Sorted, regular files only: a link's target is not part of the run.
std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> out;
  std::error_code ec;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ec))
    if (entry.symlink_status().type() == fs::file_type::regular) out.push_back(entry.path());
  std::ranges::sort(out);
  return out;
}

std::vector<fs::path> folders_in(const fs::path& folder) {
  std::vector<fs::path> out;
  std::error_code ec;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ec))
    if (entry.symlink_status().type() == fs::file_type::directory) out.push_back(entry.path());
  std::ranges::sort(out);
  return out;
}

bool is_judged(const fs::path& file, const fs::path& run) {
  const std::string path = file.lexically_relative(run).generic_string();
  const layout::RunFile* known = layout::find_run_file(path);
  if (known == nullptr || !known->judged) return false;
  return known->name != layout::kJobResults || file.extension() == ".json";
}

void add_judged(const fs::path& folder, const fs::path& run, int depth,
                std::vector<fs::path>& found) {
  for (const fs::path& file : files_in(folder))
    if (is_judged(file, run)) found.push_back(file);
  if (depth == 0) return;
  for (const fs::path& inner : folders_in(folder)) add_judged(inner, run, depth - 1, found);
}

}  // namespace

std::vector<tester::ManifestFile> evidence_of(const store::RunDir& run) {
  std::vector<fs::path> found;
  for (const layout::RunFile& file : layout::run_files())
    if (file.place == layout::FilePlace::run && file.judged &&
        fs::is_regular_file(run.path() / file.name))
      found.push_back(run.path() / file.name);
  for (const plan::CasePlan& case_plan : run.plan().cases)
    for (int round = 1; round <= case_plan.rounds(); ++round)
      add_judged(run.round_dir(case_plan.name, round), run.path(), kMaxDepth, found);
  for (const std::string& hook : plan::hook_folders(run.plan()))
    add_judged(run.path() / hook, run.path(), kMaxDepth + 1, found);
  std::vector<tester::ManifestFile> out;
  for (const fs::path& path : found)
    out.push_back({path.lexically_relative(run.path()).generic_string(), fs::file_size(path),
                   sha256_file(path)});
  return out;
}

void check_for_secrets(const plan::Plan& plan) {
  for (const plan::CasePlan& case_plan : plan.cases)
    for (const auto& [name, value] : case_plan.env)
      if (!value.empty() && names_a_secret(name))
        throw Error(ErrorKind::config,
                    fmt::format("the suite gives {} a value, which looks like a secret and would "
                                "be sent with the plan",
                                printable(name)),
                    "plan.json, case " + printable(case_plan.name),
                    "set the variable where the ranks run instead of in the suite, and run again");
}

}  // namespace assay::push
