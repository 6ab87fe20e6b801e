#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "core/error.h"
#include "train/loop/runtime.h"
#include "train/micro/session.h"
#include "train/parallel/communicator.h"

namespace assay::train {
namespace {

std::string size_name(double bytes) {
  if (bytes >= 1048576) return fmt::format("{}MiB", bytes / 1048576);
  if (bytes >= 1024) return fmt::format("{}KiB", bytes / 1024);
  return fmt::format("{}B", bytes);
}

}  // namespace

int run_allreduce(Options& options, const Place& place, perflog::Writer& log) {
  const std::vector<double> sizes =
      options.numbers("sizes", {4096, 65536, 1048576, 16777216, 67108864}, 4, 1e11);
  Communicator::Options limits;
  limits.membership.join = std::chrono::milliseconds(
      static_cast<std::int64_t>(1000 * options.number("join_timeout_s", 120, 1, 1e6)));
  limits.timeout = std::chrono::milliseconds(
      static_cast<std::int64_t>(1000 * options.number("collective_timeout_s", 600, 1, 1e6)));
  Session session(options, place, log);
  options.reject_unknown();
  if (place.alone())
    throw Error(ErrorKind::config, "an all-reduce needs at least two ranks", "WORLD_SIZE",
                "set 'procs' or 'nodes' of the case to 2 or more");
  if (sizes.empty()) throw Error(ErrorKind::config, "'sizes' is empty", "sizes");
  if (std::set<double>(sizes.begin(), sizes.end()).size() != sizes.size())
    throw Error(ErrorKind::config, "'sizes' holds a size twice", "sizes");
  session.require_memory(*std::max_element(sizes.begin(), sizes.end()));
  limits.membership.terms = "workload: allreduce\n" + options.terms();
  Communicator communicator(place, session.device(), limits, end_with);
  session.start();
  const double ranks = place.world_size;
  double best_bus = 0;
  for (const double bytes : sizes) {
    const auto count = std::max<std::int64_t>(1, static_cast<std::int64_t>(bytes / sizeof(float)));
    const torch::Tensor tensor =
        torch::ones({count}, torch::TensorOptions(torch::kFloat).device(session.device()));
    const auto reduce = [&] { communicator.wait(communicator.all_reduce(tensor)); };
    reduce();
    if (const double got = tensor[count - 1].item<double>(); got != ranks)
      throw Error(ErrorKind::environment,
                  fmt::format("an all-reduce of ones gave {} instead of {}", got, ranks));
    tensor.zero_();
    // Rank 0's clock decides how often all of them call; they cannot stop one by one.
    const std::int64_t mine = session.calibrate(reduce);
    const std::int64_t repeats =
        communicator.sum(std::vector<std::int64_t>{place.rank == 0 ? mine : 0}).front();
    const auto steps = static_cast<std::int64_t>(std::max(
        3.0, session.budget() / static_cast<double>(sizes.size()) / session.step_seconds()));
    Session::Work work;
    work.bytes = static_cast<double>(count) * sizeof(float);
    const Session::Rate rate = session.measure(work, 0, reduce, repeats, steps);
    // Algorithm bandwidth: bytes of the buffer per second. Bus bandwidth: what each link carries
    // at least, 2(n-1)/n times that; comparable between numbers of ranks.
    const double algorithm = rate.mean * work.bytes;
    const double bus = algorithm * 2 * (ranks - 1) / ranks;
    session.result("algbw_" + size_name(bytes), algorithm);
    session.result("busbw_" + size_name(bytes), bus);
    session.result("latency_us_" + size_name(bytes), 1e6 / rate.mean);
    best_bus = std::max(best_bus, bus);
  }
  session.result("busbw_bytes_per_s", best_bus);
  return session.finish();
}

}  // namespace assay::train
