#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "engine/engine.h"
#include "engine/slurm_job.h"

namespace assay::commands {

/// What an administrator says about where jobs run.
struct JobEngineChoice {
  std::filesystem::path nodes{};               ///< a list of machines; empty: this one
  std::optional<engine::SlurmTarget> slurm{};  ///< jobs are Slurm's, submitted there
  /// On this machine, as whom jobs run (a user's name, or engine::kOwnersUser); empty: as the
  /// server.
  std::string job_user{};
  std::filesystem::path data{};  ///< the server's folder; with `job_user` it is closed to others
};

/// Where jobs run: in Slurm; on the machines that `nodes` lists (engine/nodes_file.h), or, where it
/// is empty, on this one: its devices, as far as its vendor's tool lists them and the environment
/// lets them be seen, else its processors. Takes milliseconds where there are no devices, seconds
/// where there are. Throws Error of kind config for a list that is wrong, environment where there
/// is no Slurm, usage where jobs cannot run as the user.
[[nodiscard]] std::unique_ptr<engine::Engine> make_job_engine(const JobEngineChoice& choice = {});

}  // namespace assay::commands
