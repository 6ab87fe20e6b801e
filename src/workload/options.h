#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/bounds.h"
#include "config/node.h"

namespace assay::workload {

/// A program's documentation of an option, apart from its values.
struct About {
  About(const char* one_line) : text(one_line) {}
  std::string text;  ///< one line
  /// Whether the ranks of a run may have different values: paths, threads, time limits.
  bool per_rank = false;
};
[[nodiscard]] About per_rank(const char* one_line);

/// An option that a program has read.
struct Option {
  std::string section;
  std::string key;
  std::string value;  ///< in effect, as YAML; the default if not configured
  std::string range;  ///< "1 … 100" or the choices; empty: any text, true or false
  About about;
  std::optional<config::Bounds> bounds;  ///< nothing: any text, true or false
  bool automatic = false;                ///< a number that may also be the word "auto"
};

/// A workload's configuration: a mapping in a JSON or YAML file with optional keys. Reading an
/// option also declares it: name, default, range and a line of documentation are in that call and
/// nowhere else. All errors are of kind config, at file:line:column.
class Options {
 public:
  /// "" means an empty configuration.
  explicit Options(const std::string& path);
  /// For tests, and for configurations that are not in a file.
  static Options from_text(const std::string& text);

  /// Overrides the defaults of the reading calls with a YAML mapping. Must precede them.
  void set_defaults(const std::string& yaml);
  /// Sets an option as if it were in the file.
  void set(const std::string& key, const std::string& value);

  /// Assigns the following options to this section of the documentation.
  void section(std::string name) { section_ = std::move(name); }

  [[nodiscard]] std::int64_t integer(const std::string& key, std::int64_t fallback,
                                     std::int64_t min, std::int64_t max, About about);
  /// The same, but also accepts the word "auto", which yields nothing.
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

  /// Must be called after all keys were read: any other key is unknown.
  void reject_unknown() const;
  /// Whether the configuration itself, not a default, sets the key.
  [[nodiscard]] bool has(const std::string& key) const noexcept;
  [[nodiscard]] const std::vector<Option>& declared() const noexcept { return declared_; }
  /// All options read, including defaults, one `key: value` per line, except those that may differ
  /// between ranks.
  [[nodiscard]] std::string terms() const;
  /// Throws an Error of kind config at the key, or at the file if the key is not set.
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
