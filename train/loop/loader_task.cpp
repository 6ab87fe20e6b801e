#include "train/loop/loader_task.h"

#include <algorithm>

namespace assay::train {

data::LoaderOptions loader_options(const Settings& settings, const workload::Place& place,
                                   torch::Device device, data::Pass pass) {
  data::LoaderOptions options;
  options.pass = pass;
  const bool train = pass == data::Pass::train;
  const std::int64_t evaluated = settings.eval_batch_size > 0
                                     ? settings.eval_batch_size
                                     : std::max<std::int64_t>(settings.batch_size, 64);
  options.batch_size = train ? settings.batch_size : evaluated;
  options.rank = place.rank;
  options.world = place.world_size;
  options.threads = settings.loader_threads;
  // Batches from which a device is still copying cannot be reused.
  const std::int64_t held =
      device.is_cpu() ? 1 : (kStepsInFlight + 1) * (train ? settings.accumulation : 1);
  options.buffers = std::max(settings.loader_buffers, held + 3);
  options.seed = settings.seed;
  options.epochs = train ? 0 : 1;
  options.allocator = batch_allocator(device);
  return options;
}

}  // namespace assay::train
