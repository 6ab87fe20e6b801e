#include "history/run_labels.h"

#include <algorithm>
#include <cctype>
#include <cerrno>

#include <fcntl.h>
#include <sys/file.h>

#include "core/error.h"
#include "core/files.h"
#include "core/json_access.h"
#include "core/regular_file.h"
#include "core/run_layout.h"
#include "core/text.h"

namespace assay::history {

namespace {

namespace fs = std::filesystem;

constexpr int kLabelsSchema = 1;
constexpr std::uintmax_t kMostBytes = 4 << 20;

Labels labels_from_json(const Json& json, const std::string& where) {
  const JsonReader reader(json, where, "repair the file, or delete it and lose tags and notes");
  if (reader.integer("schema_version") > kLabelsSchema)
    throw Error(ErrorKind::config, "the tags and notes are of a newer version", where,
                "use a newer assay");
  Labels labels{reader.texts("tags"), {}};
  reader.each("notes", [&](const JsonReader& note) {
    labels.notes.push_back({note.text("at"), note.text("text")});
  });
  std::ranges::sort(labels.tags);
  const auto twice = std::ranges::unique(labels.tags);
  labels.tags.erase(twice.begin(), twice.end());
  return labels;
}

Json labels_to_json(const Labels& labels) {
  Json notes = Json::array();
  for (const Note& note : labels.notes) notes.push_back({{"at", note.at}, {"text", note.text}});
  return {{"schema_version", kLabelsSchema}, {"tags", labels.tags}, {"notes", notes}};
}

}  // namespace

Labels read_labels(const fs::path& run) {
  const fs::path file = run / layout::kLabels;
  std::error_code ec;
  if (!fs::exists(fs::symlink_status(file, ec))) return {};
  const std::uintmax_t bytes = fs::file_size(file, ec);
  if (!ec && bytes > kMostBytes)
    throw Error(ErrorKind::config, "the file is too large for tags and notes", file.string());
  return labels_from_json(parse_json(read_regular_file(file), file.string()), file.string());
}

Labels change_labels(const fs::path& run, const std::function<void(Labels&)>& change) {
  // Locks the folder itself: the file gets replaced, and a lock file would be one more.
  const UniqueFd folder(::open(run.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder || ::flock(folder.get(), LOCK_EX) != 0)
    throw system_error(ErrorKind::environment, "cannot lock the run", run.string(), errno);
  Labels labels = read_labels(run);
  change(labels);
  std::ranges::sort(labels.tags);
  const auto twice = std::ranges::unique(labels.tags);
  labels.tags.erase(twice.begin(), twice.end());
  write_file_atomic(run / layout::kLabels, dump_pretty(labels_to_json(labels)));
  return labels;
}

void check_tag(const std::string& tag) {
  const auto allowed = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '_' || c == ':' || c == '-' || c >= 0x80;
  };
  if (tag.empty() || tag.size() > 64 || tag.front() == '-' || !std::ranges::all_of(tag, allowed) ||
      printable(tag) != tag)
    throw Error(ErrorKind::usage, "not a valid tag: '" + printable(tag) + "'", {},
                "a tag is up to 64 letters, digits, '.', '_', ':' and '-', and does not begin "
                "with '-'");
}

void check_note(const std::string& text) {
  if (trim(text).empty() || text.size() > 4000 || printable(text) != text)
    throw Error(ErrorKind::usage, "not a valid note", {},
                "a note is up to 4000 bytes of text without control characters");
}

}  // namespace assay::history
