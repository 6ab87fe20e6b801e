#include "code/ignore_rules.h"

#include <algorithm>
#include <ranges>
#include <span>

#include <fnmatch.h>

#include "core/text.h"

namespace assay::code {

namespace {

using Names = std::span<const std::string>;

bool matches(Names pattern, Names path) {
  while (!pattern.empty() && pattern.front() != "**") {
    if (path.empty() || ::fnmatch(pattern.front().c_str(), path.front().c_str(), 0) != 0)
      return false;
    pattern = pattern.subspan(1);
    path = path.subspan(1);
  }
  if (pattern.empty()) return path.empty();
  while (!pattern.empty() && pattern.front() == "**") pattern = pattern.subspan(1);
  // "a/**" is what lies in a, not a itself.
  if (pattern.empty()) return !path.empty();
  for (std::size_t skipped = 0; skipped < path.size(); ++skipped)
    if (matches(pattern, path.subspan(skipped))) return true;
  return false;
}

std::vector<std::string> names_of(std::string_view path) {
  std::vector<std::string> names;
  for (const std::string_view part : split(path, '/'))
    if (!part.empty()) names.emplace_back(part);
  return names;
}

// Blanks at the end do not count, unless a backslash stands before them.
std::string_view without_end(std::string_view line) {
  while (line.ends_with(' ') && !line.ends_with("\\ ")) line.remove_suffix(1);
  return line;
}

bool fits_any(const char* name, std::span<const char* const> patterns) {
  return std::ranges::any_of(patterns,
                             [&](const char* pattern) { return ::fnmatch(pattern, name, 0) == 0; });
}

}  // namespace

const std::string_view kUsualRules =
    "/results/\n"
    "/build/\n"
    "/build-*/\n"
    "/cmake-build-*/\n"
    "*.o\n"
    "*.pyc\n"
    "__pycache__/\n"
    ".mypy_cache/\n"
    ".pytest_cache/\n"
    ".ruff_cache/\n"
    ".ipynb_checkpoints/\n"
    "*.egg-info/\n"
    "node_modules/\n"
    ".venv/\n"
    "venv/\n";

void IgnoreRules::add(std::string_view text) {
  for (std::string_view line : split(text, '\n')) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    line = without_end(line);
    if (line.empty() || line.front() == '#') continue;
    Rule rule;
    if (line.front() == '!') {
      rule.takes_back = true;
      line.remove_prefix(1);
    }
    if (line.ends_with('/')) {
      rule.folders_only = true;
      line.remove_suffix(1);
    }
    const bool bound = line.find('/') != std::string_view::npos;
    rule.parts = names_of(line);
    if (rule.parts.empty()) continue;
    if (!bound) rule.parts.insert(rule.parts.begin(), "**");
    rules_.push_back(std::move(rule));
  }
}

std::optional<bool> IgnoreRules::says(const std::string& path, bool is_folder) const {
  const std::vector<std::string> names = names_of(path);
  for (const Rule& rule : rules_ | std::views::reverse)
    if ((is_folder || !rule.folders_only) && matches(rule.parts, names)) return !rule.takes_back;
  return std::nullopt;
}

bool looks_secret(const std::string& path) {
  static constexpr const char* kSecret[] = {".env",
                                            ".env.*",
                                            "*.env",
                                            "id_rsa",
                                            "id_dsa",
                                            "id_ecdsa",
                                            "id_ed25519",
                                            "*.pem",
                                            "*.key",
                                            "*.p12",
                                            "*.pfx",
                                            "*.jks",
                                            "*.keystore",
                                            ".netrc",
                                            "_netrc",
                                            ".pgpass",
                                            ".pypirc",
                                            ".npmrc",
                                            ".htpasswd",
                                            ".git-credentials",
                                            "credentials",
                                            "credentials.*",
                                            "secrets.*",
                                            "secret.*",
                                            "token",
                                            "tokens",
                                            "*.token",
                                            "token.txt",
                                            "tokens.txt",
                                            "*_token",
                                            "*_token.txt",
                                            "kubeconfig",
                                            "service-account*.json"};
  static constexpr const char* kHarmless[] = {"*.example", "*.sample", "*.template", "*.dist",
                                              "*.py",      "*.cpp",    "*.h",        "*.md"};
  static constexpr const char* kFolders[] = {".ssh", ".gnupg", ".aws", ".kube"};
  const std::vector<std::string> names = names_of(path);
  if (names.empty()) return false;
  for (std::size_t i = 0; i + 1 < names.size(); ++i)
    if (fits_any(names[i].c_str(), kFolders)) return true;
  const std::string name = to_lower(names.back());
  return fits_any(name.c_str(), kSecret) && !fits_any(name.c_str(), kHarmless);
}

bool begins_like_a_key(std::string_view head) {
  head = trim(head);
  if (head.starts_with('{')) {
    constexpr std::string_view kKey = "\"secret_key\"";
    const std::size_t at = head.find(kKey);
    return at != std::string_view::npos && trim(head.substr(at + kKey.size())).starts_with(':');
  }
  const std::string_view line = head.substr(0, head.find('\n'));
  return line.starts_with("-----BEGIN ") && line.find("PRIVATE KEY") != std::string_view::npos;
}

}  // namespace assay::code
