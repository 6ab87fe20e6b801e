#include "agent/rank_binding.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <tuple>

#include <fmt/format.h>
#include <linux/mempolicy.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/error.h"
#include "core/files.h"

namespace assay::agent {

namespace {

constexpr std::size_t kMaxNumaNodes = 1024;
constexpr std::size_t kBitsOfWord = 8 * sizeof(unsigned long);

CpuSet list_in(const std::filesystem::path& file) {
  return CpuSet::parse(read_file_or_empty(file)).value_or(CpuSet{});
}

bool set_affinity(const CpuSet& cpus) {
  if (cpus.empty()) return true;
  const auto most = static_cast<std::size_t>(cpus.cpus().back()) + 1;
  cpu_set_t* set = CPU_ALLOC(most);
  const std::size_t bytes = CPU_ALLOC_SIZE(most);
  CPU_ZERO_S(bytes, set);
  for (const int cpu : cpus.cpus()) CPU_SET_S(static_cast<std::size_t>(cpu), bytes, set);
  const bool done = ::sched_setaffinity(0, bytes, set) == 0;
  const int error = errno;
  CPU_FREE(set);
  errno = error;
  return done;
}

std::vector<RankBinding> share_out_cores(const std::vector<CpuPlace>& places, std::size_t ranks) {
  std::vector<CpuSet> cores;
  int last = -1;
  for (const CpuPlace& place : places) {
    if (cores.empty() || place.core != last) cores.emplace_back();
    cores.back().add(CpuSet({place.cpu}));
    last = place.core;
  }
  std::vector<RankBinding> out(ranks);
  for (std::size_t rank = 0; rank < ranks && !cores.empty(); ++rank) {
    if (cores.size() < ranks) {
      out[rank].cpus = cores[rank % cores.size()];
      continue;
    }
    for (std::size_t core = rank * cores.size() / ranks; core < (rank + 1) * cores.size() / ranks;
         ++core)
      out[rank].cpus.add(cores[core]);
  }
  return out;
}

std::vector<RankBinding> share_out_numa(const std::vector<CpuPlace>& places, std::size_t ranks) {
  std::map<int, CpuSet> nodes;
  for (const CpuPlace& place : places) nodes[place.numa].add(CpuSet({place.cpu}));
  const std::vector<std::pair<int, CpuSet>> all(nodes.begin(), nodes.end());
  std::vector<RankBinding> out(ranks);
  for (std::size_t rank = 0; rank < ranks && !all.empty(); ++rank) {
    const auto& [node, cpus] = all[rank * all.size() / ranks];
    out[rank] = {cpus, node};
  }
  return out;
}

std::vector<RankBinding> as_listed(const std::vector<CpuSet>& lists,
                                   const std::vector<CpuPlace>& places, std::size_t ranks) {
  CpuSet usable;
  for (const CpuPlace& place : places) usable.add(CpuSet({place.cpu}));
  if (lists.size() < ranks)
    throw Error(ErrorKind::environment,
                fmt::format("'bind' lists {} for {} ranks", lists.size(), ranks));
  std::vector<RankBinding> out;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    if (const CpuSet absent = lists[rank].without(usable); !absent.empty())
      throw Error(ErrorKind::environment,
                  fmt::format("'bind' names CPUs {} for local rank {}, of which {} cannot be used "
                              "here: usable are {}",
                              lists[rank].text(), rank, absent.text(), usable.text()),
                  {}, "see cpu.usable of the node in system.json, and its cgroup's cpuset");
    out.push_back({lists[rank]});
  }
  return out;
}

}  // namespace

std::vector<CpuPlace> cpu_places(const CpuSet& usable, const std::filesystem::path& root) {
  std::map<int, int> numa_of;
  const std::filesystem::path nodes = root / "sys/devices/system/node";
  for (const int node : list_in(nodes / "online").cpus())
    for (const int cpu : list_in(nodes / fmt::format("node{}/cpulist", node)).cpus())
      numa_of[cpu] = node;
  std::vector<CpuPlace> places;
  for (const int cpu : usable.cpus()) {
    const CpuSet siblings = list_in(
        root / fmt::format("sys/devices/system/cpu/cpu{}/topology/thread_siblings_list", cpu));
    const auto numa = numa_of.find(cpu);
    places.push_back({cpu, siblings.empty() ? cpu : siblings.cpus().front(),
                      numa == numa_of.end() ? 0 : numa->second});
  }
  std::ranges::sort(places, {}, [](const CpuPlace& place) {
    return std::tuple(place.numa, place.core, place.cpu);
  });
  return places;
}

std::vector<RankBinding> bind_ranks(const Bind& bind, const std::vector<CpuPlace>& places,
                                    std::size_t ranks) {
  switch (bind.mode) {
    case BindMode::none:
      return {};
    case BindMode::cores:
      return share_out_cores(places, ranks);
    case BindMode::numa:
      return share_out_numa(places, ranks);
    case BindMode::listed:
      return as_listed(bind.lists, places, ranks);
  }
  return {};
}

BoundHere::BoundHere(const RankBinding& binding) : before_(CpuSet::usable()) {
  if (!set_affinity(binding.cpus))
    throw system_error(ErrorKind::environment, "cannot bind to CPUs " + binding.cpus.text(), {},
                       errno);
  if (!binding.memory) return;
  std::array<unsigned long, kMaxNumaNodes / kBitsOfWord> mask{};
  const auto node = static_cast<std::size_t>(*binding.memory);
  if (node >= kMaxNumaNodes) return;
  mask[node / kBitsOfWord] = 1UL << (node % kBitsOfWord);
  // Preferred, not strict: a rank that needs more than its node has gets slow, not killed.
  memory_ = ::syscall(SYS_set_mempolicy, MPOL_PREFERRED, mask.data(), kMaxNumaNodes) == 0;
}

BoundHere::~BoundHere() {
  if (memory_) (void)::syscall(SYS_set_mempolicy, MPOL_DEFAULT, nullptr, 0);
  (void)set_affinity(before_);
}

}  // namespace assay::agent
