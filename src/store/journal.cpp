#include "store/journal.h"

#include <cerrno>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/error.h"
#include "core/json_access.h"
#include "core/regular_file.h"
#include "core/text.h"
#include "core/time.h"
#include "store/journal_records.h"

namespace assay::store {

namespace {

bool ends_in_newline(const std::filesystem::path& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat info {};
  if (!fd || ::fstat(fd.get(), &info) != 0 || info.st_size == 0) return true;
  char last = '\n';
  return ::pread(fd.get(), &last, 1, info.st_size - 1) != 1 || last == '\n';
}

}  // namespace

Journal::Journal(std::filesystem::path path) : path_(std::move(path)) {
  const bool whole = ends_in_newline(path_);
  fd_.reset(::open(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666));
  if (!fd_)
    throw system_error(ErrorKind::environment, "cannot open the journal", path_.string(), errno);
  reserve();
  if (!whole) write_all(fd_.get(), "\n", path_);
}

Journal::~Journal() {
  if (const off_t end = ::lseek(fd_.get(), 0, SEEK_END); end >= 0 && reserved_ > end)
    (void)::ftruncate(fd_.get(), end);
}

void Journal::reserve() noexcept {
  // Enough for the end of a round on thousands of ranks; less if the disk has no more.
  constexpr off_t kLow = 1 << 20;
  const off_t end = ::lseek(fd_.get(), 0, SEEK_END);
  if (end < 0 || reserved_ - end >= kLow) return;
  for (const off_t bytes : {4 * kLow, kLow, kLow / 8, kLow / 64})
    if (end + bytes > reserved_ && ::fallocate(fd_.get(), FALLOC_FL_KEEP_SIZE, end, bytes) == 0) {
      reserved_ = end + bytes;
      return;
    }
}

void Journal::append(JournalEvent event, const Json& fields) {
  Json line{{"event", to_text(event)}};
  // The agent's own timestamps, if any, are more exact than the time of writing.
  const Instant at = now();
  line["wall_ns"] = fields.value("wall_ns", at.wall_ns);
  line["mono_ns"] = fields.value("mono_ns", at.mono_ns);
  for (const auto& [key, value] : fields.items())
    if (key != "wall_ns" && key != "mono_ns") line[key] = value;
  // The time of arrival shows whether clocks differ.
  if (fields.contains("wall_ns")) line["seen_wall_ns"] = at.wall_ns;
  const off_t end = ::lseek(fd_.get(), 0, SEEK_END);
  try {
    write_all(fd_.get(), dump_line(line) + "\n", path_);
  } catch (const Error&) {
    // An incomplete line would make the next one unreadable too.
    if (end >= 0) (void)::ftruncate(fd_.get(), end);
    throw;
  }
  reserve();
}

void Journal::sync() {
  if (::fdatasync(fd_.get()) != 0 && errno != EINVAL && errno != EROFS)
    throw system_error(ErrorKind::environment, "cannot sync the journal", path_.string(), errno);
}

JournalReading Journal::read_all(const std::filesystem::path& path) {
  JournalReading reading;
  const std::string content = read_regular_file(path);
  std::size_t number = 0;
  bool after_unreadable = false;
  for (const std::string_view line : split(content, '\n')) {
    ++number;
    if (trim(line).empty()) continue;
    Json event = parse_json_or_null(line);
    const bool whole = event.is_object() && event.contains("event") && event["event"].is_string();
    if (whole && after_unreadable && event_of(event) == JournalEvent::run_resume)
      reading.unreadable.back().torn = true;
    after_unreadable = !whole;
    if (whole)
      reading.events.push_back(std::move(event));
    else
      reading.unreadable.push_back({number, false});
  }
  if (after_unreadable && !content.ends_with('\n')) reading.unreadable.back().torn = true;
  return reading;
}

std::vector<Json> Journal::read(const std::filesystem::path& path) {
  return read_all(path).events;
}

std::optional<JournalEvent> event_of(const Json& line) {
  return parse_enum<JournalEvent>(text_at(line, "event"));
}

std::map<std::string, std::string> ended_repeats(const std::vector<Json>& events) {
  std::map<std::string, std::string> ended;
  for (const Json& event : events) {
    if (!event.is_object()) continue;
    const auto kind = event_of(event);
    if (kind == JournalEvent::repeats_end) ended[text_at(event, "case")] = text_at(event, "reason");
    if (kind == JournalEvent::round_start || kind == JournalEvent::round_reopened)
      ended.erase(text_at(event, "case"));
  }
  return ended;
}

namespace {

// Whether the run, or a round of it, goes on with this event.
bool goes_on(std::optional<JournalEvent> kind) {
  return starts_run(kind) || kind == JournalEvent::round_start ||
         kind == JournalEvent::round_reopened;
}

}  // namespace

bool ended_unsealed(const std::vector<Json>& events) {
  bool unsealed = false;
  for (const Json& event : events) {
    const auto kind = event_of(event);
    if (goes_on(kind)) unsealed = false;
    if (kind == JournalEvent::run_unsealed) unsealed = true;
  }
  return unsealed;
}

std::string unsigned_reason(const std::vector<Json>& events) {
  std::string reason;
  for (const Json& event : events) {
    const auto kind = event_of(event);
    if (goes_on(kind)) reason.clear();
    if (kind == JournalEvent::run_unsigned) reason = text_at(event, "reason");
  }
  return reason;
}

}  // namespace assay::store
