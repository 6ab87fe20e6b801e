// Any bytes as a request to the tester: JSON, a manifest, a claim, a packed part. Refused or
// granted, never a crash; and what is granted holds its promises.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "serve/refusal.h"
#include "tester/claim.h"
#include "tester/manifest.h"
#include "tester/uploads.h"

namespace {

using namespace assay::serve;
using namespace assay::tester;

constexpr std::size_t kRoom = 1 << 16;

template <class F>
void refusals_only(F&& f) {
  try {
    f();
  } catch (const Refusal& refusal) {
    if (refusal.status < 400 || response_of(refusal).body.empty()) std::abort();
  }
}

void manifest(const std::string& text) {
  const assay::Json json = parse_body(text, kRoom);
  const ManifestLimits limits{100, 1 << 30};
  const Manifest read = parse_manifest(json, limits);
  if (read.bytes() > limits.bytes) std::abort();
  for (const ManifestFile& file : read.files)
    if (("/" + file.path + "/").find("/../") != std::string::npos || file.path.front() == '/')
      std::abort();
  if (to_json(parse_manifest(to_json(read), limits)) != to_json(read)) std::abort();
}

void claim(const std::string& text) {
  const assay::Json result = {{"validity", "VALID"},
                              {"cases",
                               {{{"name", "a"},
                                 {"validity", "VALID"},
                                 {"summary", {{"p", {{"median", 1.5}}}}},
                                 {"rounds", {{{"round", 1}, {"status", "completed"}}}}}}}};
  const assay::Json truth = claim_of(result.dump(), "fuzz");
  if (!differences(truth, truth).empty()) std::abort();
  for (const Difference& one : differences(parse_body(text, kRoom), truth))
    if (to_json(one).dump(-1, ' ', false, assay::Json::error_handler_t::replace).size() > 4096)
      std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  refusals_only([&] { manifest(text); });
  refusals_only([&] { claim(text); });
  refusals_only([&] {
    if (unpack_zstd(text, kRoom).size() > kRoom) std::abort();
  });
  return 0;
}
