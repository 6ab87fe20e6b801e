#include "config/node.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "core/text.h"
#include "core/units.h"

namespace assay::config {

struct Node::Data {
  Kind kind = Kind::null;
  bool plain = true;
  int line = 0;
  int column = 0;
  std::shared_ptr<const Source> source;
  std::string text;
  std::vector<Node> items;
  std::vector<Entry> entries;
};

namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool all_digits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, is_digit);
}

enum class Shape { not_a_number, integer, octal_trap, too_large, real, not_finite };

struct Number {
  Shape shape = Shape::not_a_number;
  std::int64_t integer = 0;
  double real = 0;
};

// Accepts YAML 1.2's numbers, and 1e-4, which is text in YAML 1.1.
Number read_number(std::string_view text) {
  static const std::vector<std::string> kNotFinite{".nan", ".inf", "+.inf", "-.inf"};
  if (std::ranges::find(kNotFinite, to_lower(text)) != kNotFinite.end())
    return {Shape::not_finite, 0, 0};
  std::string_view body = text;
  bool negative = false;
  if (!body.empty() && (body[0] == '+' || body[0] == '-')) {
    negative = body[0] == '-';
    body.remove_prefix(1);
  }
  const auto from = [](std::string_view digits, int base) {
    std::int64_t value = 0;
    const char* end = digits.data() + digits.size();
    const auto [stop, ec] = std::from_chars(digits.data(), end, value, base);
    if (ec == std::errc::result_out_of_range) return Number{Shape::too_large, 0, 0};
    if (ec != std::errc{} || stop != end) return Number{};
    return Number{Shape::integer, value, static_cast<double>(value)};
  };
  if (all_digits(body)) {
    if (body.size() > 1 && body[0] == '0') return {Shape::octal_trap, 0, 0};
    const std::string digits = (negative ? "-" : "") + std::string(body);
    return from(digits, 10);
  }
  if (body.size() > 2 && body == text && body[2] != '-' && body[2] != '+') {
    if (body.starts_with("0x")) return from(body.substr(2), 16);
    if (body.starts_with("0o")) return from(body.substr(2), 8);
  }
  // Requires the beginning of a number: from_chars would also read "inf" and "nan".
  const bool starts = !body.empty() && (is_digit(body[0]) ||
                                        (body[0] == '.' && body.size() > 1 && is_digit(body[1])));
  if (!starts) return {};
  double value = 0;
  const char* end = body.data() + body.size();
  const auto [stop, ec] = std::from_chars(body.data(), end, value);
  if (stop != end) return {};
  if (ec == std::errc::result_out_of_range) {
    // A number that is too small reads as zero; one that is too large is refused.
    const auto exponent = body.find_first_of("eE");
    const bool tiny = exponent != std::string_view::npos && body.substr(exponent + 1, 1) == "-";
    return tiny ? Number{Shape::real, 0, 0} : Number{Shape::not_finite, 0, 0};
  }
  if (ec != std::errc{}) return {};
  return {Shape::real, 0, negative ? -value : value};
}

std::optional<bool> read_boolean(std::string_view text) {
  const std::string word = to_lower(text);
  if (word == "true" || word == "yes" || word == "on") return true;
  if (word == "false" || word == "no" || word == "off") return false;
  return std::nullopt;
}

std::string shown(std::string_view text) {
  return "'" + printable(ellipsize(text, 60)) + "'";
}

}  // namespace

std::string place(const Source* source, int line, int column) {
  if (source == nullptr) return {};
  if (line <= 0) return source->path;
  return source->path + ":" + std::to_string(line) + ":" + std::to_string(column);
}

std::string Entry::where() const {
  return place(value.source().get(), line, column);
}

Node::Node() : data_(std::make_shared<Data>()) {}

Node Node::null(std::shared_ptr<const Source> source, int line, int column) {
  auto data = std::make_shared<Data>();
  data->line = line;
  data->column = column;
  data->source = std::move(source);
  return Node(std::move(data));
}

Node Node::scalar(std::string text, bool plain, std::shared_ptr<const Source> source, int line,
                  int column) {
  auto data = std::make_shared<Data>();
  data->kind = Kind::scalar;
  data->plain = plain;
  data->line = line;
  data->column = column;
  data->source = std::move(source);
  data->text = std::move(text);
  return Node(std::move(data));
}

Node Node::sequence(std::vector<Node> items, std::shared_ptr<const Source> source, int line,
                    int column) {
  auto data = std::make_shared<Data>();
  data->kind = Kind::sequence;
  data->line = line;
  data->column = column;
  data->source = std::move(source);
  data->items = std::move(items);
  return Node(std::move(data));
}

Node Node::mapping(std::vector<Entry> entries, std::shared_ptr<const Source> source, int line,
                   int column) {
  auto data = std::make_shared<Data>();
  data->kind = Kind::mapping;
  data->line = line;
  data->column = column;
  data->source = std::move(source);
  data->entries = std::move(entries);
  return Node(std::move(data));
}

Node::Kind Node::kind() const noexcept {
  return data_->kind;
}

bool Node::is_plain() const noexcept {
  return data_->kind == Kind::scalar && data_->plain;
}

bool Node::is_override() const noexcept {
  return data_->source != nullptr && data_->source->is_override;
}

std::string Node::where() const {
  return place(data_->source.get(), data_->line, data_->column);
}

std::string Node::origin() const {
  if (data_->source == nullptr) return {};
  const std::string& name =
      data_->source->display.empty() ? data_->source->path : data_->source->display;
  return data_->line <= 0 ? name : name + ":" + std::to_string(data_->line);
}

int Node::line() const noexcept {
  return data_->line;
}

int Node::column() const noexcept {
  return data_->column;
}

const std::shared_ptr<const Source>& Node::source() const noexcept {
  return data_->source;
}

std::string Node::describe() const {
  switch (kind()) {
    case Kind::null:
      return "nothing";
    case Kind::sequence:
      return "a list";
    case Kind::mapping:
      return "a mapping";
    case Kind::scalar:
      break;
  }
  return shown(data_->text);
}

void Node::fail(const std::string& message, const std::string& advice) const {
  throw Error(ErrorKind::config, message, where(), advice);
}

std::string Node::text() const {
  if (!is_scalar()) fail("expected text, got " + describe());
  if (data_->text.find('\0') != std::string::npos) fail("text must not contain a NUL character");
  return data_->text;
}

std::string Node::nonempty_text() const {
  std::string value = text();
  if (trim(value).empty()) fail("expected text, got an empty string");
  return value;
}

std::int64_t Node::integer(std::int64_t min, std::int64_t max) const {
  std::string expected = "expected a whole number";
  if (min != std::numeric_limits<std::int64_t>::min() &&
      max != std::numeric_limits<std::int64_t>::max())
    expected += " from " + std::to_string(min) + " to " + std::to_string(max);
  else if (min != std::numeric_limits<std::int64_t>::min())
    expected += " of at least " + std::to_string(min);
  const Number number = is_plain() ? read_number(data_->text) : Number{};
  if (number.shape == Shape::octal_trap)
    fail(expected + ", got " + describe(),
         "a leading zero means octal to some readers: leave it out, or write 0o for octal");
  if (number.shape != Shape::integer || number.integer < min || number.integer > max)
    fail(expected + ", got " + describe() + (is_scalar() && !is_plain() ? " (quoted: text)" : ""));
  return number.integer;
}

double Node::number() const {
  const Number number = is_plain() ? read_number(data_->text) : Number{};
  if (number.shape == Shape::octal_trap)
    fail("expected a number, got " + describe(), "leave out the leading zero");
  if (number.shape != Shape::integer && number.shape != Shape::real)
    fail("expected a finite number, got " + describe() +
         (is_scalar() && !is_plain() ? " (quoted: text)" : ""));
  return number.real;
}

bool Node::boolean() const {
  const auto value = is_plain() ? read_boolean(data_->text) : std::nullopt;
  if (!value) fail("expected true or false, got " + describe());
  return *value;
}

bool Node::is_off() const noexcept {
  return is_plain() && read_boolean(data_->text) == false;
}

Nanoseconds Node::duration(Nanoseconds min, Nanoseconds max) const {
  const auto value = is_scalar() ? parse_duration(data_->text) : std::nullopt;
  if (!value) fail("expected a duration such as 1s, got " + describe(), "units: ms, s, m, h, d");
  if (*value < min || *value > max)
    fail("expected a duration from " + duration_text(min) + " to " + duration_text(max) + ", got " +
         describe());
  return *value;
}

std::uint64_t Node::size() const {
  const auto value = is_scalar() ? parse_size(data_->text) : std::nullopt;
  if (!value) fail("expected a size such as 64M, got " + describe(), "units: K, M, G, T");
  return *value;
}

const std::vector<Node>& Node::items() const {
  if (!is_sequence()) fail("expected a list, got " + describe());
  return data_->items;
}

const std::vector<Entry>& Node::entries() const {
  if (!is_mapping()) fail("expected a mapping, got " + describe());
  return data_->entries;
}

std::vector<std::string> Node::texts() const {
  std::vector<std::string> out;
  for (const Node& item : items()) out.push_back(item.text());
  return out;
}

Json Node::json() const {
  switch (kind()) {
    case Kind::null:
      return nullptr;
    case Kind::sequence: {
      Json out = Json::array();
      for (const Node& item : data_->items) out.push_back(item.json());
      return out;
    }
    case Kind::mapping: {
      Json out = Json::object();
      for (const Entry& entry : data_->entries) out[entry.key] = entry.value.json();
      return out;
    }
    case Kind::scalar:
      break;
  }
  if (!data_->plain) return text();
  const std::string word = to_lower(data_->text);
  if (word == "true") return true;
  if (word == "false") return false;
  const Number number = read_number(data_->text);
  switch (number.shape) {
    case Shape::integer:
      return number.integer;
    case Shape::real:
      return number.real;
    case Shape::not_finite:
      fail("expected a finite number, got " + describe(), "quote it if it is meant as text");
    case Shape::too_large:
      fail("the whole number " + describe() + " does not fit in 64 bits",
           "quote it if it is meant as text");
    case Shape::octal_trap:
      fail("is " + describe() + " decimal or octal?",
           "leave out the leading zero, or quote it if it is meant as text");
    case Shape::not_a_number:
      break;
  }
  return text();
}

const Node* Node::find(std::string_view key) const noexcept {
  const auto found = std::ranges::find(data_->entries, key, &Entry::key);
  return found == data_->entries.end() ? nullptr : &found->value;
}

Node Node::with(const std::vector<std::string>& path, const Node& value) const {
  return with(path, 0, value);
}

Node Node::with(const std::vector<std::string>& path, std::size_t depth, const Node& value) const {
  if (depth == path.size()) return value;
  if (!is_mapping() && !is_null())
    value.fail("'" + path[depth] + "' cannot be set: the value there is " + describe() +
               ", not a mapping");
  std::vector<Entry> entries = data_->entries;
  const auto found = std::ranges::find(entries, path[depth], &Entry::key);
  if (found != entries.end())
    found->value = found->value.with(path, depth + 1, value);
  else
    entries.push_back({path[depth], value.line(), value.column(),
                       Node::null(value.source(), 0, 0).with(path, depth + 1, value)});
  return mapping(std::move(entries), is_null() ? value.source() : data_->source, data_->line,
                 data_->column);
}

}  // namespace assay::config
