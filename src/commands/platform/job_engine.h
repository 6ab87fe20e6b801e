#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "engine/engine.h"
#include "engine/slurm_job.h"

namespace assay::commands {

/// An administrator's settings for where jobs run.
struct JobEngineChoice {
  std::filesystem::path nodes{};               ///< a list of machines; empty: this one
  std::optional<engine::SlurmTarget> slurm{};  ///< submits jobs to Slurm
  /// The user as whom jobs run on this machine (a name, or engine::kOwnersUser); empty: the
  /// server's.
  std::string job_user{};
  std::filesystem::path data{};  ///< the server's folder; closed to others with `job_user`
};

/// The place where jobs run: Slurm; the machines listed in `nodes` (engine/nodes_file.h); or, if
/// that is empty, this one, with the devices that its vendor's tool lists and the environment
/// leaves visible, else its processors. Takes milliseconds without devices, seconds with them.
/// Throws Error of kind config for a wrong list, environment without Slurm, usage if jobs cannot
/// run as the user.
[[nodiscard]] std::unique_ptr<engine::Engine> make_job_engine(const JobEngineChoice& choice = {});

}  // namespace assay::commands
