#include "config/mapping.h"

#include <algorithm>

#include "core/text.h"

namespace assay::config {

namespace {

// Quotes a key; words such as "a case" are not quoted.
std::string named(std::string what) {
  return what.find(' ') == std::string::npos ? "'" + what + "'" : what;
}

}  // namespace

Mapping::Mapping(Node node, std::string what, const std::vector<std::string>& keys)
    : node_(std::move(node)), what_(named(std::move(what))) {
  if (!node_.is_mapping())
    node_.fail("expected a mapping for " + what_ + ", got " + node_.describe(),
               "its keys are: " + join(keys, ", "));
  for (const Entry& entry : node_.entries()) {
    if (std::ranges::find(keys, entry.key) != keys.end()) continue;
    std::string advice = "keys of " + what_ + ": " + join(keys, ", ");
    if (entry.key == "<<") advice = "merge keys are not supported; " + advice;
    throw Error(ErrorKind::config,
                "unknown key '" + printable(ellipsize(entry.key, 60)) + "'" +
                    (entry.key.size() <= 60 ? did_you_mean(entry.key, keys) : std::string()),
                entry.where(), advice);
  }
}

const Node* Mapping::find(std::string_view key) const noexcept {
  const Node* value = node_.find(key);
  return value == nullptr || value->is_null() ? nullptr : value;
}

const Node& Mapping::at(std::string_view key) const {
  const Node* value = find(key);
  if (value == nullptr) node_.fail(what_ + " needs '" + std::string(key) + "'");
  return *value;
}

std::string Mapping::text_or(std::string_view key, std::string fallback) const {
  const Node* value = find(key);
  return value == nullptr ? std::move(fallback) : value->text();
}

std::vector<std::string> Mapping::texts_or_empty(std::string_view key) const {
  const Node* value = find(key);
  return value == nullptr ? std::vector<std::string>{} : value->texts();
}

std::string Mapping::choice(std::string_view key, const std::vector<std::string>& choices) const {
  const Node* value = find(key);
  return value == nullptr ? choices.front() : config::choice(*value, choices);
}

std::string choice(const Node& node, const std::vector<std::string>& choices) {
  std::string word = node.text();
  if (std::ranges::find(choices, word) == choices.end())
    node.fail("expected one of " + join(choices, ", ") + ", got '" +
              printable(ellipsize(word, 60)) + "'" +
              (word.size() <= 60 ? did_you_mean(word, choices) : std::string()));
  return word;
}

void require_known(const Node& node, std::string_view what, const std::string& word,
                   const std::vector<std::string>& known) {
  if (std::ranges::find(known, word) != known.end()) return;
  node.fail("unknown " + std::string(what) + " '" + printable(ellipsize(word, 60)) + "'" +
                (word.size() <= 60 ? did_you_mean(word, known) : std::string()),
            known.empty() ? "none is known" : "known: " + join(known, ", "));
}

}  // namespace assay::config
