#pragma once

#include <filesystem>
#include <memory>

#include "engine/engine.h"

namespace assay::app {

/// Where jobs run: on the machines that `nodes` lists (engine/nodes_file.h), or, where it is empty,
/// on this one: its devices, as far as its vendor's tool lists them and the environment lets them
/// be seen, else its processors. Takes milliseconds where there are no devices, seconds where there
/// are. Throws Error of kind config for a list that is wrong.
/// `job_user`: on this machine, as whom jobs run (a user's name, or engine::kOwnersUser); `data`,
/// the server's folder, is then closed to everybody else. Throws Error of kind usage where that is
/// not possible. Empty: as the server.
[[nodiscard]] std::unique_ptr<engine::Engine> make_job_engine(
    const std::filesystem::path& nodes = {}, const std::string& job_user = {},
    const std::filesystem::path& data = {});

}  // namespace assay::app
