#include "code/folder_scan.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "code/folder_rules.h"
#include "core/error.h"
#include "core/files.h"
#include "core/regular_file.h"
#include "core/sha256.h"
#include "core/text.h"

namespace assay::code {

namespace fs = std::filesystem;

namespace {

class FolderScan {
 public:
  FolderScan(fs::path folder, const ScanOptions& options)
      : folder_(std::move(folder)), options_(options), rules_(folder_) {}

  Scan run() {
    walk({});
    if (!outside_.empty())
      throw Error(
          ErrorKind::usage,
          counted(outside_.size(), "link leads", "links lead") +
              " out of the folder: " + listed_names(outside_),
          folder_.string(),
          fmt::format("replace them by what they lead to, or name them in {}", kIgnoreFile));
    refuse(too_much(scan_.manifest, options_.limits));
    hash();
    for (const std::string& problem : problems_of(scan_.manifest, options_.limits)) refuse(problem);
    return std::move(scan_);
  }

 private:
  void refuse(const std::string& problem) const {
    if (problem.empty()) return;
    throw Error(
        ErrorKind::usage, "the folder cannot be sent: " + problem, folder_.string(),
        fmt::format("name what is not needed in {}, or submit with --no-code", kIgnoreFile));
  }

  void walk(const std::string& below) {
    std::error_code error;
    std::vector<std::string> names;
    for (fs::directory_iterator it(folder_ / below, error), end; !error && it != end;
         it.increment(error))
      names.push_back(it->path().filename().string());
    if (error)
      throw Error(ErrorKind::environment, "cannot read the folder: " + error.message(),
                  (folder_ / below).string());
    std::ranges::sort(names);
    for (const std::string& name : names) take(below.empty() ? name : below + "/" + name);
  }

  void take(const std::string& path) {
    struct stat about {};
    if (::lstat((folder_ / path).c_str(), &about) != 0) {
      if (errno == ENOENT) return;  // it went away meanwhile
      throw system_error(ErrorKind::environment, "cannot read", (folder_ / path).string(), errno);
    }
    const bool is_folder = S_ISDIR(about.st_mode);
    const FolderRules::Choice choice =
        is_folder ? rules_.of_folder(path, folder_ / path) : rules_.of_file(path);
    if (choice == FolderRules::Choice::leave_out) return;
    if (choice == FolderRules::Choice::run) {
      scan_.runs.push_back(path);
      return;
    }
    if (is_folder) return walk(path);
    if (S_ISLNK(about.st_mode)) return take_link(path);
    if (!S_ISREG(about.st_mode)) {
      scan_.special.push_back(path);
      return;
    }
    if (!options_.send_secrets && choice == FolderRules::Choice::secret) {
      scan_.secrets.push_back(path);
      return;
    }
    scan_.manifest.files.push_back(
        {path, static_cast<std::uint64_t>(about.st_size), {}, (about.st_mode & S_IXUSR) != 0});
    // Who submits from a folder with everything in it is told before all of it was walked.
    if (scan_.manifest.files.size() > options_.limits.entries)
      refuse(too_much(scan_.manifest, options_.limits));
  }

  void take_link(const std::string& path) {
    std::error_code error;
    fs::path target = fs::read_symlink(folder_ / path, error);
    if (error)
      throw Error(ErrorKind::environment, "cannot read the link: " + error.message(),
                  (folder_ / path).string());
    // One with the whole path of something in the folder means that thing.
    if (target.is_absolute()) {
      const fs::path from = fs::weakly_canonical(folder_, error) / fs::path(path).parent_path();
      const fs::path way = target.lexically_normal().lexically_relative(from.lexically_normal());
      if (!way.empty()) target = way;
    }
    const Link link{path, target.string()};
    if (stays_inside(link))
      scan_.manifest.links.push_back(link);
    else
      outside_.push_back(path + " → " + fs::read_symlink(folder_ / path, error).string());
  }

  void hash() {
    const std::uint64_t total = scan_.manifest.bytes();
    std::uint64_t done = 0;
    std::vector<File> kept;
    for (File& file : scan_.manifest.files) {
      const UniqueFd fd = open_regular_file(folder_ / file.path);
      if (!fd) continue;  // it went away meanwhile
      Sha256 hash;
      std::uint64_t size = 0;
      bool is_key = false;
      std::array<char, 65536> buffer;
      while (true) {
        const ssize_t n = ::read(fd.get(), buffer.data(), buffer.size());
        if (n < 0 && errno == EINTR) continue;
        if (n < 0)
          throw system_error(ErrorKind::environment, "cannot read", (folder_ / file.path).string(),
                             errno);
        if (n == 0) break;
        const std::string_view piece(buffer.data(), static_cast<std::size_t>(n));
        if (size == 0)
          is_key = rules_.of_content(file.path, piece.substr(0, FolderRules::kHeadBytes)) ==
                   FolderRules::Choice::secret;
        hash.update(piece);
        size += piece.size();
        done += piece.size();
        if (options_.progress) options_.progress(std::min(done, total), total);
      }
      if (is_key && !options_.send_secrets) {
        scan_.secrets.push_back(file.path);
        continue;
      }
      file.size = size;
      file.sha256 = hash.hex();
      kept.push_back(std::move(file));
    }
    scan_.manifest.files = std::move(kept);
  }

  fs::path folder_;
  const ScanOptions& options_;
  FolderRules rules_;
  Scan scan_;
  std::vector<std::string> outside_;
};

}  // namespace

Scan scan_folder(const fs::path& folder, const ScanOptions& options) {
  std::error_code error;
  if (!fs::is_directory(folder, error))
    throw Error(ErrorKind::usage, "not a folder", folder.string());
  return FolderScan(fs::absolute(folder).lexically_normal(), options).run();
}

}  // namespace assay::code
