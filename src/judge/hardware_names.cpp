#include "judge/hardware_names.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <vector>

#include "core/json_access.h"
#include "core/pattern.h"

namespace assay::judge {

namespace {

// Before the kind: who makes it, and what the family is called.
constexpr auto kMakers = std::to_array<std::string_view>(
    {"nvidia", "tesla",    "geforce", "quadro",    "amd",      "instinct",  "radeon",
     "huawei", "ascend",   "atlas",   "cambricon", "iluvatar", "kunlunxin", "kunlun",
     "metax",  "mthreads", "mtt",     "hygon",     "dcu",      "gpu",       "npu"});
// Behind it: how it is built in.
constexpr auto kForms =
    std::to_array<std::string_view>({"sxm", "pcie", "pci", "nvl", "oam", "hbm"});
// Behind it, and then it is another device.
constexpr auto kVariants =
    std::to_array<std::string_view>({"ai", "s", "x", "p", "ti", "pro", "max", "ultra", "super"});

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

// In lower case.
std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  std::string word;
  for (const char c : lower(text) + " ") {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      word += c;
    } else if (!word.empty()) {
      words.push_back(std::move(word));
      word.clear();
    }
  }
  return words;
}

// "sxm5", "pcie", "hbm2e".
bool is_form(std::string_view rest) {
  for (const std::string_view form : kForms) {
    if (!rest.starts_with(form)) continue;
    const std::string_view after = rest.substr(form.size());
    const auto end = std::min(after.find_first_not_of("0123456789"), after.size());
    if (end == after.size() || after.substr(end) == "e") return true;
  }
  return false;
}

// The kind's word may stand behind its maker's name and before its form: "teslav100", "h100sxm5".
bool is_word(std::string_view word, const std::string& wanted) {
  const auto fits = [&](std::string_view part) {
    if (!part.starts_with(wanted)) return false;
    const std::string_view rest = part.substr(wanted.size());
    return rest.empty() || is_form(rest);
  };
  if (fits(word)) return true;
  return std::ranges::any_of(kMakers, [&](std::string_view maker) {
    return word.starts_with(maker) && fits(word.substr(maker.size()));
  });
}

bool has_words(const std::vector<std::string>& words, const std::vector<std::string>& wanted) {
  if (wanted.empty()) return false;
  for (std::size_t at = 0; at + wanted.size() <= words.size(); ++at) {
    bool all = true;
    for (std::size_t i = 0; i < wanted.size() && all; ++i) all = is_word(words[at + i], wanted[i]);
    const std::size_t next = at + wanted.size();
    if (all &&
        !(next < words.size() && std::ranges::find(kVariants, words[next]) != kVariants.end()))
      return true;
  }
  return false;
}

// What a vendor's file says that its tool calls them, as it does, and without the maker.
bool is_called(const std::string& text, const std::string& pattern) {
  try {
    const Pattern called(pattern);
    if (called.found_in(text)) return true;
    for (std::string word : words_of(text)) {
      for (const std::string_view maker : kMakers)
        if (word.size() > maker.size() && word.starts_with(maker)) word.erase(0, maker.size());
      for (char& c : word) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
      if (called.found_in(word)) return true;
    }
  } catch (
      const PatternError&) {  // the file was made by hand: its names are asked for all the same
  }
  return false;
}

}  // namespace

bool names_kind(const std::string& text, const std::string& kind, const Json& about) {
  if (text == kind) return true;
  const std::string pattern = text_at(about, "device_name");
  if (!pattern.empty() && is_called(text, pattern)) return true;
  return has_words(words_of(text), words_of(kind));
}

std::optional<std::string> kind_named(const std::string& text, const Json& known) {
  if (!known.is_object() || text.empty()) return std::nullopt;
  if (known.contains(text)) return text;
  std::optional<std::string> found;
  for (const auto& [kind, about] : known.items()) {
    if (!names_kind(text, kind, about)) continue;
    if (found) return std::nullopt;
    found = kind;
  }
  return found;
}

}  // namespace assay::judge
