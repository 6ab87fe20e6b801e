#include "core/cpu_set.h"

#include <algorithm>

#include <fmt/format.h>
#include <sched.h>

#include "core/error.h"
#include "core/parse_number.h"
#include "core/text.h"

namespace assay {

namespace {

constexpr int kMaxCpus = 65536;

}  // namespace

CpuSet::CpuSet(std::vector<int> cpus) : cpus_(std::move(cpus)) {
  std::ranges::sort(cpus_);
  const auto [first, last] = std::ranges::unique(cpus_);
  cpus_.erase(first, last);
}

std::optional<CpuSet> CpuSet::parse(std::string_view text) {
  std::vector<int> cpus;
  if (trim(text).empty()) return CpuSet{};
  for (const auto part : split(trim(text), ',')) {
    const auto dash = part.find('-');
    const auto first = parse_number<int>(trim(part.substr(0, dash)));
    const auto last =
        dash == std::string_view::npos ? first : parse_number<int>(trim(part.substr(dash + 1)));
    if (!first || !last || *first < 0 || *last < *first || *last >= kMaxCpus) return std::nullopt;
    for (int cpu = *first; cpu <= *last; ++cpu) cpus.push_back(cpu);
  }
  return CpuSet(std::move(cpus));
}

CpuSet CpuSet::usable() {
  std::vector<int> cpus;
  cpu_set_t* set = CPU_ALLOC(kMaxCpus);
  const std::size_t bytes = CPU_ALLOC_SIZE(kMaxCpus);
  if (set != nullptr && ::sched_getaffinity(0, bytes, set) == 0)
    for (int cpu = 0; cpu < kMaxCpus; ++cpu)
      if (CPU_ISSET_S(static_cast<std::size_t>(cpu), bytes, set)) cpus.push_back(cpu);
  CPU_FREE(set);
  return CpuSet(std::move(cpus));
}

bool CpuSet::contains(int cpu) const {
  return std::ranges::binary_search(cpus_, cpu);
}

CpuSet CpuSet::without(const CpuSet& other) const {
  CpuSet out;
  for (const int cpu : cpus_)
    if (!other.contains(cpu)) out.cpus_.push_back(cpu);
  return out;
}

void CpuSet::add(const CpuSet& other) {
  std::vector<int> both;
  std::ranges::set_union(cpus_, other.cpus_, std::back_inserter(both));
  cpus_ = std::move(both);
}

std::string CpuSet::text() const {
  std::string out;
  for (std::size_t i = 0; i < cpus_.size();) {
    std::size_t last = i;
    while (last + 1 < cpus_.size() && cpus_[last + 1] == cpus_[last] + 1) ++last;
    out += out.empty() ? "" : ",";
    out += last == i ? fmt::format("{}", cpus_[i]) : fmt::format("{}-{}", cpus_[i], cpus_[last]);
    i = last + 1;
  }
  return out;
}

Json to_json(const CpuSet& cpus) {
  return cpus.text();
}

void decode_json(const Json& json, CpuSet& cpus, const std::string& where) {
  const auto read =
      json.is_string() ? CpuSet::parse(json.get<std::string>()) : std::optional<CpuSet>{};
  if (!read) throw Error(ErrorKind::config, "not a list of CPUs (\"0-3,8\")", where);
  cpus = *read;
}

}  // namespace assay
