#include "rest/shown_submission.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include "config/yaml.h"
#include "core/error.h"
#include "core/secrets.h"
#include "core/text.h"

namespace assay::rest {

namespace {

constexpr std::string_view kHiddenSuite = "# (hidden)\n";
/// A shorter value stands for other things, too: it is hidden where it is set alone.
constexpr std::size_t kTelling = 8;

/// `key`: under which the scalar is, or the list in which it is.
using Found =
    std::function<void(const std::string& path, const std::string& key, const config::Node& value)>;

void each_setting(const config::Node& node, const std::string& path, const std::string& key,
                  const Found& found) {
  if (node.is_mapping()) {
    for (const config::Entry& entry : node.entries())
      each_setting(entry.value, path.empty() ? entry.key : path + "." + entry.key, entry.key,
                   found);
  } else if (node.is_sequence()) {
    for (std::size_t i = 0; i < node.items().size(); ++i)
      each_setting(node.items()[i], path + "[" + std::to_string(i) + "]", key, found);
  } else if (node.is_scalar()) {
    found(path, key, node);
  }
}

/// False: the suite cannot be read.
bool each_setting(const std::string& suite, const Found& found) {
  try {
    each_setting(config::parse_yaml(suite, config::Source{"suite.yaml", "suite.yaml", false}), "",
                 "", found);
  } catch (const Error&) {
    return false;
  }
  return true;
}

bool is_secret(const std::string& name, const std::string& value) {
  return without_secret(name, value) != value;
}

void replace_all(std::string& text, const std::string& what) {
  if (what.size() < kTelling) return;
  for (auto at = text.find(what); at != std::string::npos;
       at = text.find(what, at + kHiddenValue.size()))
    text.replace(at, what.size(), kHiddenValue);
}

std::size_t offset_of(const std::string& text, int line, int column) {
  std::size_t at = 0;
  for (int i = 1; i < line && at < text.size(); ++i) {
    const auto end = text.find('\n', at);
    at = end == std::string::npos ? text.size() : end + 1;
  }
  return std::min(at + static_cast<std::size_t>(std::max(column - 1, 0)), text.size());
}

std::size_t after_anchor(const std::string& text, std::size_t at) {
  if (at >= text.size() || text[at] != '&') return at;
  at = text.find_first_of(" \n", at);
  return std::min(text.find_first_not_of(" \n", at), text.size());
}

/// How many bytes of the text the scalar that begins there takes; nothing: it is written in a way
/// that is not taken apart here.
std::optional<std::size_t> written_length(const std::string& text, std::size_t at,
                                          const std::string& value) {
  if (at >= text.size()) return std::nullopt;
  const char quote = text[at];
  if (quote != '"' && quote != '\'')
    return text.compare(at, value.size(), value) == 0 ? std::optional(value.size()) : std::nullopt;
  for (std::size_t i = at + 1; i < text.size(); ++i) {
    if (quote == '"' && text[i] == '\\') {
      ++i;
    } else if (text[i] == quote) {
      if (quote == '"' || i + 1 >= text.size() || text[i + 1] != quote) return i + 1 - at;
      ++i;
    }
  }
  return std::nullopt;
}

std::string suite_without_secrets(const std::string& suite) {
  std::vector<std::pair<std::size_t, std::string>> places;
  const auto find = [&](const std::string& text) {
    places.clear();
    return each_setting(text, [&](const std::string&, const std::string& key, const auto& value) {
      if (is_secret(key, value.text()))
        places.emplace_back(offset_of(text, value.line(), value.column()), value.text());
    });
  };
  if (!find(suite)) return std::string(kHiddenSuite);
  if (places.empty()) return suite;
  std::string out = suite;
  // From the end, so that places before stay where they are; an alias has its anchor's place.
  std::ranges::sort(places, std::greater<>());
  places.erase(std::ranges::unique(places).begin(), places.end());
  for (const auto& [at, value] : places) {
    const std::size_t begin = after_anchor(out, at);
    const auto length = written_length(out, begin, value);
    if (!length) return std::string(kHiddenSuite);
    out.replace(begin, *length, kHiddenValue);
  }
  for (const auto& place : places) replace_all(out, place.second);
  return find(out) && places.empty() ? out : std::string(kHiddenSuite);
}

}  // namespace

std::vector<std::string> secrets_of(const jobs::Submission& submission) {
  std::vector<std::string> out;
  for (const auto& [name, value] : submission.env)
    if (is_secret(name, value)) out.push_back("env." + name);
  if (!submission.suite.empty())
    (void)each_setting(submission.suite,
                       [&](const std::string& path, const std::string& key, const auto& value) {
                         if (is_secret(key, value.text())) out.push_back(path);
                       });
  return out;
}

jobs::Submission without_secrets(jobs::Submission submission) {
  std::vector<std::string> values;
  for (auto& [name, value] : submission.env) {
    if (!is_secret(name, value)) continue;
    values.push_back(std::exchange(value, std::string(kHiddenValue)));
  }
  for (const std::string& value : values) replace_all(submission.command, value);
  if (!submission.suite.empty()) submission.suite = suite_without_secrets(submission.suite);
  return submission;
}

std::vector<jobs::Problem> hidden_values(const jobs::Submission& submission) {
  constexpr const char* kWords = "the value was hidden from you: give your own";
  std::vector<jobs::Problem> out;
  for (const auto& [name, value] : submission.env)
    if (value == kHiddenValue) out.push_back({"env." + name, kWords});
  bool in_suite = submission.suite == kHiddenSuite;
  if (!submission.suite.empty())
    (void)each_setting(submission.suite,
                       [&](const std::string&, const std::string&, const auto& value) {
                         in_suite |= value.text() == kHiddenValue;
                       });
  if (in_suite) out.push_back({"suite", kWords});
  return out;
}

}  // namespace assay::rest
