#include "train/automl/trial_group.h"

#include <cstring>
#include <vector>

#include <fmt/format.h>

#include "core/error.h"
#include "workload/runtime.h"

namespace assay::train {
namespace {

// Ranks that wait longer for each other are out of step: one failed where the others did not. A
// lost rank is noticed much earlier.
constexpr std::chrono::minutes kOperationLimit{30};

// A node's groups consist of neighboring ranks, so each has its rank 0 on this machine.
workload::Place group_place(const workload::Place& place, int devices) {
  if (devices < 1 || place.world_size % devices != 0)
    throw Error(ErrorKind::usage,
                fmt::format("{} ranks cannot be groups of {}", place.world_size, devices),
                "devices_per_trial");
  workload::Place group = place;
  group.rank = place.rank % devices;
  group.world_size = devices;
  group.master_address = "127.0.0.1";
  constexpr int kPorts = 60'000;
  constexpr int kFirst = 5'000;
  const int port = (place.master_port + 1 + place.rank / devices - kFirst + kPorts) % kPorts;
  group.master_port = static_cast<std::uint16_t>(kFirst + port);
  group.launcher_has_store = false;
  return group;
}

}  // namespace

TrialGroup::TrialGroup(const workload::Place& place, int devices, torch::Device device)
    : place_(group_place(place, devices)),
      worker_(place.rank / devices),
      device_(device),
      communicator_(place_, device, {.membership = {}, .timeout = kOperationLimit},
                    workload::end_with) {}

std::string TrialGroup::share(std::string text) {
  if (alone()) return text;
  torch::Tensor size = torch::tensor({static_cast<std::int64_t>(text.size())}).to(device_);
  communicator_.broadcast(size);
  text.resize(static_cast<std::size_t>(size.item<std::int64_t>()));
  if (text.empty()) return text;
  torch::Tensor bytes = torch::empty({static_cast<std::int64_t>(text.size())}, torch::kByte);
  std::memcpy(bytes.data_ptr(), text.data(), text.size());
  bytes = bytes.to(device_);
  communicator_.broadcast(bytes);
  bytes = bytes.cpu();
  std::memcpy(text.data(), bytes.data_ptr(), text.size());
  return text;
}

bool TrialGroup::any(bool here) {
  return communicator_.sum(std::vector<std::int64_t>{here ? 1 : 0})[0] > 0;
}

}  // namespace assay::train
