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

#include "core/time.h"

namespace assay::train {
namespace {

#if TORCH_VERSION_MAJOR >= 2
using Group = c10d::Backend;
#else
using Group = c10d::ProcessGroup;
#endif

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
  // A machine's own name often resolves to an unreachable address.
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

// The same bytes in a type that every version of Gloo can move, though not compute with.
torch::Tensor movable(const torch::Tensor& tensor, Collectives collectives) {
  return collectives == Collectives::gloo && tensor.scalar_type() == torch::kBFloat16
             ? tensor.detach().view(torch::kHalf)
             : tensor;
}

}  // namespace

class Communicator::Backend {
 public:
  c10::intrusive_ptr<Group> group;
};

// Runs one operation; turns a libtorch exception into an Error that names the rank at fault.
template <typename F>
auto Communicator::guarded(const char* what, const F& operation) {
  struct Clock {
    double& waited;
    std::int64_t begin = mono_now_ns();
    ~Clock() { waited += seconds(Nanoseconds(mono_now_ns() - begin)); }
  } const clock{*waited_};
  try {
    return operation();
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    throw membership_->diagnose(std::string(what) + " failed (" + first_line(error) + ")");
  }
}

Communicator::Communicator(const workload::Place& place, torch::Device device,
                           const Options& options, Membership::OnLost on_lost)
    : place_(place), device_(device), collectives_(options.collectives), timeout_(options.timeout) {
  if (collectives_ == Collectives::automatic)
    collectives_ = device.is_cuda() ? Collectives::nccl : Collectives::gloo;
  if (place.alone()) return;
  if (collectives_ == Collectives::nccl && !device.is_cuda())
    throw Error(ErrorKind::config, "NCCL connects CUDA devices only, and this rank is on the CPU",
                "collectives", "use 'auto' or 'gloo'");
  // Gloo writes to a lost rank without suppressing the signal, which would end this process before
  // it could name that rank.
  ::signal(SIGPIPE, SIG_IGN);
  MembershipOptions members = options.membership;
  members.terms += "device: " + torch::DeviceTypeName(device.type(), true) + "\n";
  membership_ = std::make_shared<Membership>(place, members, std::move(on_lost));
  backend_ = std::make_unique<Backend>();
  backend_->group = guarded("connecting the ranks", [&] {
    return make_group(place, collectives_, *membership_, options.timeout);
  });
}

Communicator::Communicator(const Communicator& all, const std::vector<int>& ranks,
                           const std::string& name)
    : place_(all.place_),
      device_(all.device_),
      collectives_(all.collectives_),
      timeout_(all.timeout_),
      membership_(all.membership_),
      waited_(all.waited_) {
  place_.rank = static_cast<int>(std::find(ranks.begin(), ranks.end(), all.rank()) - ranks.begin());
  place_.world_size = static_cast<int>(ranks.size());
  if (alone()) return;
  backend_ = std::make_unique<Backend>();
  backend_->group = guarded("connecting some of the ranks", [&] {
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
  return guarded("an all-reduce", [&] {
    std::vector<torch::Tensor> tensors{tensor};
    return Pending(backend_->group->allreduce(tensors, c10d::AllreduceOptions()), "an all-reduce");
  });
}

void Communicator::wait(const Pending& pending) {
  if (!pending.work()) return;
  guarded(pending.what(), [&] { pending.work()->wait(); });
}

void Communicator::broadcast(const torch::Tensor& tensor) {
  if (alone()) return;
  guarded("a broadcast", [&] {
    std::vector<torch::Tensor> tensors{movable(tensor, collectives_)};
    backend_->group->broadcast(tensors, c10d::BroadcastOptions())->wait();
  });
}

void Communicator::all_gather(const torch::Tensor& tensor) {
  if (alone()) return;
  const std::int64_t size = tensor.numel() / place_.world_size;
  wait(all_gather(tensor, tensor.narrow(0, place_.rank * size, size).clone()));
}

Pending Communicator::all_gather(const torch::Tensor& all, const torch::Tensor& part) {
  if (alone()) {
    if (all.data_ptr() != part.data_ptr()) all.view(-1).copy_(part.view(-1));
    return {};
  }
  constexpr const char* kWhat = "an all-gather";
  return guarded(kWhat, [&] {
    const torch::Tensor flat = movable(all, collectives_).view(-1);
    std::vector<torch::Tensor> mine{movable(part, collectives_).view(-1)};
    std::vector<std::vector<torch::Tensor>> parts(1);
    for (int rank = 0; rank < place_.world_size; ++rank)
      parts[0].push_back(flat.narrow(0, rank * part.numel(), part.numel()));
    return Pending(backend_->group->allgather(parts, mine, c10d::AllgatherOptions()), kWhat, mine);
  });
}

void Communicator::reduce_scatter(const torch::Tensor& part, const torch::Tensor& all) {
  if (alone()) {
    part.view(-1).copy_(all.view(-1));
    return;
  }
  if (collectives_ == Collectives::nccl) {
    torch::Tensor to = part.view(-1);
    torch::Tensor from = all.view(-1);
    guarded("a reduce-scatter", [&] {
      backend_->group->_reduce_scatter_base(to, from, c10d::ReduceScatterOptions())->wait();
    });
    return;
  }
  // Not every version of Gloo has it: each rank gets its part from all others and adds them, which
  // sends as much.
  const torch::Tensor parts = torch::empty_like(all);
  wait(exchange_parts(parts, all));
  torch::Tensor to = part.view(-1);
  at::sum_out(to, parts.view({place_.world_size, -1}), 0);
}

void Communicator::all_to_all(const torch::Tensor& into, const torch::Tensor& rows,
                              std::vector<std::int64_t> sent, std::vector<std::int64_t> received) {
  if (alone()) {
    into.copy_(rows);
    return;
  }
  guarded("an all-to-all", [&] {
    torch::Tensor to = movable(into, collectives_);
    torch::Tensor from = movable(rows, collectives_);
    backend_->group->alltoall_base(to, from, received, sent, c10d::AllToAllOptions())->wait();
  });
}

Pending Communicator::exchange_parts(const torch::Tensor& into, const torch::Tensor& parts) {
  if (alone()) {
    into.copy_(parts);
    return {};
  }
  constexpr const char* kWhat = "a reduce-scatter";
  return guarded(kWhat, [&] {
    torch::Tensor to = movable(into, collectives_).view({place_.world_size, -1});
    torch::Tensor from = movable(parts, collectives_).view({place_.world_size, -1});
    std::vector<std::int64_t> sent(static_cast<std::size_t>(place_.world_size), 1);
    std::vector<std::int64_t> received = sent;
    return Pending(
        backend_->group->alltoall_base(to, from, received, sent, c10d::AllToAllOptions()), kWhat,
        {to, from});
  });
}

void Communicator::largest(const torch::Tensor& tensor) {
  if (alone()) return;
  guarded("an all-reduce", [&] {
    c10d::AllreduceOptions options;
    options.reduceOp = c10d::ReduceOp::MAX;
    std::vector<torch::Tensor> tensors{tensor};
    backend_->group->allreduce(tensors, options)->wait();
  });
}

Pending Communicator::send(const torch::Tensor& tensor, int rank) {
  constexpr const char* kWhat = "a send to another stage";
  return guarded(kWhat, [&] {
    std::vector<torch::Tensor> tensors{tensor};
    return Pending(backend_->group->send(tensors, rank, 0), kWhat, tensors);
  });
}

void Communicator::receive(const torch::Tensor& tensor, int rank) {
  guarded("a receive from another stage", [&] {
    std::vector<torch::Tensor> tensors{tensor};
    backend_->group->recv(tensors, rank, 0)->wait();
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

std::vector<std::string> Communicator::gather(const std::string& text) {
  if (alone()) return {text};
  const auto ranks = static_cast<std::size_t>(place_.world_size);
  const auto own = static_cast<std::size_t>(place_.rank);
  std::vector<std::int64_t> sizes(ranks);
  sizes[own] = static_cast<std::int64_t>(text.size());
  sizes = sum(std::move(sizes));
  const auto longest = static_cast<std::size_t>(*std::ranges::max_element(sizes));
  std::vector<std::string> texts(ranks);
  if (longest == 0) return texts;
  std::vector<std::int64_t> characters(ranks * longest);  // zero for the others
  for (std::size_t i = 0; i < text.size(); ++i)
    characters[own * longest + i] = static_cast<unsigned char>(text[i]);
  characters = sum(std::move(characters));
  for (std::size_t rank = 0; rank < ranks; ++rank)
    for (std::size_t i = 0; i < static_cast<std::size_t>(sizes[rank]); ++i)
      texts[rank] += static_cast<char>(characters[rank * longest + i]);
  return texts;
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
                  "all ranks must see the same data, weights and checkpoints");
}

void Communicator::report_failure(const std::string& message) noexcept {
  if (membership_) membership_->report_failure(message);
}

}  // namespace assay::train
