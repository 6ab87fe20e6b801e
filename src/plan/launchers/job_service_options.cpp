#include "plan/launchers/job_service_options.h"

#include <algorithm>
#include <cctype>
#include <string_view>

#include "core/address.h"

namespace assay::plan {

using config::Mapping;
using config::Node;

namespace {

constexpr std::size_t kMaxJobName = 24;  // the run's id follows; 64 in all

/// A path relative to the file that names it.
std::string read_folder(const Node& node) {
  const std::filesystem::path path = node.nonempty_text();
  if (path.is_absolute() || node.is_override() || !node.source())
    return std::filesystem::absolute(path).lexically_normal().string();
  const auto base = std::filesystem::absolute(node.source()->path).parent_path();
  return (base / path).lexically_normal().string();
}

}  // namespace

std::string read_word(const Node& node, std::string_view also) {
  std::string word = node.nonempty_text();
  const bool odd = std::ranges::any_of(word, [&](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) == 0 && also.find(c) == std::string::npos;
  });
  if (odd)
    node.fail("must be letters, digits and '" + std::string(also) + "', got " + node.describe());
  return word;
}

std::string read_endpoint(const Node& node) {
  std::string url = node.nonempty_text();
  while (url.ends_with('/')) url.pop_back();
  constexpr std::string_view kHttp = "http://";
  std::string_view host = url;
  host.remove_prefix(std::min(kHttp.size(), host.size()));
  host = host.substr(0, host.find_first_of("/?#"));
  const bool here = url.starts_with(kHttp) && is_this_machine(host);
  if (!url.starts_with("https://") && !here)
    node.fail("an endpoint must begin with https:// (http:// only on this machine), got " +
              node.describe());
  return url;
}

const std::vector<std::string>& JobServiceOptions::shared_keys() {
  static const std::vector<std::string> all{"bucket",   "prefix",      "code",
                                            "job_name", "credentials", "wait",
                                            "start",    "poll",        "stop_on_interrupt"};
  return all;
}

void JobServiceOptions::read_shared(const Mapping& map) {
  bucket = read_word(map.at("bucket"), "-.");
  if (const Node* node = map.find("prefix")) {
    prefix = read_word(*node, "-_./");
    if (prefix.starts_with('/') || prefix.find("..") != std::string::npos)
      node->fail("must be the beginning of keys, like 'bench/', got " + node->describe());
    if (!prefix.ends_with('/')) prefix += "/";
  }
  code = read_folder(map.at("code"));
  if (const Node* name = map.find("job_name")) {
    job_name = read_word(*name, "-_");
    if (job_name.size() > kMaxJobName)
      name->fail("has at most " + std::to_string(kMaxJobName) + " characters, got " +
                 name->describe());
  }
  if (const Node* value = map.find("stop_on_interrupt")) stop_on_interrupt = value->boolean();
  if (const Node* file = map.find("credentials")) credentials = read_folder(*file);
  constexpr Nanoseconds kMaxWait = std::chrono::hours(24 * 30);
  if (const Node* node = map.find("wait")) wait = node->duration(std::chrono::seconds(1), kMaxWait);
  if (const Node* node = map.find("start"))
    start = node->duration(std::chrono::seconds(1), kMaxWait);
  if (const Node* node = map.find("poll"))
    poll = node->duration(std::chrono::milliseconds(10), kMaxWait);
}

}  // namespace assay::plan
