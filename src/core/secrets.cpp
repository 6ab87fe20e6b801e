#include "core/secrets.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "core/text.h"

namespace assay {

namespace {

bool holds_a_secret(std::string_view value) {
  static constexpr std::array<std::string_view, 8> kForms{
      "AKIA", "ghp_", "github_pat_", "hf_", "sk-", "xoxb-", "Bearer ", "-----BEGIN"};
  if (std::ranges::any_of(kForms, [&](std::string_view form) {
        return value.starts_with(form) && value.size() > form.size() + 8;
      }))
    return true;
  const auto scheme = value.find("://");
  if (scheme == std::string_view::npos) return false;
  const std::string_view authority =
      value.substr(scheme + 3, value.find('/', scheme + 3) - scheme - 3);
  const auto at = authority.find('@');
  return at != std::string_view::npos &&
         authority.substr(0, at).find(':') != std::string_view::npos;
}

}  // namespace

bool names_a_secret(std::string_view variable) {
  static constexpr std::array<std::string_view, 6> kWords{"TOKEN",  "SECRET",     "PASSWORD",
                                                          "PASSWD", "CREDENTIAL", "CREDENTIALS"};
  static constexpr std::array<std::string_view, 3> kKeys{"ACCESS_KEY", "API_KEY", "PRIVATE_KEY"};
  std::string upper(variable);
  std::ranges::transform(upper, upper.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  for (const std::string_view word : split(std::string_view(upper), '_'))
    if (std::ranges::find(kWords, word) != kWords.end()) return true;
  return std::ranges::any_of(
      kKeys, [&](std::string_view key) { return upper.find(key) != std::string::npos; });
}

std::string without_secret(std::string_view variable, std::string_view value) {
  if (value.empty()) return {};
  return std::string(names_a_secret(variable) || holds_a_secret(value) ? kHiddenValue : value);
}

}  // namespace assay
