#include "compare/side.h"

#include <algorithm>
#include <filesystem>

#include "core/error.h"
#include "core/run_layout.h"
#include "core/scratch_folder.h"
#include "core/text.h"
#include "judge/judge.h"
#include "pack/open_run.h"
#include "store/archived_run.h"
#include "store/run_dir.h"

namespace assay::compare {

namespace {

namespace fs = std::filesystem;

bool is_run(const fs::path& folder) {
  std::error_code ec;
  return fs::exists(folder / layout::kPlan, ec) || store::is_archived(folder);
}

// The runs in a folder such as results/, oldest first; links such as "latest" are not separate
// runs.
std::vector<fs::path> runs_in(const fs::path& folder) {
  std::vector<fs::path> out;
  std::error_code ec;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ec))
    if (!entry.is_symlink(ec) && entry.is_directory(ec) && is_run(entry.path()))
      out.push_back(entry.path());
  std::ranges::sort(out);
  return out;
}

std::vector<fs::path> paths_of(const std::string& text) {
  std::vector<fs::path> out;
  std::error_code ec;
  const std::vector<std::string_view> parts = fs::exists(text, ec)
                                                  ? std::vector<std::string_view>{text}
                                                  : split(std::string_view(text), ',');
  for (const std::string_view part : parts) {
    if (part.empty())
      throw Error(ErrorKind::usage, "a name in the list of runs is empty", printable(text),
                  "write RUN,RUN without a comma at the end");
    const fs::path path(part);
    const std::vector<fs::path> inside =
        fs::is_directory(path, ec) && !is_run(path) ? runs_in(path) : std::vector<fs::path>{};
    if (inside.empty())
      out.push_back(path);
    else
      out.insert(out.end(), inside.begin(), inside.end());
  }
  return out;
}

}  // namespace

Side read_side(const std::string& text, const std::function<void(const std::string&)>& progress) {
  if (std::error_code ec; fs::is_regular_file(text, ec) && baseline::is_baseline_file(text))
    return {printable(text), {}, baseline::load(text)};
  Side side;
  std::vector<fs::path> seen;
  for (const fs::path& path : paths_of(text)) {
    if (progress) progress(path.string());
    std::optional<ScratchFolder> scratch;
    if (pack::is_packed(path)) scratch.emplace("assay-unpack");
    const store::RunDir run =
        store::RunDir::open(scratch ? pack::open_packed(path, scratch->path()) : path);
    if (store::RunLock::held(run.path()))
      throw Error(ErrorKind::usage, "the run is going on", path.string(),
                  "compare it when it has ended");
    if (std::error_code ec; std::ranges::any_of(
            seen, [&](const fs::path& other) { return fs::equivalent(other, run.path(), ec); }))
      throw Error(ErrorKind::usage, "the run is named twice on one side", path.string(),
                  "its rounds would count twice; name it once");
    seen.push_back(run.path());
    judge::RunResult result = judge::judge_run(run);
    if (std::ranges::any_of(side.runs, [&](const judge::RunResult& other) {
          return other.run_id == result.run_id;
        }))
      throw Error(ErrorKind::usage,
                  "a copy of the run " + result.run_id + " is on the same side, too", path.string(),
                  "its rounds would count twice; name one of them");
    side.runs.push_back(std::move(result));
  }
  side.name = side.runs.size() == 1 ? side.runs.front().run_id : printable(text);
  return side;
}

}  // namespace assay::compare
