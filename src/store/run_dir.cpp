#include "store/run_dir.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/error.h"
#include "core/regular_file.h"
#include "store/archived_run.h"

namespace assay::store {

namespace fs = std::filesystem;

namespace {

// Points `link` at `target`; the link exists at every moment.
void point_at(const fs::path& link, const fs::path& target) {
  const fs::path temporary = fmt::format("{}.{}", link.string(), ::getpid());
  std::error_code ignored;
  fs::remove(temporary, ignored);
  std::error_code ec;
  fs::create_directory_symlink(target, temporary, ec);
  if (!ec) fs::rename(temporary, link, ec);
  // The file system has no links, or "latest" is a real folder: the run itself is unaffected.
  if (ec) fs::remove(temporary, ignored);
}

}  // namespace

void mend_latest(const fs::path& results) {
  const fs::path latest = results / "latest";
  std::error_code ec;
  if (!fs::is_symlink(fs::symlink_status(latest, ec)) || fs::exists(latest, ec)) return;
  std::string newest;  // by name, which begins with the time
  for (const fs::directory_entry& entry : fs::directory_iterator(results, ec)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with('.') && fs::is_directory(entry.symlink_status(ec)) &&
        fs::exists(entry.path() / layout::kPlan, ec))
      newest = std::max(newest, name);
  }
  if (newest.empty())
    fs::remove(latest, ec);
  else
    point_at(latest, newest);
}

RunDir::RunDir(fs::path path, plan::Plan plan) : path_(std::move(path)), plan_(std::move(plan)) {}

RunDir RunDir::create(const fs::path& parent, const plan::Plan& plan) {
  make_directories(parent);
  const fs::path path = fs::absolute(parent) / plan.run_id;
  if (::mkdir(path.c_str(), 0777) != 0)
    throw Error(ErrorKind::environment,
                std::string("cannot create the run folder: ") + std::strerror(errno), path.string(),
                "check the permissions and the disk, or choose another folder with --out");
  write_file_atomic(path / layout::kPlan, dump_pretty(plan::to_json(plan)));
  point_at(parent / "latest", plan.run_id);
  return {path, plan};
}

RunDir RunDir::open(const fs::path& path) {
  std::error_code ec;
  fs::path folder = fs::weakly_canonical(path, ec);
  if (ec || !fs::exists(folder))
    throw Error(ErrorKind::usage, "there is no such run", path.string(),
                "give the folder of a run, such as results/latest");
  if (!fs::is_directory(folder)) folder = folder.parent_path();
  const fs::path file = folder / layout::kPlan;
  if (is_archived(folder))
    throw Error(ErrorKind::usage, "the run is archived: its files are packed", path.string(),
                "'assay archive --restore " + folder.string() + "' brings them back");
  if (!fs::exists(file))
    throw Error(ErrorKind::usage, "this is not a run folder: it has no plan.json", path.string(),
                "give the folder of a run, such as results/latest");
  return {folder,
          plan::plan_from_json(parse_json(read_regular_file(file), file.string()), file.string())};
}

fs::path RunDir::round_dir(const std::string& case_name, int round) const {
  return path_ / case_name / layout::round_folder(round);
}

fs::path RunDir::node_dir(const std::string& case_name, int round, const std::string& host,
                          int node) const {
  return path_ / node_folder(case_name, round, host, node);
}

fs::path node_folder(const std::string& case_name, int round, const std::string& host, int node) {
  return fs::path(case_name) / layout::round_folder(round) / layout::node_folder(host, node);
}

std::vector<fs::path> rank_logs(const fs::path& node_dir, int rank) {
  const std::string base = (node_dir / layout::rank_log(rank)).string();
  std::vector<fs::path> parts;
  for (const fs::path& part : {fs::path(base + ".head"), fs::path(base + ".1"), fs::path(base)})
    if (fs::exists(part)) parts.push_back(part);
  return parts;
}

RunLock::RunLock(const fs::path& run_dir) {
  const fs::path file = run_dir / layout::kLock;
  fd_.reset(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (!fd_)
    throw system_error(ErrorKind::environment, "cannot open the lock", file.string(), errno);
  // A process that only asks (held()) releases the lock at once.
  bool taken = false;
  for (int i = 0; i < 20 && !(taken = ::flock(fd_.get(), LOCK_EX | LOCK_NB) == 0); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  if (!taken)
    throw Error(ErrorKind::environment, "another assay is working on this run", run_dir.string(),
                "wait for it, watch it with 'assay top', or end it with 'assay stop'");
}

bool RunLock::held(const fs::path& run_dir) {
  const UniqueFd fd(::open((run_dir / layout::kLock).c_str(), O_RDWR | O_CLOEXEC));
  if (!fd) return false;
  // Uses a shared lock, so that others asking at the same time do not count as working on the run.
  if (::flock(fd.get(), LOCK_SH | LOCK_NB) == 0) return false;
  return errno == EWOULDBLOCK;
}

}  // namespace assay::store
