#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "config/node.h"

namespace assay::plan {

/// `where` and `exclude` of a sweep: which points of its grid are run.
class SweepConstraints {
 public:
  /// The value at a point of the axis, or of the fixed setting, of that name; nothing: there is
  /// none.
  using ValueOf = std::function<std::optional<config::Node>(const std::string& name)>;

  /// `sweep` is the mapping of that name in a case, or null. Throws at the place that is wrong.
  explicit SweepConstraints(const config::Node& sweep);

  /// Throws at the constraint's place for a name that `value_of` does not know (`names` are those
  /// that it does), a value that is not a number where one is needed, and a division by zero.
  [[nodiscard]] bool allows(const ValueOf& value_of, const std::vector<std::string>& names);

  /// After all points: throws at the place of an 'exclude' that fits none of them, which is a
  /// typing error more often than not.
  void require_use() const;

 private:
  struct Excluded {
    config::Node mapping;
    bool fits = false;  // a point that was looked at
  };
  std::vector<config::Node> where_;  // "batch_size * procs <= 128"
  std::vector<Excluded> exclude_;
};

}  // namespace assay::plan
