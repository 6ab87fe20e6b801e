#include "aisbench/pack_package.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include <fmt/format.h>

#include "aisbench/package.h"
#include "core/error.h"
#include "core/files.h"
#include "core/pattern.h"
#include "core/regular_file.h"
#include "core/scratch_folder.h"
#include "core/sha256.h"
#include "core/subprocess.h"
#include "core/text.h"

namespace assay::aisbench {

namespace fs = std::filesystem;

namespace {

constexpr auto kLimit = std::chrono::minutes(10);
constexpr std::uintmax_t kMaxConfig = 1 << 20;

bool left_out(const fs::path& below) {
  const std::string name = below.filename().string();
  if (name == ".git" || name == "__pycache__") return true;
  return below.parent_path().empty() &&
         (name == "log" || name == "result" || name == "tmp" || name == "work");
}

// Copies the files that belong into a package; returns their number.
std::size_t copy_tree(const fs::path& from, const fs::path& to, const fs::path& skip) {
  std::size_t files = 0;
  make_directories(to);
  for (auto at = fs::recursive_directory_iterator(from); at != fs::recursive_directory_iterator();
       ++at) {
    const fs::path below = at->path().lexically_relative(from);
    std::error_code ec;
    if (left_out(below) || fs::equivalent(at->path(), skip, ec)) {
      at.disable_recursion_pending();
      continue;
    }
    if (at->is_symlink()) {
      fs::copy_symlink(at->path(), to / below);
    } else if (at->is_directory()) {
      fs::create_directory(to / below);
    } else if (at->is_regular_file()) {
      fs::copy_file(at->path(), to / below);
    } else {
      throw Error(ErrorKind::config, "is neither a file nor a folder", at->path().string(),
                  "remove it, then pack again");
    }
    files += at->is_directory() ? 0 : 1;
  }
  return files;
}

std::string git(const fs::path& source, std::vector<std::string> args) {
  args.insert(args.begin(), {"git", "-C", source.string()});
  CommandOptions options;
  options.timeout = std::chrono::seconds(60);
  options.max_output = 64 << 20;
  const CommandResult result = run_command(args, options);
  return result.status.ok() ? result.out : std::string();
}

std::string line_of(const std::string& text) {
  return std::string(trim(text));
}

// A token within an address is a secret, too.
std::string without_user(std::string url) {
  const std::size_t scheme = url.find("://");
  const std::size_t at = url.find('@', scheme == std::string::npos ? 0 : scheme + 3);
  if (scheme != std::string::npos && at != std::string::npos && at < url.find('/', scheme + 3))
    url.erase(scheme + 3, at - scheme - 2);
  return url;
}

// Describes the checkout as ais-bench's own build does.
void write_version(const fs::path& source, const fs::path& code, PackReport& report) {
  if (fs::exists(code / "doc/version.txt")) return;
  report.commit = line_of(git(source, {"rev-parse", "HEAD"}));
  if (report.commit.empty()) return;
  std::string patch_name;
  const std::string patch = git(source, {"diff", "HEAD", "--relative", "--no-color", "--", "."});
  make_directories(code / "doc");
  if (!patch.empty()) {
    patch_name = report.commit.substr(0, 12) + ".patch";
    write_file_atomic(code / "doc" / patch_name, patch, /*sync=*/false);
    report.notes.push_back("the checkout has changes: code/doc/" + patch_name + " holds them");
  }
  write_file_atomic(
      code / "doc/version.txt",
      fmt::format("git_url:{}\nbranch:{}\ncommitid:{}\npatch_file_name:{}\n",
                  without_user(line_of(git(source, {"config", "--get", "remote.origin.url"}))),
                  line_of(git(source, {"rev-parse", "--abbrev-ref", "HEAD"})), report.commit,
                  patch_name),
      /*sync=*/false);
  report.notes.emplace_back("code/doc/version.txt says which commit it is");
}

void complete_code(const PackOptions& options, const fs::path& code, PackReport& report) {
  if (!fs::exists(code / "ais_utils.py")) {
    fs::copy_file(options.ais_utils, code / "ais_utils.py");
    report.notes.emplace_back("code/ais_utils.py was added");
  }
  if (!options.modelarts) return;
  const auto script = with_run_type(read_plain_file(code / "benchmark.sh"), "modelarts");
  if (!script)
    throw Error(ErrorKind::config, "benchmark.sh does not set RUNTYPE", options.source.string(),
                "add RUNTYPE=\"modelarts\" to it");
  write_file_atomic(code / "benchmark.sh", *script, /*sync=*/false);
  report.notes.emplace_back("RUNTYPE is modelarts");
}

void set_modes(const fs::path& folder) {
  using fs::perms;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_symlink()) continue;
    fs::permissions(entry.path(), perms::owner_all | perms::group_read | perms::group_exec |
                                      perms::others_read | perms::others_exec);
  }
}

void make_archive(const fs::path& stage, const std::string& name, const fs::path& output) {
  CommandOptions options;
  options.timeout = kLimit;
  const fs::path partial = stage / "package.tar.gz";
  const CommandResult made =
      run_command({"tar", "-C", stage.string(), "--format=gnu", "--sort=name", "--mtime=@0",
                   "--owner=0", "--group=0", "--numeric-owner", "--use-compress-program=gzip -n -9",
                   "-cf", partial.string(), name},
                  options);
  if (!made.status.ok())
    throw Error(ErrorKind::environment,
                made.timed_out ? "tar did not end" : "tar failed: " + printable(trim(made.err)),
                output.string(), "check the free space there");
  fs::rename(partial, output);
}

}  // namespace

std::vector<std::string> find_secrets(const fs::path& folder) {
  static const Pattern kSecret(
      R"re((?:^|[^A-Za-z0-9_])(access_key|secret_access_key|BMC_PASSWORD|security_token|pd|password)["']?\s*[:=]\s*(?:["']([^"']+)["']|([A-Za-z0-9_./+=-]{4,})))re");
  std::vector<std::string> found;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const std::string type = entry.path().extension().string();
    if (!entry.is_regular_file() || entry.file_size() > kMaxConfig) continue;
    const bool config = entry.path().parent_path().filename() == "config" || type == ".json" ||
                        entry.path().filename() == "modelarts_config.py" ||
                        entry.path().filename() == "config.sh";
    if (!config) continue;
    const std::string text = read_plain_file(entry.path());
    int number = 0;
    for (const std::string_view line : split(text, '\n')) {
      ++number;
      if (trim(line).starts_with('#')) continue;
      const auto match = kSecret.search(line);
      if (!match) continue;
      const std::string_view word = (*match)[3].value_or("");
      if (word == "None" || word == "null") continue;
      found.push_back(fmt::format("{}:{}: {}", entry.path().lexically_relative(folder).string(),
                                  number, (*match)[1].value_or("")));
    }
  }
  std::ranges::sort(found);
  return found;
}

PackReport pack_package(const PackOptions& options) {
  std::error_code ec;
  const bool whole = fs::is_regular_file(options.source / "code/benchmark.sh", ec);
  if (!whole && !fs::is_regular_file(options.source / "benchmark.sh", ec))
    throw Error(ErrorKind::usage, "there is neither code/benchmark.sh nor benchmark.sh",
                options.source.string(), "give the folder of a workload");
  std::string name = options.output.filename().string();
  if (!name.ends_with(".tar.gz") || name.size() == 7)
    throw Error(ErrorKind::usage, "the package's name must end with .tar.gz",
                options.output.string());
  name.resize(name.size() - 7);
  if (const auto secrets = find_secrets(options.source); !secrets.empty() && !options.allow_secrets)
    throw Error(ErrorKind::config,
                "keys and passwords would be in the package: " + join(secrets, ", "),
                options.source.string(),
                "empty them (Assay reads keys from the environment), or give --allow-secrets");

  PackReport report;
  try {
    const ScratchFolder stage(options.output.parent_path(), options.output.filename().string());
    const fs::path base = stage.path() / name;
    report.files = copy_tree(options.source, whole ? base : base / "code", stage.path());
    const fs::path own = fs::weakly_canonical(options.output, ec);
    if (const fs::path inside = own.lexically_relative(fs::canonical(options.source));
        !inside.empty() && *inside.begin() != "..")
      fs::remove((whole ? base : base / "code") / inside,
                 ec);  // an earlier package within its own source
    write_version(options.source, base / "code", report);
    complete_code(options, base / "code", report);
    for (const char* folder : {"log", "result", "tmp"}) make_directories(base / folder);
    set_modes(stage.path());
    make_archive(stage.path(), name, options.output);
    report.bytes = fs::file_size(options.output);
    report.sha256 = sha256_file(options.output);
  } catch (const fs::filesystem_error& e) {
    throw Error(ErrorKind::environment, "cannot pack: " + e.code().message(), e.path1().string(),
                "check the free space and the permissions there");
  }
  return report;
}

}  // namespace assay::aisbench
