#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/json.h"

namespace assay::automl {

/// One hyper-parameter.
struct Parameter {
  enum class Kind : std::uint8_t { uniform, log_uniform, choice };
  std::string name;
  Kind kind = Kind::uniform;
  double low = 0;             ///< inclusive
  double high = 1;            ///< inclusive
  double step = 0;            ///< quantised: values are low + a multiple of step; 0 for all reals
  std::vector<Json> options;  ///< of choice: text, numbers or booleans
  /// The parameter exists only where the choice `when` (an earlier parameter) has taken one of
  /// these options (indices); empty `when`: always.
  std::string when;
  std::vector<std::size_t> when_options;
};

/// One value per parameter that exists in the point: the number, or the index of the option.
using Point = std::map<std::string, double>;

/// A search space. Checked when it is made: ranges are not empty, names are unique, conditions name
/// earlier choices.
class Space {
 public:
  /// Throws Error of kind config at `where`.
  explicit Space(std::vector<Parameter> parameters, const std::string& where = {});

  /// {"lr": {"type": "loguniform", "low": 1e-4, "high": 1}, "batch": {"type": "uniform", "low": 32,
  ///  "high": 512, "step": 32}, "kernel": {"type": "choice", "options": [3, 5, 7]},
  ///  "momentum": {"type": "uniform", …, "when": {"optimizer": ["sgd"]}}}
  [[nodiscard]] static Space parse(const Json& json, const std::string& where);

  [[nodiscard]] const std::vector<Parameter>& parameters() const noexcept { return parameters_; }
  /// Whether `parameter` exists next to the values that `point` already holds.
  [[nodiscard]] bool exists(const Parameter& parameter, const Point& point) const;
  /// The values by name, options in place of their indices.
  [[nodiscard]] Json values(const Point& point) const;
  /// Throws Error of kind config at `where` when `point` is not one of this space.
  void check(const Point& point, const std::string& where) const;

 private:
  std::vector<Parameter> parameters_;
};

/// Whether the parameter can have the value: one of its options, or a number of its range and
/// steps.
[[nodiscard]] bool holds(const Parameter& parameter, const Json& value);

/// `value` moved into the parameter's range and onto its steps.
[[nodiscard]] double settle(const Parameter& parameter, double value);

}  // namespace assay::automl
