#include <limits>

#include <fmt/format.h>

#include "code/code_store.h"
#include "code/content_bundle.h"
#include "core/error.h"
#include "rest/call.h"

namespace assay::rest {

using jobs::Deed;

namespace {

constexpr std::size_t kMaxPart = 8U << 20;

serve::HttpResponse announce_code(Call& call) {
  const auto found = call.context.code.announce(call.caller().name, code::read_manifest(call.body));
  return json_answer({{"code", found.id}, {"missing", found.missing}, {"bundle", kMaxPart}});
}

// What the store does not take is about the content, not about the request.
template <class F>
auto or_wrong_content(F&& f) {
  try {
    return f();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::usage) throw;
    throw serve::Refusal(422, "wrong_content", error.message(), error.advice());
  }
}

serve::HttpResponse put_code(Call& call) {
  const std::string& hash = call.parameter(0);
  if (hash.size() != 64 || hash.find_first_not_of("0123456789abcdef") != std::string::npos)
    throw serve::Refusal(400, "bad_parameter", "not a SHA-256: 64 lower-case hex digits");
  const auto offset = static_cast<std::uint64_t>(
      call.asked_number("offset", 0, 0, std::numeric_limits<std::int64_t>::max()));
  const auto received = or_wrong_content(
      [&] { return call.context.code.put(call.caller().name, hash, offset, call.request.body); });
  return json_answer(
      {{"received", received.received}, {"complete", received.complete}, {"fits", received.fits}});
}

serve::HttpResponse put_bundle(Call& call) {
  const auto contents = code::read_bundle(call.request.body);
  const auto wrong =
      or_wrong_content([&] { return call.context.code.put_all(call.caller().name, contents); });
  return json_answer({{"wrong", wrong}});
}

}  // namespace

std::vector<Route> code_routes() {
  return {{.method = "POST",
           .path = "/api/v1/code",
           .handler = announce_code,
           .deed = Deed::submit_job,
           .of = Of::self,
           .summary = "Announce a folder: which of its contents are missing",
           .answer = "Announced",
           .request = "CodeManifest",
           .body = Body::json,
           .max_body = kMaxPart},
          {.method = "PUT",
           .path = "/api/v1/code/blobs",
           .handler = put_bundle,
           .deed = Deed::submit_job,
           .of = Of::self,
           .summary = "Whole contents that are missing, one behind the other",
           .answer = "ReceivedBundle",
           .body = Body::raw,
           .max_body = kMaxPart},
          {.method = "PUT",
           .path = "/api/v1/code/blobs/{sha256}",
           .handler = put_code,
           .deed = Deed::submit_job,
           .of = Of::self,
           .summary = "A part of a content that is missing",
           .answer = "Received",
           .body = Body::raw,
           .max_body = kMaxPart,
           .query = {{"offset", "integer", "where the part begins"}}}};
}

}  // namespace assay::rest
