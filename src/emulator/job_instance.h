#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "emulator/job_runner.h"
#include "emulator/obs_store.h"

namespace assay::emulator {

/// An instance ("container") of a job: a folder with its code, inputs and outputs, and the
/// environment that ModelArts provides. Used by one thread.
class JobInstance {
 public:
  /// `root` is the job's folder, in which instance `index` has its own folder.
  JobInstance(const JobToRun& job, int index, const std::filesystem::path& root);

  /// Downloads code and inputs from the store; throws an Error that names anything missing.
  void prepare(ObsStore& store);
  /// Uploads new outputs, and the log if it grew.
  void upload(ObsStore& store);

  /// The number of its processes: one per card, or one.
  [[nodiscard]] int processes() const noexcept;
  /// A process's command; it first sources ma-pre-start.sh beside the boot file.
  [[nodiscard]] std::vector<std::string> command(const std::string& python) const;
  /// The complete "NAME=value" environment: only PATH and LANG come from this process.
  [[nodiscard]] std::vector<std::string> environment(int process) const;
  [[nodiscard]] const std::filesystem::path& workdir() const noexcept { return workdir_; }
  [[nodiscard]] const std::filesystem::path& log() const noexcept { return log_; }

 private:
  void write_rank_table() const;
  void put_if_new(ObsStore& store, const std::filesystem::path& file, const std::string& bucket,
                  const std::string& key);

  const JobToRun& job_;
  int index_;
  std::filesystem::path root_;
  std::filesystem::path workdir_;
  std::filesystem::path log_;
  std::map<std::filesystem::path, std::pair<std::uintmax_t, std::filesystem::file_time_type>> sent_;
};

}  // namespace assay::emulator
