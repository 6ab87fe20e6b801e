#include "core/json_access.h"

#include "core/parse_number.h"
#include "core/text.h"

namespace assay {

const Json& member_at(const Json& json, const char* key) {
  static const Json kNone;
  if (!json.is_object()) return kNone;
  const auto found = json.find(key);
  return found == json.end() ? kNone : *found;
}

const Json& list_at(const Json& json, const char* key) {
  static const Json kNone = Json::array();
  const Json& value = member_at(json, key);
  return value.is_array() ? value : kNone;
}

const Json& object_at(const Json& json, const char* key) {
  static const Json kNone = Json::object();
  const Json& value = member_at(json, key);
  return value.is_object() ? value : kNone;
}

std::string text_at(const Json& json, const char* key, std::string_view fallback) {
  const Json& value = member_at(json, key);
  return value.is_string() ? value.get<std::string>() : std::string(fallback);
}

std::string any_text_at(const Json& json, const char* key) {
  const Json& value = member_at(json, key);
  if (value.is_string()) return value.get<std::string>();
  return value.is_null() || value.is_structured() ? std::string() : dump_line(value);
}

std::string text_at_path(const Json& json, std::string_view path) {
  const Json* at = &json;
  for (const std::string_view name : split(path, '/'))
    at = &member_at(*at, std::string(name).c_str());
  return at->is_string() ? at->get<std::string>() : std::string();
}

std::optional<double> number_at(const Json& json, const char* key) {
  const Json& value = member_at(json, key);
  if (!value.is_number() || !std::isfinite(value.get<double>())) return std::nullopt;
  return value.get<double>();
}

double number_at(const Json& json, const char* key, double fallback) {
  return number_at(json, key).value_or(fallback);
}

std::optional<std::int64_t> integer_at(const Json& json, const char* key) {
  const Json& value = member_at(json, key);
  if (value.is_number_integer()) return value.get<std::int64_t>();
  const auto number = number_at(json, key);
  if (!number || std::abs(*number) >= 9e18) return std::nullopt;
  return static_cast<std::int64_t>(*number);
}

std::int64_t integer_at(const Json& json, const char* key, std::int64_t fallback) {
  return integer_at(json, key).value_or(fallback);
}

bool true_at(const Json& json, const char* key) {
  const Json& value = member_at(json, key);
  return value.is_boolean() && value.get<bool>();
}

std::int64_t any_integer_at(const Json& json, const char* key, std::int64_t fallback) {
  if (const auto value = parse_number<std::int64_t>(text_at(json, key))) return *value;
  return integer_at(json, key, fallback);
}

JsonReader::JsonReader(const Json& json, std::string where, std::string advice, ErrorKind kind)
    : json_(json), where_(std::move(where)), advice_(std::move(advice)), kind_(kind) {
  if (!json_.is_object()) fail("expected an object");
}

void JsonReader::fail(const std::string& message) const {
  throw Error(kind_, message, where_, advice_);
}

void JsonReader::wrong(const char* key, const std::string& expected) const {
  fail("'" + std::string(key) + "' should be " + expected);
}

JsonReader JsonReader::inside(const Json& json, const std::string& name) const {
  return {json, where_ + ": " + name, advice_, kind_};
}

const Json& JsonReader::at(const char* key) const {
  const auto found = json_.find(key);
  if (found == json_.end()) fail("'" + std::string(key) + "' is missing");
  return *found;
}

std::string JsonReader::text(const char* key) const {
  if (!at(key).is_string()) wrong(key, "text");
  return at(key).get<std::string>();
}

std::string JsonReader::text_or_empty(const char* key) const {
  return has(key) ? text(key) : std::string();
}

std::vector<std::string> JsonReader::texts(const char* key) const {
  std::vector<std::string> out;
  for (const Json& item : array(key)) {
    if (!item.is_string()) wrong(key, "a list of text");
    out.push_back(item.get<std::string>());
  }
  return out;
}

std::map<std::string, std::string> JsonReader::text_map(const char* key) const {
  std::map<std::string, std::string> out;
  for (const auto& [name, value] : object(key).items()) {
    if (!value.is_string()) wrong(key, "an object of text");
    out.emplace(name, value.get<std::string>());
  }
  return out;
}

double JsonReader::number(const char* key) const {
  if (!at(key).is_number()) wrong(key, "a number");
  return at(key).get<double>();
}

bool JsonReader::boolean(const char* key) const {
  if (!at(key).is_boolean()) wrong(key, "true or false");
  return at(key).get<bool>();
}

const Json& JsonReader::object(const char* key) const {
  if (!at(key).is_object()) wrong(key, "an object");
  return at(key);
}

const Json& JsonReader::array(const char* key) const {
  if (!at(key).is_array()) wrong(key, "a list");
  return at(key);
}

JsonReader JsonReader::fields(const char* key) const {
  return inside(at(key), key);
}

}  // namespace assay
