#include "core/place_variables.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace assay {

namespace {

using namespace std::string_view_literals;

constexpr std::array kPlaces{// torchrun, and PerfLog writers
                             "RANK"sv, "WORLD_SIZE"sv, "LOCAL_RANK"sv, "LOCAL_WORLD_SIZE"sv,
                             "NODE_RANK"sv, "GROUP_RANK"sv, "MASTER_ADDR"sv, "MASTER_PORT"sv,
                             // mpi, of MPICH and Intel MPI
                             "PMI_RANK"sv, "PMI_SIZE"sv,
                             // horovod
                             "HOROVOD_RANK"sv, "HOROVOD_SIZE"sv, "HOROVOD_HOSTNAME"sv,
                             // hccl
                             "RANK_TABLE_FILE"sv, "MINDSPORE_HCCL_CONFIG_PATH"sv, "RANK_SIZE"sv,
                             "RANK_START"sv, "RANK_ID"sv, "DEVICE_NUM"sv, "DEVICE_ID"sv,
                             "DEVICE_INDEX"sv, "ASCEND_DEVICE_ID"sv, "SERVER_ID"sv, "JOB_ID"sv,
                             // dlws
                             "VISIBLE_IDS"sv, "NPU_IPS"sv};

// What begins so is a name of one piece of knowledge in several forms.
constexpr std::array kPlacePrefixes{
    "ASSAY_"sv,         "OMPI_COMM_WORLD_"sv, "OMPI_UNIVERSE_"sv,           "MPI_LOCAL"sv,
    "HOROVOD_LOCAL_"sv, "HOROVOD_CROSS_"sv,   "HOROVOD_GLOO_RENDEZVOUS_"sv, "DLWS_"sv,
    "DLTS_"sv};

}  // namespace

bool is_place_variable(std::string_view name) noexcept {
  // The vendors' own: CUDA_VISIBLE_DEVICES, ASCEND_RT_VISIBLE_DEVICES.
  return name.ends_with("_VISIBLE_DEVICES") || std::ranges::find(kPlaces, name) != kPlaces.end() ||
         std::ranges::any_of(kPlacePrefixes,
                             [&](std::string_view prefix) { return name.starts_with(prefix); });
}

}  // namespace assay
