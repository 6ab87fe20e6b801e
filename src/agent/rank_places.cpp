#include "agent/rank_places.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>

#include "core/files.h"
#include "core/parse_number.h"
#include "core/process_tree.h"
#include "core/text.h"
#include "core/time.h"

namespace assay::agent {

namespace {

constexpr std::int64_t kBetweenLooks = 1'000'000'000;
constexpr std::int64_t kLooksCostAtMost = 500;  // looks take at most 1/500 of the time
// `processor` is field 39 of /proc/PID/stat; the text after the name begins with field 3.
constexpr std::size_t kProcessor = 39 - 3;

std::optional<int> processor_of(const std::string& stat) {
  const auto name_end = stat.rfind(')');
  if (name_end == std::string::npos || name_end + 2 >= stat.size()) return std::nullopt;
  const auto fields = split(std::string_view(stat).substr(name_end + 2), ' ');
  if (fields.size() <= kProcessor) return std::nullopt;
  return parse_number<int>(fields[kProcessor], 0);
}

}  // namespace

CpuSet last_cpus(pid_t pid) {
  std::vector<int> cpus;
  std::error_code ec;
  const std::filesystem::path tasks = "/proc/" + std::to_string(pid) + "/task";
  for (std::filesystem::directory_iterator task(tasks, ec), end; !ec && task != end;
       task.increment(ec))
    if (const auto cpu = processor_of(read_file_or_empty(task->path() / "stat")))
      cpus.push_back(*cpu);
  return CpuSet(std::move(cpus));
}

void RankPlaces::look(std::int64_t mono_ns, const std::map<int, pid_t>& ranks) {
  if (mono_ns < next_ns_) return;
  for (const auto& [rank, pid] : ranks) {
    CpuSet& seen = seen_[rank];
    seen.add(last_cpus(pid));
    for (const pid_t below : descendants(pid)) seen.add(last_cpus(below));
  }
  const std::int64_t took = mono_now_ns() - mono_ns;
  next_ns_ = mono_ns + std::max(kBetweenLooks, took * kLooksCostAtMost);
}

CpuSet RankPlaces::seen(int rank) const {
  const auto found = seen_.find(rank);
  return found == seen_.end() ? CpuSet{} : found->second;
}

}  // namespace assay::agent
