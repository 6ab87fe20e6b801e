#include "push/evidence.h"

#include <algorithm>
#include <array>
#include <cctype>

#include <fmt/format.h>

#include "core/error.h"
#include "core/sha256.h"
#include "core/text.h"

namespace assay::push {

namespace fs = std::filesystem;

namespace {

bool is_rank_log(std::string_view name) {
  return name.starts_with("rank") &&
         (name.ends_with(".out.log") || name.ends_with(".out.log.head") ||
          name.ends_with(".out.log.1"));
}

// Sorted, regular files only: what a link points at is not part of the run.
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

void add_results(const fs::path& folder, int depth, std::vector<fs::path>& found) {
  for (const fs::path& file : files_in(folder))
    if (file.extension() == ".json") found.push_back(file);
  if (depth == 0) return;
  for (const fs::path& inner : folders_in(folder)) add_results(inner, depth - 1, found);
}

void add_round(const fs::path& round, std::vector<fs::path>& found) {
  for (const fs::path& folder : folders_in(round)) {
    const std::string name = folder.filename().string();
    if (name == "results") {
      add_results(folder, 3, found);
    } else if (name == "automl") {
      if (fs::exists(folder / "journal.jsonl")) found.push_back(folder / "journal.jsonl");
    } else if (name.find("_noderank") != std::string::npos) {
      for (const fs::path& file : files_in(folder)) {
        const std::string base = file.filename().string();
        if (base == "config.json" || base == "telemetry.csv" || base == "set_result.jsonl" ||
            is_rank_log(base))
          found.push_back(file);
      }
    }
  }
}

bool names_a_secret(std::string_view variable) {
  static constexpr std::array<std::string_view, 6> kWords{"TOKEN",  "SECRET",     "PASSWORD",
                                                          "PASSWD", "CREDENTIAL", "CREDENTIALS"};
  static constexpr std::array<std::string_view, 3> kKeys{"ACCESS_KEY", "API_KEY", "PRIVATE_KEY"};
  std::string upper(variable);
  std::ranges::transform(upper, upper.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  for (const std::string_view word : split(std::string_view(upper), '_'))
    if (std::ranges::find(kWords, word) != kWords.end()) return true;
  return std::ranges::any_of(
      kKeys, [&](std::string_view key) { return upper.find(key) != std::string::npos; });
}

}  // namespace

std::vector<serve::ManifestFile> evidence_of(const store::RunDir& run) {
  std::vector<fs::path> found;
  for (const char* name : {"plan.json", "journal.jsonl", "system.json"})
    if (fs::is_regular_file(run.path() / name)) found.push_back(run.path() / name);
  for (const plan::CasePlan& one : run.plan().cases)
    for (int round = 1; round <= one.repeats; ++round)
      add_round(run.round_dir(one.name, round), found);
  std::vector<serve::ManifestFile> out;
  for (const fs::path& path : found)
    out.push_back({path.lexically_relative(run.path()).generic_string(), fs::file_size(path),
                   sha256_file(path)});
  return out;
}

void check_for_secrets(const plan::Plan& plan) {
  for (const plan::CasePlan& one : plan.cases)
    for (const auto& [name, value] : one.env)
      if (!value.empty() && names_a_secret(name))
        throw Error(ErrorKind::config,
                    fmt::format("the suite gives {} a value, which looks like a secret and would "
                                "be sent with the plan",
                                printable(name)),
                    "plan.json, case " + printable(one.name),
                    "set the variable where the ranks run instead of in the suite, and run again");
}

}  // namespace assay::push
