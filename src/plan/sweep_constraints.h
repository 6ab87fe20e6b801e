#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "config/node.h"

namespace assay::plan {

/// `where` and `exclude` of a sweep: decide which points of its grid run.
class SweepConstraints {
 public:
  /// The value at a point of the axis or fixed setting with that name; nothing when there is none.
  using ValueOf = std::function<std::optional<config::Node>(const std::string& name)>;

  /// `sweep` is a case's mapping of that name, or null. Throws at the wrong place.
  explicit SweepConstraints(const config::Node& sweep);

  /// Throws at the constraint's place for a name that `value_of` does not know (`names` lists the
  /// known ones), a non-number where a number is needed, and a division by zero.
  [[nodiscard]] bool allows(const ValueOf& value_of, const std::vector<std::string>& names);

  /// Called after all points: throws at the place of an 'exclude' that matches none of them, which
  /// is usually a typing error.
  void require_use() const;

 private:
  struct Excluded {
    config::Node mapping;
    bool fits = false;  // matches a point that was examined
  };
  std::vector<config::Node> where_;  // "batch_size * procs <= 128"
  std::vector<Excluded> exclude_;
};

}  // namespace assay::plan
