#include "launch/agents/bundle.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <utility>

#include <unistd.h>

#include "core/error.h"
#include "core/files.h"
#include "core/sha256.h"
#include "core/subprocess.h"
#include "core/text.h"
#include "launch/agents/launcher.h"

namespace assay::launch {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kBindir = "{bindir}/";
constexpr auto kTarLimit = std::chrono::minutes(5);
constexpr std::uintmax_t kCompressedFrom = 16U << 20;

fs::path cache_dir() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && *cache == '/') return fs::path(cache) / "assay/bundles";
  const char* home = std::getenv("HOME");
  if (home == nullptr || *home != '/')
    throw Error(ErrorKind::environment,
                "no folder for cached files: neither HOME nor XDG_CACHE_HOME is an absolute path",
                {}, "set HOME");
  return fs::path(home) / ".cache/assay/bundles";
}

void add_programs(const std::vector<std::string>& words, std::vector<std::string>& out) {
  for (const std::string& word : words) {
    const auto at = word.find(kBindir);
    if (at == std::string::npos) continue;
    std::string name = word.substr(at + kBindir.size());
    name = name.substr(0, name.find_first_of(" \t/'\";"));
    if (!name.empty() && std::ranges::find(out, name) == out.end()) out.push_back(name);
  }
}

std::vector<std::string> libraries_of(const fs::path& program) {
  const CommandResult ldd = run_command({"ldd", program.string()});
  // A static program is not an error here, although ldd fails for it.
  return ldd.status.ok() ? libraries_to_ship(ldd.out) : std::vector<std::string>{};
}

// Changes whenever a file does; cheaper than reading hundreds of megabytes of libraries.
std::string fingerprint(const std::vector<fs::path>& files) {
  std::string text;
  for (const fs::path& file : files) {
    std::error_code ec;
    const fs::path real = fs::canonical(file, ec);
    text += real.string() + "\n" + std::to_string(fs::file_size(real, ec)) + "\n" +
            std::to_string(fs::last_write_time(real, ec).time_since_epoch().count()) + "\n";
  }
  return sha256(text).substr(0, 24);
}

void run_tar(const fs::path& bindir, const std::vector<std::string>& programs,
             const std::vector<std::string>& libraries, const fs::path& target) {
  std::uintmax_t bytes = 0;
  std::error_code ec;
  for (const std::string& program : programs) bytes += fs::file_size(bindir / program, ec);
  for (const std::string& library : libraries) bytes += fs::file_size(library, ec);
  std::vector<std::string> argv{
      "tar", "--create",
      // It is packed once, and goes over the controller's link to every
      // host; tar there sees by itself what it is.
      bytes > kCompressedFrom ? "--use-compress-program=gzip -1" : "--format=gnu",
      "--file=" + target.string(), "--dereference", "--sort=name", "--mtime=@0", "--owner=0",
      "--group=0", "--numeric-owner", "--mode=u=rwX,go=rX", "--absolute-names",
      "--transform=s,^/.*/,lib/,", "-C", bindir.string()};
  argv.insert(argv.end(), programs.begin(), programs.end());
  argv.insert(argv.end(), libraries.begin(), libraries.end());
  CommandOptions options;
  options.timeout = kTarLimit;
  const CommandResult result = run_command(argv, options);
  if (result.not_found)
    throw Error(ErrorKind::environment, "tar is not installed", {}, "install the package 'tar'");
  if (!result.status.ok())
    throw Error(ErrorKind::environment,
                "the programs for the nodes cannot be packed: " + printable(trim(result.err)),
                target.string(), "check the free space there");
}

// Bundles of programs that were built again are never used again; the newest few are kept, and
// those that another run may be sending at the moment.
void forget_old(const fs::path& folder) {
  constexpr std::size_t kKept = 4;
  const auto long_ago = fs::file_time_type::clock::now() - std::chrono::hours(1);
  std::vector<std::pair<fs::file_time_type, fs::path>> bundles;
  std::error_code ec;
  for (const auto& entry : fs::directory_iterator(folder, ec))
    if (entry.path().extension() == ".tar")
      bundles.emplace_back(entry.last_write_time(ec), entry.path());
  std::ranges::sort(bundles, std::greater<>{});
  for (std::size_t i = kKept; i < bundles.size(); ++i) {
    if (bundles[i].first > long_ago) continue;
    fs::remove(bundles[i].second, ec);
    fs::remove(bundles[i].second.string() + ".sha256", ec);
  }
}

}  // namespace

std::vector<std::string> programs_of(const plan::Plan& plan) {
  std::vector<std::string> programs{"assay-agent"};
  for (const plan::CasePlan& plan_case : plan.cases) add_programs(plan_case.command, programs);
  for (const Json& sample : plan.vendor_data.value("samples", Json::array()))
    add_programs(sample.value("command", std::vector<std::string>{}), programs);
  add_programs(device_state_command(plan), programs);
  return programs;
}

std::vector<std::string> libraries_to_ship(const std::string& ldd_output) {
  // These and the loader must be of one piece, and every node has them.
  static constexpr std::array<std::string_view, 8> kOfTheNode{
      "libc.so",  "libm.so",      "libpthread.so", "libdl.so",
      "librt.so", "libresolv.so", "libutil.so",    "ld-linux"};
  std::vector<std::string> out;
  for (const auto line : split(ldd_output, '\n')) {
    const auto arrow = line.find("=> /");
    if (arrow == std::string_view::npos) continue;
    const std::string_view rest = line.substr(arrow + 3);
    const std::string path(rest.substr(0, rest.find(" (")));
    const std::string name = fs::path(path).filename();
    if (std::ranges::any_of(kOfTheNode, [&](auto own) { return name.starts_with(own); })) continue;
    out.push_back(path);
  }
  return out;
}

Bundle make_bundle(const fs::path& bindir, const std::vector<std::string>& programs) {
  std::vector<fs::path> files;
  std::vector<std::string> libraries;
  for (const std::string& program : programs) {
    files.push_back(bindir / program);
    if (!fs::exists(files.back()))
      throw Error(ErrorKind::environment, program + " is missing", files.back().string(),
                  "it is built and installed beside assay; build again");
    for (std::string& library : libraries_of(files.back()))
      if (std::ranges::find(libraries, library) == libraries.end())
        libraries.push_back(std::move(library));
  }
  for (const std::string& library : libraries) files.emplace_back(library);

  const fs::path target = cache_dir() / (fingerprint(files) + ".tar");
  const fs::path sum = target.string() + ".sha256";
  make_directories(target.parent_path());
  if (!fs::exists(target) || read_file_or_empty(sum).size() != 64) {
    const fs::path temporary = target.string() + "." + std::to_string(::getpid());
    run_tar(bindir, programs, libraries, temporary);
    write_file_atomic(sum, sha256_file(temporary));
    fs::rename(temporary, target);
    forget_old(target.parent_path());
  } else {
    std::error_code ec;
    fs::last_write_time(target, fs::file_time_type::clock::now(), ec);  // it is in use
  }
  return {target, read_file(sum), fs::file_size(target)};
}

}  // namespace assay::launch
