#include <fstream>
#include <vector>

#include "core/digest.h"
#include "core/error.h"
#include "core/files.h"
#include "core/time.h"
#include "emulator/obs_store.h"

// Transfers objects to and from the folders of jobs.

namespace assay::emulator {

bool ObsStore::put_file(const std::string& bucket, const std::string& key,
                        const std::filesystem::path& file) {
  Segment segment;
  segment.file = new_file();
  // Copied without the lock, because a large file would block all requests.
  std::error_code ec;
  if (!std::filesystem::copy_file(file, segment.file, ec)) {
    if (ec == std::errc::no_such_file_or_directory) return false;
    throw system_error(ErrorKind::environment, "cannot keep what the job wrote",
                       segment.file.string(), ec.value());
  }
  std::ifstream copy(segment.file, std::ios::binary);
  Digest md5(Hash::md5);
  std::vector<char> buffer(256 << 10);
  while (copy.read(buffer.data(), static_cast<std::streamsize>(buffer.size())) ||
         copy.gcount() > 0) {
    const auto count = static_cast<std::size_t>(copy.gcount());
    md5.update({buffer.data(), count});
    segment.size += count;
  }
  const std::string etag = to_hex(md5.finish());
  const std::lock_guard lock(mutex_);
  Object& object = buckets_[bucket][key];
  forget(object.segments);
  object = {{segment}, segment.size, etag, wall_now_ns(), {}};
  return true;
}

std::size_t ObsStore::fetch(const std::string& bucket, const std::string& prefix,
                            const std::filesystem::path& folder) {
  const std::lock_guard lock(mutex_);
  const auto found = buckets_.find(bucket);
  if (found == buckets_.end()) return 0;
  std::size_t count = 0;
  for (auto at = found->second.lower_bound(prefix);
       at != found->second.end() && at->first.starts_with(prefix); ++at) {
    const std::filesystem::path below(at->first.substr(prefix.size()));
    const bool leads_out =
        below.is_absolute() || below.lexically_normal().string().starts_with("..");
    if (leads_out) continue;
    ++count;
    if (below.empty() || !below.has_filename()) continue;  // stands for a folder
    make_directories((folder / below).parent_path());
    std::ofstream file(folder / below, std::ios::binary | std::ios::trunc);
    for (const auto& segment : at->second.segments)
      if (segment.size > 0) file << std::ifstream(segment.file, std::ios::binary).rdbuf();
    file.close();
    if (!file)
      throw Error(ErrorKind::environment, "cannot write the object's content",
                  (folder / below).string());
  }
  return count;
}

}  // namespace assay::emulator
