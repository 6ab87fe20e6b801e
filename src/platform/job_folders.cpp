#include "platform/job_folders.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <poll.h>

#include "core/error.h"
#include "core/file_lock.h"
#include "core/parse_number.h"

namespace assay::platform {

namespace {

constexpr jobs::JobId kMaxNumber = 1'000'000'000'000;  // a folder of more is no job's
constexpr const char* kRemoved = ".removed";

}  // namespace

JobFolders::JobFolders(const std::filesystem::path& data)
    : folder_(std::filesystem::absolute(data) / "jobs") {}

std::filesystem::path JobFolders::of(jobs::JobId id) const {
  return folder_ / std::to_string(id);
}

std::filesystem::path JobFolders::of(jobs::JobId id, int attempt) const {
  return of(id) / fmt::format("attempt-{}", attempt);
}

std::filesystem::path JobFolders::removed(jobs::JobId id) const {
  return of(id).concat(kRemoved);
}

std::vector<jobs::JobId> JobFolders::all_removed() const {
  std::vector<jobs::JobId> out;
  std::error_code error;
  for (std::filesystem::directory_iterator it(folder_, error), end; !error && it != end;
       it.increment(error))
    if (it->path().extension() == kRemoved)
      if (const auto number = parse_number<jobs::JobId>(it->path().stem().string()))
        out.push_back(*number);
  return out;
}

jobs::JobId JobFolders::last() const {
  jobs::JobId last = 0;
  std::error_code error;
  for (std::filesystem::directory_iterator it(folder_, error), end; !error && it != end;
       it.increment(error))
    if (const auto number = parse_number<jobs::JobId>(it->path().filename().string());
        number && *number <= kMaxNumber)
      last = std::max(last, *number);
  return last;
}

UniqueFd lock_data_folder(const std::filesystem::path& data) {
  // What a server was about to start when it was killed has its lock until it comes to its exec.
  constexpr int kTries = 40;
  constexpr int kBetweenMs = 50;
  make_directories(data);
  std::optional<UniqueFd> lock;
  for (int i = 0; i < kTries && !lock; ++i) {
    if (i > 0) ::poll(nullptr, 0, kBetweenMs);
    lock = try_lock_file(data / "jobs.lock");
  }
  if (!lock)
    throw Error(ErrorKind::environment, "another server works with this folder", data.string(),
                "stop it, or give this one another folder");
  return *std::move(lock);
}

}  // namespace assay::platform
