#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/bounds.h"
#include "config/node.h"

namespace assay::workload {

/// What a program documents about an option besides its values.
struct About {
  About(const char* one_line) : text(one_line) {}
  std::string text;  ///< one line
  /// Whether the ranks of one run may have different values: places of files, threads, time limits.
  bool per_rank = false;
};
[[nodiscard]] About per_rank(const char* one_line);

/// An option that a program has asked for.
struct Option {
  std::string section;
  std::string key;
  std::string value;  ///< in effect, as YAML: the default when nothing is configured
  std::string range;  ///< "1 … 100" or the choices; empty: any text, true or false
  About about;
  std::optional<config::Bounds> bounds;  ///< nothing: any text, true or false
  bool automatic = false;                ///< a number that may also be the word auto
};

/// A workload's configuration: one mapping in a JSON or YAML file, every key optional. Reading an
/// option is also what declares it: name, default, range and one line of documentation are in
/// that call and nowhere else. All errors are of kind config, at file:line:column.
class Options {
 public:
  /// "" is the empty configuration.
  explicit Options(const std::string& path);
  /// For tests and for configurations that are not in a file.
  static Options from_text(const std::string& text);

  /// What differs from the defaults that the reading calls give: a YAML mapping. Before any of
  /// them.
  void set_defaults(const std::string& yaml);
  /// Sets an option as the file would.
  void set(const std::string& key, const std::string& value);

  /// The following options belong to this section of the documentation.
  void section(std::string name) { section_ = std::move(name); }

  [[nodiscard]] std::int64_t integer(const std::string& key, std::int64_t fallback,
                                     std::int64_t min, std::int64_t max, About about);
  /// The same, or the word auto: nothing then.
  [[nodiscard]] std::optional<std::int64_t> integer_or_auto(const std::string& key,
                                                            std::int64_t fallback, std::int64_t min,
                                                            std::int64_t max, About about);
  [[nodiscard]] double number(const std::string& key, double fallback, double min, double max,
                              About about);
  [[nodiscard]] bool flag(const std::string& key, bool fallback, About about);
  [[nodiscard]] std::string text(const std::string& key, const std::string& fallback, About about);
  [[nodiscard]] std::string choice(const std::string& key, const std::string& fallback,
                                   const std::vector<std::string>& choices, About about);
  [[nodiscard]] std::vector<double> numbers(const std::string& key, std::vector<double> fallback,
                                            double min, double max, About about);

  /// Call when all keys have been read: what has not been asked for is an unknown key.
  void reject_unknown() const;
  /// Whether the configuration itself, not a default, gives the key.
  [[nodiscard]] bool has(const std::string& key) const noexcept;
  [[nodiscard]] const std::vector<Option>& declared() const noexcept { return declared_; }
  /// What was read, defaults included, one `key: value` a line; without what may differ between
  /// ranks.
  [[nodiscard]] std::string terms() const;
  /// Throws an Error of kind config at the key, or at the file when it is not given.
  [[noreturn]] void fail(const std::string& key, const std::string& message,
                         const std::string& advice = {}) const;

 private:
  Options() = default;
  void check_mapping() const;
  [[nodiscard]] const config::Node* find(const std::string& key) const;
  void declare(const std::string& key, std::string value, std::string range, About about,
               std::optional<config::Bounds> bounds = {});

  std::string path_;
  std::string section_;
  config::Node root_;
  config::Node defaults_;
  std::vector<Option> declared_;
};

}  // namespace assay::workload
