#include "train/parallel/communicator.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>

#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#if defined(ASSAY_TRAIN_GLOO)
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#endif
#if defined(ASSAY_TRAIN_NCCL)
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>
#endif
#include <torch/csrc/distributed/c10d/Work.hpp>

namespace assay::train {
namespace {

#if TORCH_VERSION_MAJOR >= 2
using Group = c10d::Backend;
#else
using Group = c10d::ProcessGroup;
#endif

// Runs one operation; an exception of libtorch becomes an Error that names the rank at fault.
template <typename F>
auto guarded(Membership& membership, const char* what, const F& operation) {
  try {
    return operation();
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    throw membership.diagnose(std::string(what) + " failed (" + first_line(error) + ")");
  }
}

c10::intrusive_ptr<Group> make_group([[maybe_unused]] const workload::Place& place,
                                     Collectives collectives,
                                     [[maybe_unused]] const Membership& membership,
                                     [[maybe_unused]] std::chrono::milliseconds timeout,
                                     [[maybe_unused]] const std::string& name = {}) {
  if (collectives == Collectives::nccl) {
#if defined(ASSAY_TRAIN_NCCL)
    auto options = c10d::ProcessGroupNCCL::Options::create();
    options->timeout = timeout;
    return c10::make_intrusive<c10d::ProcessGroupNCCL>(
        c10::make_intrusive<c10d::PrefixStore>("nccl" + name, membership.store()), place.rank,
        place.world_size, options);
#else
    throw Error(ErrorKind::environment, "this assay-train was built without NCCL",
                "several ranks on CUDA devices",
                "build it where nccl.h is found, or let the ranks use 'collectives: gloo'");
#endif
  }
#if defined(ASSAY_TRAIN_GLOO)
  auto options = c10d::ProcessGroupGloo::Options::create(timeout);
  const char* interface = std::getenv("GLOO_SOCKET_IFNAME");
  // A machine's own name often resolves to an address that it cannot be reached at.
  if (interface != nullptr && *interface != '\0')
    options->devices.push_back(c10d::ProcessGroupGloo::createDeviceForInterface(interface));
  else if (membership.one_host())
    options->devices.push_back(c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1"));
  else
    options->devices.push_back(c10d::ProcessGroupGloo::createDefaultDevice());
  options->threads = 2;
  return c10::make_intrusive<c10d::ProcessGroupGloo>(
      c10::make_intrusive<c10d::PrefixStore>("gloo" + name, membership.store()), place.rank,
      place.world_size, options);
#else
  throw Error(ErrorKind::environment, "this assay-train was built without Gloo", "several ranks",
              "build it with libgloo-dev installed, or with PyTorch 2.7 or newer");
#endif
}

}  // namespace

class Communicator::Backend {
 public:
  c10::intrusive_ptr<Group> group;
};

Communicator::Communicator(const workload::Place& place, torch::Device device,
                           const Options& options, Membership::OnLost on_lost)
    : place_(place), device_(device), collectives_(options.collectives), timeout_(options.timeout) {
  if (collectives_ == Collectives::automatic)
    collectives_ = device.is_cuda() ? Collectives::nccl : Collectives::gloo;
  if (place.alone()) return;
  if (collectives_ == Collectives::nccl && !device.is_cuda())
    throw Error(ErrorKind::config, "NCCL connects CUDA devices only, and this rank is on the CPU",
                "collectives", "use 'auto' or 'gloo'");
  // Gloo writes to a rank that has gone without asking for no signal: it would end this one before
  // it could say which rank that was.
  ::signal(SIGPIPE, SIG_IGN);
  MembershipOptions members = options.membership;
  members.terms += "device: " + torch::DeviceTypeName(device.type(), true) + "\n";
  membership_ = std::make_shared<Membership>(place, members, std::move(on_lost));
  backend_ = std::make_unique<Backend>();
  backend_->group = guarded(*membership_, "connecting the ranks", [&] {
    return make_group(place, collectives_, *membership_, options.timeout);
  });
}

Communicator::Communicator(const Communicator& all, const std::vector<int>& ranks,
                           const std::string& name)
    : place_(all.place_),
      device_(all.device_),
      collectives_(all.collectives_),
      timeout_(all.timeout_),
      membership_(all.membership_) {
  place_.rank = static_cast<int>(std::find(ranks.begin(), ranks.end(), all.rank()) - ranks.begin());
  place_.world_size = static_cast<int>(ranks.size());
  if (alone()) return;
  backend_ = std::make_unique<Backend>();
  backend_->group = guarded(*membership_, "connecting some of the ranks", [&] {
    return make_group(place_, collectives_, *membership_, timeout_, "." + name);
  });
}

std::unique_ptr<Communicator> Communicator::among(const std::vector<int>& ranks,
                                                  const std::string& name) const {
  return std::unique_ptr<Communicator>(new Communicator(*this, ranks, name));
}

Communicator::~Communicator() = default;

Pending Communicator::all_reduce(const torch::Tensor& tensor) {
  if (alone()) return {};
  return guarded(*membership_, "an all-reduce", [&] {
    std::vector<torch::Tensor> tensors{tensor};
    return Pending(backend_->group->allreduce(tensors, c10d::AllreduceOptions()));
  });
}

void Communicator::wait(const Pending& pending) {
  if (!pending.work()) return;
  guarded(*membership_, "an all-reduce", [&] { pending.work()->wait(); });
}

void Communicator::broadcast(const torch::Tensor& tensor) {
  if (alone()) return;
  guarded(*membership_, "a broadcast", [&] {
    std::vector<torch::Tensor> tensors{tensor};
    backend_->group->broadcast(tensors, c10d::BroadcastOptions())->wait();
  });
}

void Communicator::all_gather(const torch::Tensor& tensor) {
  if (alone()) return;
  const std::int64_t size = tensor.numel() / place_.world_size;
  guarded(*membership_, "an all-gather", [&] {
    std::vector<std::vector<torch::Tensor>> parts(1);
    for (int rank = 0; rank < place_.world_size; ++rank)
      parts[0].push_back(tensor.narrow(0, rank * size, size));
    std::vector<torch::Tensor> mine{parts[0][static_cast<std::size_t>(place_.rank)].clone()};
    backend_->group->allgather(parts, mine, c10d::AllgatherOptions())->wait();
  });
}

std::vector<std::int64_t> Communicator::sum(std::vector<std::int64_t> counts) {
  if (alone()) return counts;
  torch::Tensor tensor = torch::tensor(counts, torch::kLong).to(device_);
  wait(all_reduce(tensor));
  tensor = tensor.cpu();
  std::copy_n(tensor.data_ptr<std::int64_t>(), counts.size(), counts.begin());
  return counts;
}

std::vector<double> Communicator::sum(const std::vector<double>& values) {
  if (alone()) return values;
  torch::Tensor tensor = torch::tensor(values, torch::kDouble).to(device_);
  wait(all_reduce(tensor));
  tensor = tensor.cpu();
  return {tensor.data_ptr<double>(), tensor.data_ptr<double>() + values.size()};
}

void Communicator::barrier() {
  static_cast<void>(sum(std::vector<std::int64_t>{1}));
}

void Communicator::agree(const std::string& what, std::int64_t value) {
  if (alone()) return;
  std::vector<std::int64_t> values(static_cast<std::size_t>(place_.world_size));
  values[static_cast<std::size_t>(place_.rank)] = value;
  values = sum(std::move(values));
  for (std::size_t rank = 1; rank < values.size(); ++rank)
    if (values[rank] != values[0])
      throw Error(ErrorKind::environment,
                  "rank " + std::to_string(rank) + " has " + what + " " +
                      std::to_string(values[rank]) + ", rank 0 has " + std::to_string(values[0]),
                  "rank " + std::to_string(place_.rank),
                  "all ranks must see the same data and checkpoints");
}

void Communicator::report_failure(const std::string& message) noexcept {
  if (membership_) membership_->report_failure(message);
}

}  // namespace assay::train
