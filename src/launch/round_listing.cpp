#include "launch/round_listing.h"

#include <algorithm>

#include "core/error.h"
#include "core/run_layout.h"
#include "core/text.h"

namespace assay::launch {

namespace fs = std::filesystem;

RoundFiles list_round_files(const fs::path& round_dir, const std::set<std::string>& listed) {
  RoundFiles out;
  std::error_code ec;
  for (fs::recursive_directory_iterator entry(round_dir, ec), end; !ec && entry != end;
       entry.increment(ec)) {
    const std::string name = entry->path().lexically_relative(round_dir).generic_string();
    if (entry.depth() == 0 && listed.contains(name)) entry.disable_recursion_pending();
    // What a file is shows in its path below the run's folder.
    const layout::RunFile* file = layout::find_run_file("case/round1/" + name);
    std::error_code unknown;
    if (file == nullptr || !file->judged || entry->is_directory(unknown)) continue;
    try {
      if (auto found = evidence::measure_file(entry->path(), name))
        out.files.push_back(std::move(*found));
    } catch (const Error& error) {
      out.unreadable.push_back(name + ": " + error.message());
    }
  }
  if (ec && ec != std::errc::no_such_file_or_directory)
    out.unreadable.push_back(round_dir.string() + ": " + ec.message());
  std::ranges::sort(out.files, {}, &evidence::FileRecord::name);
  return out;
}

std::vector<std::string> misfits(const fs::path& folder,
                                 const std::vector<evidence::FileRecord>& records) {
  std::vector<std::string> out;
  for (const evidence::FileRecord& record : records) {
    const std::string name = printable(record.name);
    if (!evidence::is_sound(record)) {
      out.push_back("'" + name + "' cannot be a file of the node's folder");
      continue;
    }
    try {
      const evidence::FileMatch match =
          compare(record, evidence::measure_file(folder / record.name, record.name));
      if (match != evidence::FileMatch::same)
        out.push_back(name + " is not as its agent wrote it: " + std::string(to_text(match)));
    } catch (const Error& error) {
      out.push_back(name + ": " + error.message());
    }
  }
  return out;
}

}  // namespace assay::launch
