#include "rendezvous/rank_table_reader.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/parse_number.h"
#include "core/text.h"

namespace assay::rendezvous {

using Severity = Finding::Severity;

namespace {

std::string shown(const Json& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return "a list";
  return ellipsize(printable(dump_line(value)), 60);
}

std::optional<int> decimal(std::string_view text, int max) {
  return text.starts_with('-') ? std::nullopt : parse_number<int>(text, 0, max);
}

}  // namespace

bool Cursor::has(const char* key) const {
  return json_->contains(key);
}

bool Cursor::has_list(const char* key) const {
  return has(key) && (*json_)[key].is_array();
}

std::string Cursor::path_of(std::string_view key) const {
  if (key.empty()) return path_;
  return path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key);
}

std::string Cursor::text(const char* key) const {
  const auto found = json_->find(key);
  if (found == json_->end()) {
    invalid(key, "is missing");
    return {};
  }
  if (found->is_string()) return found->get<std::string>();
  if (found->is_number_integer()) {
    findings_->push_back({Severity::repairable, path_of(key),
                          fmt::format("is the number {}, HCCL wants text", shown(*found)),
                          fmt::format("write \"{}\" in quotes", shown(*found))});
    return dump_line(*found);
  }
  invalid(key, "must be text, got " + shown(*found));
  return {};
}

std::string Cursor::text_or_empty(const char* key) const {
  return has(key) ? text(key) : std::string();
}

std::optional<int> Cursor::number(const char* key, int max) const {
  const std::size_t before = findings_->size();
  const std::string value = text(key);
  if (findings_->size() > before && findings_->back().severity == Severity::invalid)
    return std::nullopt;
  const auto number = decimal(value, max);
  if (!number)
    invalid(key, fmt::format("must be a whole number from 0 to {}, got \"{}\"", max,
                             ellipsize(printable(value), 40)));
  return number;
}

std::vector<Cursor> Cursor::objects(const char* key) const {
  std::vector<Cursor> out;
  const auto found = json_->find(key);
  if (found == json_->end()) {
    invalid(key, "is missing");
    return out;
  }
  if (!found->is_array()) {
    invalid(key, "must be a list, got " + shown(*found));
    return out;
  }
  out.reserve(found->size());
  std::size_t index = 0;
  for (const Json& item : *found) {
    Cursor next(item, fmt::format("{}[{}]", path_of(key), index++), *findings_);
    if (item.is_object())
      out.push_back(std::move(next));
    else
      next.invalid({}, "must be an object, got " + shown(item));
  }
  return out;
}

std::vector<std::string> Cursor::texts(const char* key) const {
  std::vector<std::string> out;
  const auto found = json_->find(key);
  if (found == json_->end() || !found->is_array()) {
    invalid(key, found == json_->end() ? "is missing" : "must be a list, got " + shown(*found));
    return out;
  }
  for (const Json& item : *found) {
    if (item.is_string())
      out.push_back(item.get<std::string>());
    else
      invalid(fmt::format("{}[{}]", key, out.size()), "must be text, got " + shown(item));
  }
  return out;
}

void Cursor::expect_count(const char* key, std::size_t actual, const char* of,
                          bool required) const {
  if (!has(key) && !required) return;
  const auto count = number(key);
  if (!count || static_cast<std::size_t>(*count) == actual) return;
  invalid(key, fmt::format("is {}, but there are {} {}", *count, actual, of),
          "the file may be cut short, or was changed by hand in one place only");
}

void Cursor::expect_size(const char* key, const char* list, const char* of, bool required) const {
  if (has_list(list)) expect_count(key, (*json_)[list].size(), of, required);
}

void Cursor::note_unknown(std::initializer_list<std::string_view> known) const {
  for (const auto& [key, value] : json_->items()) {
    if (std::ranges::find(known, key) != known.end()) continue;
    const std::vector<std::string> names(known.begin(), known.end());
    note(ellipsize(printable(key), 60),
         "is not a key that HCCL knows here" +
             (key.size() <= 60 ? did_you_mean(key, names) : std::string()));
  }
}

void Cursor::invalid(std::string_view key, std::string message, std::string advice) const {
  findings_->push_back({Severity::invalid, path_of(key), std::move(message), std::move(advice)});
}

void Cursor::note(std::string_view key, std::string message, std::string advice) const {
  findings_->push_back({Severity::note, path_of(key), std::move(message), std::move(advice)});
}

bool read_device(const Cursor& cursor, TableDevice& device) {
  const auto id = cursor.number("device_id", 65535);
  if (id) device.id = *id;
  const std::string ips = cursor.text_or_empty("device_ip");
  if (!ips.empty())
    for (const std::string_view ip : split(ips, ',')) device.ips.emplace_back(trim(ip));
  return id.has_value();
}

}  // namespace assay::rendezvous
