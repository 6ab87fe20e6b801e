// What comes with a folder that is sent: a bundle's contents are the bundle again, and a manifest
// without problems has paths and links that stay in the folder.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "code/content_bundle.h"
#include "code/folder_manifest.h"
#include "core/error.h"

namespace {

void bundle(std::string_view bytes) {
  using namespace assay::code;
  std::string again;
  try {
    for (const BundledContent& one : read_bundle(bytes))
      add_to_bundle(again, one.sha256, one.bytes);
  } catch (const assay::Error& error) {
    if (error.kind() != assay::ErrorKind::usage) std::abort();
    return;
  }
  // A size may be written with zeros in front.
  if (again.size() > bytes.size()) std::abort();
}

void manifest(std::string_view bytes) {
  using namespace assay::code;
  try {
    const Manifest found = read_manifest(assay::parse_json_or_null(bytes));
    if (!problems_of(found, {}).empty()) return;
    for (const File& file : found.files)
      if (file.path.empty() || file.path.front() == '/' || !is_sha256(file.sha256)) std::abort();
    for (const Link& link : found.links)
      if (!stays_inside(link)) std::abort();
  } catch (const assay::Error& error) {
    if (error.kind() != assay::ErrorKind::config) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  bundle(bytes);
  manifest(bytes);
  return 0;
}
