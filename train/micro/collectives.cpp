#include <algorithm>
#include <cmath>
#include <memory>
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

// An operation among all ranks on buffers of so many floats in total, divisible by their number.
class Collective {
 public:
  Collective() = default;
  Collective(const Collective&) = delete;
  Collective& operator=(const Collective&) = delete;
  virtual ~Collective() = default;
  virtual void run() = 0;
  // Whether the first run's result was right.
  [[nodiscard]] virtual bool right() const = 0;
};

using MakeCollective = std::unique_ptr<Collective> (*)(Communicator&, torch::Device,
                                                       std::int64_t count);

// Bus bandwidth over algorithm bandwidth (the whole buffer's bytes per second): the minimum load of
// each link, as defined by nccl-tests; comparable across numbers of ranks.
double all_reduce_links(double ranks) {
  return 2 * (ranks - 1) / ranks;
}
double others_links(double ranks) {
  return (ranks - 1) / ranks;
}
double one_link(double /*ranks*/) {
  return 1;
}

struct CollectiveKind {
  const char* workload;
  const char* what;  // for messages
  MakeCollective make;
  double (*links)(double ranks);
};

torch::Tensor filled(torch::Device device, std::int64_t count, double value) {
  return torch::full({count}, value, torch::TensorOptions(torch::kFloat).device(device));
}

bool all_are(const torch::Tensor& tensor, double value) {
  return (tensor == value).all().item<bool>();
}

class AllReduce final : public Collective {
 public:
  AllReduce(Communicator& ranks, torch::Device device, std::int64_t count)
      : ranks_(ranks), all_(filled(device, count, 1)) {}
  void run() override { ranks_.wait(ranks_.all_reduce(all_)); }
  bool right() const override {
    const bool right = all_are(all_, ranks_.world_size());
    all_.zero_();  // sums of sums would grow
    return right;
  }

 private:
  Communicator& ranks_;
  torch::Tensor all_;
};

class AllGather final : public Collective {
 public:
  AllGather(Communicator& ranks, torch::Device device, std::int64_t count)
      : ranks_(ranks),
        part_(filled(device, count / ranks.world_size(), ranks.rank() + 1)),
        all_(filled(device, count, 0)) {}
  void run() override { ranks_.wait(ranks_.all_gather(all_, part_)); }
  bool right() const override {
    for (int rank = 0; rank < ranks_.world_size(); ++rank)
      if (!all_are(all_.narrow(0, rank * part_.numel(), part_.numel()), rank + 1)) return false;
    return true;
  }

 private:
  Communicator& ranks_;
  torch::Tensor part_;
  torch::Tensor all_;
};

class ReduceScatter final : public Collective {
 public:
  ReduceScatter(Communicator& ranks, torch::Device device, std::int64_t count)
      : ranks_(ranks),
        part_(filled(device, count / ranks.world_size(), 0)),
        all_(filled(device, count, 1)) {}
  void run() override { ranks_.reduce_scatter(part_, all_); }
  bool right() const override { return all_are(part_, ranks_.world_size()); }

 private:
  Communicator& ranks_;
  torch::Tensor part_;
  torch::Tensor all_;
};

class AllToAll final : public Collective {
 public:
  AllToAll(Communicator& ranks, torch::Device device, std::int64_t count)
      : ranks_(ranks),
        rows_(filled(device, count, ranks.rank() + 1)),
        into_(torch::zeros_like(rows_)),
        each_(static_cast<std::size_t>(ranks.world_size()), rows_.numel() / ranks.world_size()) {}
  void run() override { ranks_.all_to_all(into_, rows_, each_, each_); }
  bool right() const override {
    for (int rank = 0; rank < ranks_.world_size(); ++rank)
      if (!all_are(into_.narrow(0, rank * each_[0], each_[0]), rank + 1)) return false;
    return true;
  }

 private:
  Communicator& ranks_;
  torch::Tensor rows_;
  torch::Tensor into_;
  std::vector<std::int64_t> each_;
};

// Every rank sends to the next one and receives from the previous one.
class SendReceive final : public Collective {
 public:
  SendReceive(Communicator& ranks, torch::Device device, std::int64_t count)
      : ranks_(ranks),
        next_((ranks.rank() + 1) % ranks.world_size()),
        before_((ranks.rank() + ranks.world_size() - 1) % ranks.world_size()),
        out_(filled(device, count, ranks.rank() + 1)),
        in_(filled(device, count, 0)) {}
  void run() override {
    const Pending sent = ranks_.send(out_, next_);
    ranks_.receive(in_, before_);
    ranks_.wait(sent);
  }
  bool right() const override { return all_are(in_, before_ + 1); }

 private:
  Communicator& ranks_;
  int next_;
  int before_;
  torch::Tensor out_;
  torch::Tensor in_;
};

template <class Kind>
std::unique_ptr<Collective> make_collective(Communicator& ranks, torch::Device device,
                                            std::int64_t count) {
  return std::make_unique<Kind>(ranks, device, count);
}

constexpr CollectiveKind kCollectives[] = {
    {"allreduce", "an all-reduce", make_collective<AllReduce>, all_reduce_links},
    {"allgather", "an all-gather", make_collective<AllGather>, others_links},
    {"reducescatter", "a reduce-scatter", make_collective<ReduceScatter>, others_links},
    {"alltoall", "an all-to-all", make_collective<AllToAll>, others_links},
    {"sendrecv", "a send and a receive", make_collective<SendReceive>, one_link},
};

struct CollectiveSettings {
  const CollectiveKind* kind;
  std::vector<double> sizes;
  Communicator::Options limits;
  SessionSettings session;

  CollectiveSettings(const CollectiveKind& operation, workload::Options& options)
      : kind(&operation),
        sizes(
            options.numbers("sizes", {4096, 65536, 1048576, 16777216, 67108864}, 4, 1e11, "bytes")),
        limits(read_limits(options)),
        session(options) {
    options.reject_unknown();
    limits.membership.terms = fmt::format("workload: {}\n{}", kind->workload, options.terms());
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

int run_collective(const CollectiveSettings& settings, const workload::Place& place,
                   perflog::Writer& log) {
  const CollectiveKind& kind = *settings.kind;
  const std::vector<double>& sizes = settings.sizes;
  Session session(settings.session, place, log, settings.limits.collectives);
  if (place.alone())
    throw Error(ErrorKind::config, fmt::format("{} needs at least two ranks", kind.what),
                "WORLD_SIZE", "set 'procs' or 'nodes' of the case to 2 or more");
  if (sizes.empty()) throw Error(ErrorKind::config, "'sizes' is empty", "sizes");
  if (std::set<double>(sizes.begin(), sizes.end()).size() != sizes.size())
    throw Error(ErrorKind::config, "'sizes' holds a size twice", "sizes");
  session.require_memory(2 * *std::max_element(sizes.begin(), sizes.end()));
  Communicator communicator(place, session.device(), settings.limits, workload::end_with);
  session.start();
  const double ranks = place.world_size;
  Session::Rate of_size;  // bus bandwidths at the size where they are largest
  for (const double bytes : sizes) {
    // Every rank has a part of equal size.
    const auto parts = static_cast<std::int64_t>(std::ceil(bytes / sizeof(float) / ranks));
    const std::int64_t count = std::max<std::int64_t>(1, parts) * place.world_size;
    const std::unique_ptr<Collective> collective = kind.make(communicator, session.device(), count);
    const auto operate = [&] { collective->run(); };
    operate();
    if (!collective->right())
      throw Error(ErrorKind::environment, fmt::format("{} gave a wrong result", kind.what), {},
                  "test the network and the memory of the ranks' machines");
    // Rank 0's clock determines the number of calls for all, because they cannot stop individually.
    const std::int64_t mine = session.calibrate(operate);
    const std::int64_t repeats =
        communicator.sum(std::vector<std::int64_t>{place.rank == 0 ? mine : 0}).front();
    const auto steps = static_cast<std::int64_t>(std::max(
        3.0, session.budget() / static_cast<double>(sizes.size()) / session.step_seconds()));
    Session::Work work;
    work.bytes = static_cast<double>(count) * sizeof(float);
    work.name = size_name(bytes);
    const Session::Rate rate = session.measure(work, 0, operate, repeats, steps);
    const double algorithm = rate.median * work.bytes;
    const double links = kind.links(ranks);
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

std::vector<workload::Workload> collective_workloads() {
  std::vector<workload::Workload> all;
  for (const CollectiveKind& kind : kCollectives) {
    const auto read = [&kind](workload::Options& options) {
      return CollectiveSettings(kind, options);
    };
    all.push_back(
        {kind.workload, "collective", "",
         [read](workload::Options& options) { static_cast<void>(read(options)); },
         [read](workload::Options& options, const workload::Place& place, perflog::Writer& log) {
           return run_collective(read(options), place, log);
         }});
  }
  return all;
}

}  // namespace assay::train
