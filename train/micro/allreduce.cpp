#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "core/error.h"
#include "train/micro/session.h"
#include "train/parallel/communicator.h"
#include "workload/runtime.h"

namespace assay::train {
namespace {

std::string size_name(double bytes) {
  if (bytes >= 1048576) return fmt::format("{}MiB", bytes / 1048576);
  if (bytes >= 1024) return fmt::format("{}KiB", bytes / 1024);
  return fmt::format("{}B", bytes);
}

struct AllreduceSettings {
  std::vector<double> sizes;
  Communicator::Options limits;
  SessionSettings session;

  explicit AllreduceSettings(workload::Options& options)
      : sizes(
            options.numbers("sizes", {4096, 65536, 1048576, 16777216, 67108864}, 4, 1e11, "bytes")),
        limits(read_limits(options)),
        session(options) {
    options.reject_unknown();
    limits.membership.terms = "workload: allreduce\n" + options.terms();
  }

 private:
  static Communicator::Options read_limits(workload::Options& options) {
    const auto seconds = [&](const char* key, double fallback, const char* about) {
      return std::chrono::milliseconds(static_cast<std::int64_t>(
          1000 * options.number(key, fallback, 1, 1e6, workload::per_rank(about))));
    };
    Communicator::Options read;
    read.collectives = *parse_enum<Collectives>(
        options.choice("collectives", "auto", enum_texts<Collectives>(),
                       "auto is NCCL on CUDA and Gloo on the CPU; ranks with gloo may share a CUDA "
                       "device"));
    read.membership.join = seconds("join_timeout_s", 120, "for all ranks to appear");
    read.timeout = seconds("collective_timeout_s", 600, "for one collective operation");
    return read;
  }
};

int run_allreduce(const AllreduceSettings& settings, const workload::Place& place,
                  perflog::Writer& log) {
  const std::vector<double>& sizes = settings.sizes;
  Session session(settings.session, place, log, settings.limits.collectives);
  if (place.alone())
    throw Error(ErrorKind::config, "an all-reduce needs at least two ranks", "WORLD_SIZE",
                "set 'procs' or 'nodes' of the case to 2 or more");
  if (sizes.empty()) throw Error(ErrorKind::config, "'sizes' is empty", "sizes");
  if (std::set<double>(sizes.begin(), sizes.end()).size() != sizes.size())
    throw Error(ErrorKind::config, "'sizes' holds a size twice", "sizes");
  session.require_memory(*std::max_element(sizes.begin(), sizes.end()));
  Communicator communicator(place, session.device(), settings.limits, workload::end_with);
  session.start();
  const double ranks = place.world_size;
  Session::Rate of_size;  // bus bandwidths of the size with the largest
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
    work.name = size_name(bytes);
    const Session::Rate rate = session.measure(work, 0, reduce, repeats, steps);
    // Algorithm bandwidth: bytes of the buffer per second. Bus bandwidth: what each link carries
    // at least, 2(n-1)/n times that; comparable between numbers of ranks.
    const double algorithm = rate.median * work.bytes;
    const double links = 2 * (ranks - 1) / ranks;
    const double bus = algorithm * links;
    session.result("algbw_" + size_name(bytes), algorithm);
    session.result("busbw_" + size_name(bytes), bus);
    session.result("latency_us_" + size_name(bytes), 1e6 / rate.median);
    if (bus <= of_size.median) continue;
    of_size = {rate.best * work.bytes * links, rate.mean * work.bytes * links, bus};
  }
  session.bandwidth("busbw", 1, of_size);
  return session.finish();
}

}  // namespace

workload::Workload allreduce_workload() {
  return workload::single_workload("allreduce", run_allreduce);
}

}  // namespace assay::train
