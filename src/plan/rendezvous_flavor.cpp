#include "plan/rendezvous_flavor.h"

#include <algorithm>
#include <array>

#include "core/text.h"

namespace assay::plan {

std::span<const RendezvousFlavor> rendezvous_flavors() noexcept {
  static constexpr std::array kFlavors{
      RendezvousFlavor{.name = "torchrun"},
      RendezvousFlavor{.name = "mpi", .hostfile = true},
      RendezvousFlavor{.name = "horovod", .hostfile = true},
      RendezvousFlavor{.name = "hccl", .rank_table = true},
      RendezvousFlavor{.name = "dlws", .hostfile = true, .ib_config = true},
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

}  // namespace assay::plan
