#include "automl/experiment_journal.h"

#include <cerrno>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "automl/experiment_events.h"
#include "core/error.h"
#include "core/json_access.h"
#include "core/regular_file.h"
#include "core/text.h"

namespace assay::automl {

ExperimentJournal::ExperimentJournal(std::filesystem::path path) : path_(std::move(path)) {
  fd_.reset(::open(path_.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0666));
  if (!fd_)
    throw system_error(ErrorKind::environment, "cannot open the experiment's journal",
                       path_.string(), errno);
  if (::flock(fd_.get(), LOCK_EX | LOCK_NB) != 0)
    throw Error(ErrorKind::environment, "another coordinator works on this experiment",
                path_.string(), "wait for it, or stop it with 'assay stop'");
  struct stat info {};
  char last = '\n';
  if (::fstat(fd_.get(), &info) == 0 && info.st_size > 0)
    (void)!::pread(fd_.get(), &last, 1, info.st_size - 1);
  if (last != '\n') write_all(fd_.get(), "\n", path_);
}

void ExperimentJournal::append(const Json& event) {
  struct stat before {};
  ::fstat(fd_.get(), &before);
  try {
    write_all(fd_.get(), dump_line(event) + "\n", path_);
  } catch (...) {
    // Half a line would make the next one unreadable.
    (void)!::ftruncate(fd_.get(), before.st_size);
    throw;
  }
  dirty_ = true;
}

void ExperimentJournal::commit() {
  if (!dirty_) return;
  if (::fdatasync(fd_.get()) != 0 && errno != EINVAL && errno != EROFS)
    throw system_error(ErrorKind::environment, "cannot sync the experiment's journal",
                       path_.string(), errno);
  dirty_ = false;
}

std::vector<Json> ExperimentJournal::read(const std::filesystem::path& path, std::size_t* skipped) {
  std::vector<Json> events;
  std::size_t bad = 0;
  const std::string content =
      std::filesystem::exists(path) ? read_regular_file(path) : std::string();
  for (const std::string_view line : split(content, '\n')) {
    if (trim(line).empty()) continue;
    Json event = parse_json_or_null(line);
    const bool whole =
        member_at(event, "event").is_string() && member_at(event, "at_s").is_number();
    if (whole)
      events.push_back(std::move(event));
    else
      ++bad;
  }
  if (skipped != nullptr) *skipped = bad;
  return events;
}

std::optional<journal::Event> journal::event_of(const Json& line) {
  return parse_enum<Event>(text_at(line, "event"));
}

}  // namespace assay::automl
