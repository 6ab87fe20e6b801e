#include "e2e/podman_image.h"

#include "core/process.h"
#include "needs.h"

namespace assay::e2e {

using namespace std::chrono_literals;

namespace {

constexpr const char* kImage = "localhost/assay-test:1";
// Some systems do not let root have more, and podman asks for all that there is.
constexpr const char* kLimits[] = {"--ulimit=nofile=1024:1024", "--ulimit=nproc=512:512"};

std::string listed(const std::vector<std::string>& words) {
  std::string text = "[";
  for (const std::string& word : words) text += "'" + word + "', ";
  return text + "]";
}

}  // namespace

PodmanImage::PodmanImage(fs::path folder, const std::vector<std::string>& commands,
                         const std::vector<std::string>& folders)
    : folder_(std::move(folder)) {
  if (!find_program("podman") || !find_program("runc") || !fs::exists("/bin/busybox")) {
    missing_ = needs::package("podman runc busybox-static");
    return;
  }
  const fs::path root = folder_ / "image";
  for (const char* name : {"bin", "tmp"}) fs::create_directories(root / name);
  for (const std::string& name : folders) fs::create_directories(root / name);
  fs::copy_file("/bin/busybox", root / "bin/busybox");
  for (const std::string& name : commands) fs::create_symlink("busybox", root / "bin" / name);
  const std::string archive = (folder_ / "image.tar").string();
  (void)run_command({"tar", "-C", root.string(), "-cf", archive, "."});
  std::vector<std::string> run{"run", "--rm", "--network=host"};
  run.insert(run.end(), std::begin(kLimits), std::end(kLimits));
  run.insert(run.end(), {kImage, "/bin/busybox", "true"});
  if (!podman({"import", archive, kImage}).ok() || !podman(run).ok())
    missing_ = needs::system("podman cannot run a container");
}

CommandResult PodmanImage::podman(const std::vector<std::string>& args) const {
  std::vector<std::string> argv{"podman"};
  for (const std::string& option : options()) argv.push_back(option);
  argv.insert(argv.end(), args.begin(), args.end());
  return run_command(argv, {.timeout = 60s, .env = {}});
}

std::vector<std::string> PodmanImage::options() const {
  return {"--runtime=runc", "--cgroup-manager=cgroupfs", "--storage-driver=vfs",
          "--root=" + (folder_ / "storage").string(), "--runroot=" + (folder_ / "run").string(),
          // Its state too: tests beside this one must not share it.
          "--tmpdir=" + (folder_ / "state").string()};
}

std::string PodmanImage::container(const std::vector<std::string>& mounts) const {
  return "container:\n  image: " + std::string(kImage) +
         "\n  runtime_options: " + listed(options()) +
         "\n  options: " + listed({std::begin(kLimits), std::end(kLimits)}) +
         "\n  mounts: " + listed(mounts) + "\n";
}

}  // namespace assay::e2e
