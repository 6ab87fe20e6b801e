#include "emulator/job_instance.h"

#include <cstdlib>

#include <fmt/format.h>

#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "core/text.h"
#include "emulator/modelarts_service.h"

namespace assay::emulator {

namespace fs = std::filesystem;

namespace {

/// "/bucket/a/code/" → "code".
std::string last_folder(const std::string& url) {
  const fs::path path(url);
  return (path.has_filename() ? path.filename() : path.parent_path().filename()).string();
}

}  // namespace

JobInstance::JobInstance(const JobToRun& job, int index, const fs::path& root)
    : job_(job), index_(index), root_(root / fmt::format("worker-{}", index)) {
  workdir_ = root_ / "user-job-dir" / last_folder(job.code_dir);
  log_ = root_ / "log" / fmt::format("worker-{}.log", index);
}

int JobInstance::processes() const noexcept {
  return job_.per_card ? job_.cards : 1;
}

void JobInstance::prepare(ObsStore& store) {
  make_directories(workdir_);
  make_directories(log_.parent_path());
  const auto fetch = [&](const std::string& url, const fs::path& folder) {
    const auto [bucket, prefix] = split_obs_path(url);
    make_directories(folder);
    if (store.fetch(bucket, prefix, folder) == 0)
      throw Error(ErrorKind::environment, "there is nothing at " + url);
  };
  fetch(job_.code_dir, workdir_);
  for (const auto& input : job_.inputs) fetch(input.url, root_ / "inputs" / (input.name + "_0"));
  for (const auto& output : job_.outputs)
    make_directories(root_ / "outputs" / (output.name + "_0"));
  if (job_.cards > 0) write_rank_table();
}

void JobInstance::write_rank_table() const {
  Json servers = Json::array();
  for (int node = 0; node < job_.nodes; ++node) {
    Json devices = Json::array();
    for (int card = 0; card < job_.cards; ++card)
      devices.push_back({{"device_id", fmt::format("{}", card)},
                         {"device_ip", fmt::format("192.168.{}.{}", node, card + 1)},
                         {"rank_id", fmt::format("{}", node * job_.cards + card)}});
    servers.push_back({{"server_id", fmt::format("10.0.0.{}", node + 1)}, {"device", devices}});
  }
  make_directories(root_ / "config");
  write_file_atomic(root_ / "config" / "jobstart_hccl.json",
                    dump_pretty({{"status", "completed"},
                                 {"version", "1.0"},
                                 {"server_count", fmt::format("{}", job_.nodes)},
                                 {"server_list", servers}}),
                    false);
}

std::vector<std::string> JobInstance::command(const std::string& python) const {
  if (!job_.command.empty()) return {"bash", "-c", job_.command};
  const std::string boot =
      (workdir_ / job_.boot_file.substr(std::min(job_.code_dir.size(), job_.boot_file.size())))
          .string();
  // $0 is the boot file, and its arguments are "$@".
  std::vector<std::string> argv{
      "bash", "-c",
      fmt::format("pre=$(dirname \"$0\")/ma-pre-start.sh; if [ -f \"$pre\" ]; then . \"$pre\"; fi; "
                  "exec {} \"$0\" \"$@\"",
                  boot.ends_with(".py") ? shell_quote(python) : "bash"),
      boot};
  for (const auto& input : job_.inputs)
    argv.push_back(
        fmt::format("--{}={}", input.name, (root_ / "inputs" / (input.name + "_0")).string()));
  for (const auto& output : job_.outputs)
    argv.push_back(
        fmt::format("--{}={}", output.name, (root_ / "outputs" / (output.name + "_0")).string()));
  for (const auto& [name, value] : job_.parameters)
    argv.push_back(fmt::format("--{}={}", name, value));
  return argv;
}

std::vector<std::string> JobInstance::environment(int process) const {
  std::map<std::string, std::string> env;
  for (const char* name : {"PATH", "LANG"})
    if (const char* value = std::getenv(name)) env[name] = value;
  const auto text = [](int value) { return fmt::format("{}", value); };
  std::string hosts;
  for (int node = 0; node < job_.nodes; ++node) hosts += node == 0 ? "127.0.0.1" : ",127.0.0.1";
  env["HOME"] = root_.string();
  env["MA_JOB_DIR"] = (root_ / "user-job-dir").string();
  env["MA_MOUNT_PATH"] = root_.string();
  env["MA_LOG_DIR"] = log_.parent_path().string();
  env["MA_CURRENT_IP"] = "127.0.0.1";
  env["MA_NUM_GPUS"] = text(job_.cards);
  env["MA_NUM_HOSTS"] = text(job_.nodes);
  env["MA_TASK_NAME"] = "worker";
  env["VC_TASK_INDEX"] = env["BATCH_TASK_INDEX"] = text(index_);
  env["VC_WORKER_NUM"] = text(job_.nodes);
  env["VC_WORKER_HOSTS"] = hosts;
  if (job_.cards > 0) env["RANK_TABLE_FILE"] = (root_ / "config" / "jobstart_hccl.json").string();
  if (job_.per_card) {
    env["ASCEND_DEVICE_ID"] = env["DEVICE_ID"] = text(process);
    env["RANK_ID"] = text(index_ * job_.cards + process);
    env["RANK_SIZE"] = text(job_.nodes * job_.cards);
  }
  for (const auto& [name, value] : job_.environment) env[name] = value;
  std::vector<std::string> out;
  for (const auto& [name, value] : env) out.push_back(fmt::format("{}={}", name, value));
  return out;
}

void JobInstance::put_if_new(ObsStore& store, const fs::path& file, const std::string& bucket,
                             const std::string& key) {
  std::error_code ec;
  const std::pair stamp(fs::file_size(file, ec), fs::last_write_time(file, ec));
  if (ec || (sent_.contains(file) && sent_[file] == stamp)) return;
  if (store.put_file(bucket, key, file)) sent_[file] = stamp;
}

void JobInstance::upload(ObsStore& store) {
  for (const auto& output : job_.outputs) {
    const auto [bucket, prefix] = split_obs_path(output.url);
    const fs::path folder = root_ / "outputs" / (output.name + "_0");
    std::error_code ec;
    for (fs::recursive_directory_iterator at(folder, ec), end; !ec && at != end; at.increment(ec))
      if (at->is_regular_file() && !at->is_symlink())
        put_if_new(store, at->path(), bucket,
                   prefix + at->path().lexically_relative(folder).generic_string());
  }
  if (static_cast<std::size_t>(index_) >= job_.logs.size()) return;
  const auto [bucket, key] = split_obs_path(job_.logs[static_cast<std::size_t>(index_)]);
  if (!bucket.empty()) put_if_new(store, log_, bucket, key);
}

}  // namespace assay::emulator
