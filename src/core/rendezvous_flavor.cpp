#include "core/rendezvous_flavor.h"

#include <algorithm>
#include <array>

#include "core/text.h"

namespace assay {

std::span<const RendezvousFlavor> rendezvous_flavors() noexcept {
  static constexpr std::array kFlavors{
      RendezvousFlavor{.name = "torchrun",
                       .places = "WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE NODE_RANK GROUP_RANK "
                                 "MASTER_ADDR MASTER_PORT"},
      // OpenMPI, MPICH and Intel MPI.
      RendezvousFlavor{.name = "mpi",
                       .places = "OMPI_COMM_WORLD_* OMPI_UNIVERSE_* PMI_RANK PMI_SIZE MPI_LOCAL*",
                       .hostfile = true},
      RendezvousFlavor{.name = "horovod",
                       .places = "HOROVOD_RANK HOROVOD_SIZE HOROVOD_LOCAL_* HOROVOD_CROSS_* "
                                 "HOROVOD_HOSTNAME HOROVOD_GLOO_RENDEZVOUS_*",
                       .hostfile = true},
      RendezvousFlavor{.name = "hccl",
                       .places = "RANK_TABLE_FILE MINDSPORE_HCCL_CONFIG_PATH RANK_SIZE RANK_START "
                                 "RANK_ID DEVICE_NUM DEVICE_ID DEVICE_INDEX ASCEND_DEVICE_ID "
                                 "SERVER_ID JOB_ID",
                       .rank_table = true},
      RendezvousFlavor{.name = "dlws",
                       .places = "DLWS_* DLTS_* VISIBLE_IDS NPU_IPS",
                       .hostfile = true,
                       .ib_config = true},
  };
  return kFlavors;
}

std::vector<std::string> rendezvous_names() {
  std::vector<std::string> names;
  for (const RendezvousFlavor& flavor : rendezvous_flavors()) names.emplace_back(flavor.name);
  return names;
}

bool any_flavor(const std::vector<std::string>& flavors,
                bool RendezvousFlavor::*property) noexcept {
  return std::ranges::any_of(rendezvous_flavors(), [&](const RendezvousFlavor& flavor) {
    return flavor.*property && std::ranges::find(flavors, flavor.name) != flavors.end();
  });
}

std::string flavors_with(bool RendezvousFlavor::*property) {
  std::vector<std::string> names;
  for (const RendezvousFlavor& flavor : rendezvous_flavors())
    if (flavor.*property) names.emplace_back(flavor.name);
  return join(names, ", ");
}

bool is_place_variable(std::string_view name) {
  const auto is_in = [&](std::string_view places) {
    return std::ranges::any_of(split(places, ' '), [&](std::string_view place) {
      return place.ends_with('*') ? name.starts_with(place.substr(0, place.size() - 1))
                                  : name == place;
    });
  };
  // PerfLog writers use RANK too; the last kind are the vendors', such as CUDA_VISIBLE_DEVICES.
  return is_in("RANK ASSAY_*") || name.ends_with("_VISIBLE_DEVICES") ||
         std::ranges::any_of(rendezvous_flavors(), is_in, &RendezvousFlavor::places);
}

}  // namespace assay
