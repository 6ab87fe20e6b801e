#include "train/loop/checkpoint_folder.h"

#include <algorithm>

#include <fmt/format.h>
#include <unistd.h>

#include "core/crc32c.h"
#include "core/error.h"
#include "core/file_lock.h"
#include "core/host.h"
#include "core/json_access.h"
#include "core/mapped_file.h"
#include "core/parse_number.h"
#include "core/text.h"

namespace assay::train {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSeal = "crc32c";

std::uint32_t checksum(std::string_view text) {
  return crc32c({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
}

std::string names_of(const std::vector<std::int64_t>& steps) {
  std::vector<std::string> names;
  for (const std::int64_t step : steps) names.push_back(fmt::format("step{}", step));
  return names.empty() ? "none" : join(names, ", ");
}

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

// Whether all its files exist in their full sizes.
bool is_complete(const fs::path& step) {
  Json info;
  try {
    info = parse_json(read_file(step / "info.json"), "info.json");
  } catch (const Error&) {
    return false;
  }
  const Json& files = member_at(info, "files");
  if (!files.is_object()) return is_there(step / "model.pt");
  for (const auto& [name, mark] : files.items()) {
    std::error_code error;
    const std::uintmax_t size = fs::file_size(step / name, error);
    if (error || member_at(mark, "bytes") != size) return false;
  }
  return true;
}

}  // namespace

fs::path step_folder(const fs::path& folder, std::int64_t step) {
  return folder / fmt::format("step{}", step);
}

std::vector<std::int64_t> steps_in(const fs::path& folder) {
  std::vector<std::int64_t> steps;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (!name.starts_with("step")) continue;
    if (const auto step = parse_number<std::int64_t>(std::string_view(name).substr(4), 0))
      steps.push_back(*step);
  }
  std::ranges::sort(steps);
  return steps;
}

NewestStep newest_step(const fs::path& folder) {
  const fs::path latest_path = folder / "latest";
  const std::string latest(trim(read_file_or_empty(latest_path)));
  const std::vector<std::int64_t> steps = steps_in(folder);
  if (!latest.empty()) {
    const auto step = parse_number<std::int64_t>(latest, 0);
    const fs::path named = step ? step_folder(folder, *step) : fs::path();
    if (step && is_there(named / "info.json")) return {*step, {}};
    if (step && is_there(named))
      throw Error(ErrorKind::environment,
                  "the checkpoint is damaged: its info.json, which is written last, is missing",
                  named.string(),
                  "copy it again, or remove the file 'latest' to take the newest complete one");
    throw Error(ErrorKind::environment,
                fmt::format("the checkpoint is damaged: 'latest' names '{}', and there is {}",
                            printable(latest), names_of(steps)),
                latest_path.string(),
                "write the number of one that is there into the file, or remove the file to take "
                "the newest complete one");
  }
  std::vector<std::int64_t> damaged;
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    const fs::path candidate = step_folder(folder, *step);
    if (is_complete(candidate))
      return {*step, fmt::format("{} is missing or empty: step {} is the newest complete "
                                 "checkpoint, and the training goes on from it",
                                 latest_path.string(), *step)};
    // Written once all others exist.
    if (is_there(candidate / "info.json")) damaged.push_back(*step);
  }
  if (!damaged.empty())
    throw Error(ErrorKind::environment,
                "the checkpoint is damaged: files are missing or cut in " + names_of(damaged),
                folder.string(), "copy them again, or remove these folders to start anew");
  if (steps.empty()) return {};
  return {std::nullopt, fmt::format("{} holds no complete checkpoint, only the begin of {}: the "
                                    "training starts anew",
                                    folder.string(), names_of(steps))};
}

Json mark_of(const fs::path& file) {
  const MappedFile mapped(file);
  mapped.read_ahead();
  return {{"bytes", mapped.size()}, {"crc32c", checksum(mapped.text())}};
}

void require_unchanged(const Json& info, const fs::path& file) {
  const Json& files = member_at(info, "files");
  if (files.is_null() || !is_there(file)) return;  // its reader reports a missing one
  const Json& expected = member_at(files, file.filename().c_str());
  if (mark_of(file) == expected) return;
  throw Error(ErrorKind::environment,
              "the checkpoint is damaged: the file is not as it was written (another size or "
              "checksum than in info.json)",
              file.string(), "remove this step's folder and name an older step in 'latest'");
}

void seal(Json& info) {
  info.erase(kSeal);
  info[kSeal] = checksum(info.dump());
}

bool sealed(const Json& info) {
  if (!info.is_object() || !info.contains(kSeal)) return true;
  Json again = info;
  seal(again);
  return again[kSeal] == info[kSeal];
}

std::uint32_t seal_of(const Json& info) {
  return info.value(kSeal, std::uint32_t{0});
}

std::optional<UniqueFd> lock_checkpoints(const fs::path& folder) {
  const fs::path path = folder / "lock";
  std::optional<UniqueFd> lock;
  try {
    lock = try_lock_file(path);
  } catch (const Error&) {
    return std::nullopt;  // no locks there; writing to the folder was already tested
  }
  if (!lock) {
    const std::string holder(trim(read_file_or_empty(path)));
    throw Error(ErrorKind::environment,
                "another training has its checkpoints in this folder" +
                    (holder.empty() ? "" : ": " + printable(holder)),
                folder.string(), "give each training a folder of its own, or wait for its end");
  }
  const std::string holder = fmt::format("process {} on {}\n", ::getpid(), host_name());
  // Only for the other process's message, so a failure to write is not an error.
  if (::ftruncate(lock->get(), 0) == 0)
    static_cast<void>(::pwrite(lock->get(), holder.data(), holder.size(), 0) < 0);
  return lock;
}

}  // namespace assay::train
