#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/json.h"
#include "core/time.h"

namespace assay::config {

/// The place a document came from. `path` is shown in errors; `display` is stored as a value's
/// origin (it is the same on every machine, unlike an installation's path).
struct Source {
  std::string path;
  std::string display;
  bool is_override = false;  ///< a --set on the command line rather than a file
};

struct Entry;

/// A value in a YAML document that knows where it was written. Immutable and cheap to copy. Every
/// getter throws Error of kind config at "file:line:column" when the value has another type.
class Node {
 public:
  enum class Kind { null, scalar, sequence, mapping };

  Node();  ///< null, without a place
  [[nodiscard]] static Node null(std::shared_ptr<const Source> source, int line, int column);
  /// `plain` means unquoted, so that the text may stand for a number, a truth value or null.
  [[nodiscard]] static Node scalar(std::string text, bool plain,
                                   std::shared_ptr<const Source> source, int line, int column);
  [[nodiscard]] static Node sequence(std::vector<Node> items, std::shared_ptr<const Source> source,
                                     int line, int column);
  [[nodiscard]] static Node mapping(std::vector<Entry> entries,
                                    std::shared_ptr<const Source> source, int line, int column);

  [[nodiscard]] Kind kind() const noexcept;
  [[nodiscard]] bool is_null() const noexcept { return kind() == Kind::null; }
  [[nodiscard]] bool is_scalar() const noexcept { return kind() == Kind::scalar; }
  [[nodiscard]] bool is_sequence() const noexcept { return kind() == Kind::sequence; }
  [[nodiscard]] bool is_mapping() const noexcept { return kind() == Kind::mapping; }
  [[nodiscard]] bool is_plain() const noexcept;
  [[nodiscard]] bool is_override() const noexcept;

  [[nodiscard]] std::string where() const;   ///< "suite.yaml:3:5", for errors
  [[nodiscard]] std::string origin() const;  ///< "suite.yaml:3", for storage
  [[nodiscard]] int line() const noexcept;   ///< 1-based; 0 when not from a file
  [[nodiscard]] int column() const noexcept;
  [[nodiscard]] const std::shared_ptr<const Source>& source() const noexcept;

  /// The scalar as it was written: `no`, `1.10` and `0x10` stay text. Never contains NUL.
  [[nodiscard]] std::string text() const;
  [[nodiscard]] std::string nonempty_text() const;
  [[nodiscard]] std::int64_t integer(
      std::int64_t min = std::numeric_limits<std::int64_t>::min(),
      std::int64_t max = std::numeric_limits<std::int64_t>::max()) const;
  [[nodiscard]] double number() const;  ///< finite
  [[nodiscard]] bool boolean() const;   ///< true/false, yes/no, on/off
  /// Whether it is a plain off, no or false, which disables something that otherwise has a value.
  [[nodiscard]] bool is_off() const noexcept;
  [[nodiscard]] Nanoseconds duration(Nanoseconds min, Nanoseconds max) const;
  [[nodiscard]] std::uint64_t size() const;  ///< bytes
  [[nodiscard]] std::vector<std::string> texts() const;
  [[nodiscard]] const std::vector<Node>& items() const;
  [[nodiscard]] const std::vector<Entry>& entries() const;
  /// Converts any value. Plain true/false, null and numbers (also 1e-4) get their JSON type;
  /// yes/no/on/off stay text; NaN and infinities are errors.
  [[nodiscard]] Json json() const;

  /// The value of `key` in a mapping, or nullptr.
  [[nodiscard]] const Node* find(std::string_view key) const noexcept;
  /// A copy of this mapping (or null) with the value at `path` replaced or added; missing mappings
  /// on the way are created. Throws when a value on the way is not a mapping.
  [[nodiscard]] Node with(const std::vector<std::string>& path, const Node& value) const;

  /// "'fast'", "a list", "a mapping", "nothing".
  [[nodiscard]] std::string describe() const;
  [[noreturn]] void fail(const std::string& message, const std::string& advice = {}) const;

 private:
  struct Data;
  explicit Node(std::shared_ptr<const Data> data) : data_(std::move(data)) {}
  [[nodiscard]] Node with(const std::vector<std::string>& path, std::size_t depth,
                          const Node& value) const;
  std::shared_ptr<const Data> data_;
};

/// A key of a mapping and its value, in file order.
struct Entry {
  std::string key;
  int line = 0;  ///< of the key
  int column = 0;
  Node value;

  [[nodiscard]] std::string where() const;
};

/// "file:line:column", or only the file without a line.
[[nodiscard]] std::string place(const Source* source, int line, int column);

}  // namespace assay::config
