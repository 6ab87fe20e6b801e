#include "code/content_bundle.h"

#include "code/folder_manifest.h"
#include "core/error.h"
#include "core/parse_number.h"

namespace assay::code {

void add_to_bundle(std::string& bundle, std::string_view sha256, std::string_view bytes) {
  bundle.append(sha256).append(" ").append(std::to_string(bytes.size())).append("\n").append(bytes);
}

std::vector<BundledContent> read_bundle(std::string_view bundle) {
  std::vector<BundledContent> out;
  while (!bundle.empty()) {
    const std::size_t end = bundle.substr(0, kBundleLine).find('\n');
    const std::string_view line = end == std::string_view::npos ? "" : bundle.substr(0, end);
    BundledContent one{std::string(line.substr(0, 64)), {}};
    const auto size = line.size() > 65 && line[64] == ' '
                          ? parse_number<std::uint64_t>(line.substr(65))
                          : std::nullopt;
    if (!is_sha256(one.sha256) || !size)
      throw Error(ErrorKind::usage,
                  "not a bundle of contents: each begins with a line 'SHA256 SIZE'");
    bundle.remove_prefix(line.size() + 1);
    if (*size > bundle.size()) throw Error(ErrorKind::usage, "the bundle ends within a content");
    one.bytes = bundle.substr(0, *size);
    bundle.remove_prefix(*size);
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace assay::code
