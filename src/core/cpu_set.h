#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/enum_names.h"
#include "core/json.h"

namespace assay {

/// A set of CPU numbers as the kernel counts them. Its text and JSON form is "0-3,8".
class CpuSet {
 public:
  CpuSet() = default;
  explicit CpuSet(std::vector<int> cpus);
  /// Returns nothing for text that is not such a list; empty text is an empty set.
  [[nodiscard]] static std::optional<CpuSet> parse(std::string_view text);
  /// The CPUs that this thread may run on.
  [[nodiscard]] static CpuSet usable();

  /// In ascending order.
  [[nodiscard]] const std::vector<int>& cpus() const& noexcept { return cpus_; }
  [[nodiscard]] std::vector<int> cpus() && noexcept { return std::move(cpus_); }
  [[nodiscard]] bool empty() const noexcept { return cpus_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return cpus_.size(); }
  [[nodiscard]] bool contains(int cpu) const;
  /// The CPUs that are not in `other`.
  [[nodiscard]] CpuSet without(const CpuSet& other) const;
  void add(const CpuSet& other);
  [[nodiscard]] std::string text() const;
  bool operator==(const CpuSet&) const = default;

 private:
  std::vector<int> cpus_;
};

[[nodiscard]] Json to_json(const CpuSet& cpus);
/// Throws Error of kind config at `where`.
void decode_json(const Json& json, CpuSet& cpus, const std::string& where);

/// How the ranks of a node are bound to its CPUs.
enum class BindMode {
  none,    ///< wherever the kernel puts them
  cores,   ///< the cores are divided evenly; each rank gets neighboring ones
  numa,    ///< each rank gets all CPUs of one NUMA node and prefers its memory
  listed,  ///< as the suite lists them
};

constexpr auto enum_names(BindMode /*mode*/) {
  using enum BindMode;
  return std::to_array<EnumName<BindMode>>(
      {{none, "none"}, {cores, "cores"}, {numa, "numa"}, {listed, "listed"}});
}

struct Bind {
  BindMode mode = BindMode::none;
  std::vector<CpuSet> lists{};  ///< for `listed`, by local rank

  bool operator==(const Bind&) const = default;
  static void fields(auto& self, auto&& field) {
    field("mode", self.mode);
    field.optional("lists", self.lists);
  }
};

}  // namespace assay
