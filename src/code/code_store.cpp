#include "code/code_store.h"

#include <algorithm>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/error.h"
#include "core/files.h"
#include "core/json_access.h"
#include "core/json_fields.h"
#include "core/regular_file.h"
#include "core/sha256.h"
#include "core/text.h"
#include "core/units.h"

namespace assay::code {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void fail(const char* what, const fs::path& path) {
  throw system_error(ErrorKind::environment, what, path.string(), errno);
}

void copy_content(int from, int to, const fs::path& path) {
  if (::ioctl(to, FICLONE, from) == 0) return;
  std::string buffer(1U << 20, '\0');
  while (true) {
    const ssize_t n = ::read(from, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail("cannot read", path);
    if (n == 0) return;
    write_all(to, std::string_view(buffer.data(), static_cast<std::size_t>(n)), path);
  }
}

// A content at its place in a folder. A program has another mode than the content, so that it is a
// copy; all else is the content itself.
void place(const fs::path& blob, const fs::path& to, bool executable) {
  if (!executable && ::link(blob.c_str(), to.c_str()) == 0) return;
  const UniqueFd from = open_regular_file(blob);
  if (!from) throw Error(ErrorKind::environment, "a content is missing", blob.string());
  const UniqueFd fd(::open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                           executable ? 0555 : 0444));
  if (!fd) fail("cannot write", to);
  copy_content(from.get(), fd.get(), to);
}

// Older than `age` by its own time.
bool is_older(const fs::path& path, std::int64_t now_ns, Nanoseconds age) {
  struct stat about {};
  if (::lstat(path.c_str(), &about) != 0) return false;
  const std::int64_t at_ns = about.st_mtim.tv_sec * 1'000'000'000LL + about.st_mtim.tv_nsec;
  return now_ns - at_ns > age.count();
}

std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    entries.push_back(it->path());
  return entries;
}

std::uint64_t size_of(const fs::path& file) {
  std::error_code error;
  const std::uintmax_t size = fs::file_size(file, error);
  return error ? 0 : size;
}

// Folders of an upload cannot be changed by mistake either.
void remove_folder(const fs::path& folder) {
  std::error_code ignored;
  fs::remove_all(folder, ignored);
}

struct Record {
  std::string owner{};
  Manifest manifest{};
  static void fields(auto& self, auto&& field) {
    field("owner", self.owner);
    field("manifest", self.manifest);
  }
};

std::optional<Record> read_record(const fs::path& file) {
  const Json json = parse_json_or_null(read_regular_file_or_empty(file));
  try {
    return fields_from_json<Record>(json, file.string());
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace

CodeStore::CodeStore(fs::path folder, StoreOptions options)
    : folder_(std::move(folder)), options_(options) {
  make_directories(folder_ / "people");
  make_directories(folder_ / "uploads");
  // What was being made when the process ended.
  for (const fs::path& entry : entries_of(folder_ / "uploads"))
    if (entry.extension() == ".making") remove_folder(entry);
}

fs::path CodeStore::person(const std::string& owner) const {
  return folder_ / "people" / sha256(owner).substr(0, 32);
}

fs::path CodeStore::blob(const std::string& owner, const std::string& hash) const {
  return person(owner) / "blobs" / hash.substr(0, 2) / hash;
}

fs::path CodeStore::record(const std::string& id) const {
  return folder_ / "uploads" / (id + ".json");
}

std::uint64_t CodeStore::used_by(const std::string& owner) {
  const auto [known, fresh] = used_.emplace(owner, 0);
  if (fresh)
    for (const fs::path& part : entries_of(person(owner) / "blobs"))
      for (const fs::path& file : entries_of(part)) known->second += size_of(file);
  return known->second;
}

CodeStore::Announced CodeStore::announce(const std::string& owner, const Manifest& manifest) {
  if (const std::vector<std::string> problems = problems_of(manifest, options_.limits);
      !problems.empty())
    throw Error(ErrorKind::config, "the folder cannot be taken: " + join(problems, "; "));
  const std::lock_guard lock(mutex_);
  Unfinished upload{owner, sha256(owner + "\n" + id_of(manifest)).substr(0, 32), manifest, {}};
  if (std::error_code error; fs::exists(record(upload.id), error)) {
    fs::last_write_time(record(upload.id), fs::file_time_type::clock::now(), error);
    return {upload.id, {}};
  }
  std::uint64_t bytes = 0;
  for (const File& file : manifest.files) {
    std::error_code error;
    if (fs::exists(blob(owner, file.sha256), error)) continue;
    if (upload.missing.emplace(file.sha256, file.size).second) bytes += file.size;
  }
  if (bytes > options_.quota - std::min(options_.quota, used_by(owner)))
    throw Error(ErrorKind::usage,
                fmt::format("no room: {} has sent {}, and {} more than {} are not kept", owner,
                            format_bytes(static_cast<double>(used_by(owner))),
                            format_bytes(static_cast<double>(bytes)),
                            format_bytes(static_cast<double>(options_.quota))),
                {}, "name what is not needed in .assayignore, or delete jobs that have ended");
  Announced answer{upload.id, {}};
  for (const auto& [hash, size] : upload.missing) answer.missing.push_back(hash);
  if (answer.missing.empty()) {
    complete(upload);
    return answer;
  }
  std::erase_if(unfinished_, [&](const Unfinished& other) { return other.id == upload.id; });
  make_room_for_unfinished(owner);
  unfinished_.push_back(std::move(upload));
  return answer;
}

void CodeStore::make_room_for_unfinished(const std::string& owner) {
  const auto own = std::ranges::count(unfinished_, owner, &Unfinished::owner);
  if (static_cast<std::size_t>(own) >= options_.unfinished)
    unfinished_.erase(std::ranges::find(unfinished_, owner, &Unfinished::owner));
  else if (unfinished_.size() >= options_.unfinished_in_all)
    unfinished_.erase(unfinished_.begin());
}

std::optional<std::uint64_t> CodeStore::awaited(const std::string& owner,
                                                const std::string& hash) const {
  if (!is_sha256(hash)) throw Error(ErrorKind::usage, "not a SHA-256");
  for (const Unfinished& upload : unfinished_)
    if (upload.owner == owner)
      if (const auto found = upload.missing.find(hash); found != upload.missing.end())
        return found->second;
  // The same content twice at a time, or an answer that got lost.
  if (std::error_code error; fs::exists(blob(owner, hash), error)) return std::nullopt;
  throw Error(ErrorKind::usage, "no upload that was announced needs this content", {},
              "announce the folder again: what has arrived stays");
}

void CodeStore::keep(const std::string& owner, const std::string& hash, std::uint64_t size,
                     const fs::path& file) {
  const fs::path kept = blob(owner, hash);
  make_directories(kept.parent_path());
  const std::uint64_t before = used_by(owner);
  if (::chmod(file.c_str(), 0444) != 0 || ::rename(file.c_str(), kept.c_str()) != 0)
    fail("cannot write", kept);
  used_[owner] = before + size;
  for (Unfinished& upload : unfinished_)
    if (upload.owner == owner && upload.missing.erase(hash) > 0 && upload.missing.empty())
      complete(upload);
  std::erase_if(unfinished_, [](const Unfinished& upload) { return upload.missing.empty(); });
}

CodeStore::Received CodeStore::put(const std::string& owner, const std::string& hash,
                                   std::uint64_t offset, std::string_view bytes) {
  const std::lock_guard lock(mutex_);
  const std::optional<std::uint64_t> size = awaited(owner, hash);
  if (!size) return {size_of(blob(owner, hash)), true, true};
  const fs::path partial = person(owner) / "partial" / hash;
  make_directories(partial.parent_path());
  std::uint64_t here = size_of(partial);
  if (here > *size) {
    (void)::unlink(partial.c_str());
    here = 0;
  }
  if (offset != here) return {here, false, false};
  if (bytes.size() > *size - here)
    throw Error(ErrorKind::usage, fmt::format("more than the {} bytes that were announced", *size));
  if (bytes.empty() && here < *size) return {here, true, false};
  const UniqueFd fd(
      ::open(partial.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd) fail("cannot write", partial);
  write_all(fd.get(), bytes, partial);
  here += bytes.size();
  if (here < *size) return {here, true, false};
  if (sha256_file(partial) != hash) {
    (void)::unlink(partial.c_str());
    throw Error(ErrorKind::usage, "the content has another hash than was announced", {},
                "send it again when nothing writes to it");
  }
  if (::fsync(fd.get()) != 0) fail("cannot write", partial);
  keep(owner, hash, *size, partial);
  return {here, true, true};
}

std::vector<std::string> CodeStore::put_all(const std::string& owner,
                                            const std::vector<BundledContent>& contents) {
  std::vector<std::string> hashes;
  for (const BundledContent& one : contents) hashes.push_back(sha256(one.bytes));
  const std::lock_guard lock(mutex_);
  std::vector<std::string> wrong;
  std::map<std::string, std::string_view> right;  // one content twice is one content
  for (std::size_t i = 0; i < contents.size(); ++i) {
    const BundledContent& one = contents[i];
    const std::optional<std::uint64_t> size = awaited(owner, one.sha256);
    if (hashes[i] != one.sha256 || size.value_or(one.bytes.size()) != one.bytes.size())
      wrong.push_back(one.sha256);
    else if (size)
      right.emplace(one.sha256, one.bytes);
  }
  const fs::path partial = person(owner) / "partial";
  make_directories(partial);
  for (const auto& [hash, bytes] : right) {
    // What had arrived of it is not needed, and may be wrong.
    const fs::path file = partial / hash;
    (void)::unlink(file.c_str());
    const UniqueFd fd(
        ::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!fd) fail("cannot write", file);
    write_all(fd.get(), bytes, file);
  }
  // A content that is there by its name is taken for what it should be: it gets the name when it is
  // on the disk.
  const UniqueFd folder(::open(partial.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder || (!right.empty() && ::syncfs(folder.get()) != 0)) fail("cannot write", partial);
  for (const auto& [hash, bytes] : right) keep(owner, hash, bytes.size(), partial / hash);
  return wrong;
}

void CodeStore::complete(const Unfinished& upload) {
  const fs::path made = folder_ / "uploads" / upload.id;
  fs::path making = made;
  making += ".making";
  remove_folder(making);
  remove_folder(made);
  make_directories(making);
  for (const File& file : upload.manifest.files) {
    const fs::path to = making / file.path;
    make_directories(to.parent_path());
    place(blob(upload.owner, file.sha256), to, file.executable);
  }
  // Last, so that nothing was ever written through one.
  for (const Link& link : upload.manifest.links) {
    const fs::path to = making / link.path;
    make_directories(to.parent_path());
    if (::symlink(link.target.c_str(), to.c_str()) != 0) fail("cannot make the link", to);
  }
  if (::rename(making.c_str(), made.c_str()) != 0) fail("cannot write", made);
  write_file_atomic(record(upload.id),
                    dump_line(fields_to_json(Record{upload.owner, upload.manifest})));
}

bool CodeStore::has(const std::string& owner, const std::string& id) const {
  if (!is_code_id(id)) return false;
  const std::lock_guard lock(mutex_);
  const std::optional<Record> found = read_record(record(id));
  std::error_code error;
  if (!found || found->owner != owner || !fs::is_directory(folder_ / "uploads" / id, error))
    return false;
  // Who asks is about to use it: it is not collected meanwhile.
  fs::last_write_time(record(id), fs::file_time_type::clock::now(), error);
  return true;
}

fs::path CodeStore::folder_of(const std::string& id) const {
  std::error_code error;
  const std::lock_guard lock(mutex_);
  if (!is_code_id(id) || !fs::exists(record(id), error) ||
      !fs::is_directory(folder_ / "uploads" / id, error))
    throw Error(ErrorKind::environment, "the code of the job is not there any more", printable(id),
                "submit it again");
  return folder_ / "uploads" / id;
}

CodeStore::Collected CodeStore::collect(const std::set<std::string>& needed, std::int64_t now_ns) {
  const std::lock_guard lock(mutex_);
  Collected out;
  std::map<fs::path, std::set<std::string>> used;  // by person
  for (const fs::path& entry : entries_of(folder_ / "uploads")) {
    if (entry.extension() != ".json") continue;
    const std::string id = entry.stem().string();
    const std::optional<Record> found = read_record(entry);
    // One that cannot be read is kept with all that its owner has: what it needs is not known.
    if (!found) return out;
    if (!needed.contains(id) && is_older(entry, now_ns, options_.keep)) {
      (void)::unlink(entry.c_str());
      remove_folder(folder_ / "uploads" / id);
      ++out.uploads;
      continue;
    }
    for (const File& file : found->manifest.files) used[person(found->owner)].insert(file.sha256);
  }
  for (const Unfinished& upload : unfinished_)
    for (const File& file : upload.manifest.files) used[person(upload.owner)].insert(file.sha256);
  for (const fs::path& each : entries_of(folder_ / "people"))
    remove_unused(each, used[each], now_ns, out);
  used_.clear();
  return out;
}

void CodeStore::remove_unused(const fs::path& person, const std::set<std::string>& used,
                              std::int64_t now_ns, Collected& out) {
  for (const fs::path& part : entries_of(person / "blobs"))
    for (const fs::path& file : entries_of(part)) {
      if (used.contains(file.filename().string()) || !is_older(file, now_ns, options_.keep))
        continue;
      const std::uint64_t size = size_of(file);
      if (::unlink(file.c_str()) != 0) continue;
      ++out.blobs;
      out.bytes += size;
    }
  for (const fs::path& file : entries_of(person / "partial"))
    if (is_older(file, now_ns, options_.keep)) (void)::unlink(file.c_str());
}

}  // namespace assay::code
