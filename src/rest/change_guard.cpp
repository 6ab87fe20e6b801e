#include "rest/change_guard.h"

#include <algorithm>

#include "core/sha256.h"
#include "core/text.h"

namespace assay::rest {

namespace {

constexpr std::size_t kPart = 8;  // hex digits of a field

// "\"a\", \"b\"" without a "W/" before it: what is the same in effect only does not count here.
bool names(const std::string& header, const std::string& etag) {
  return std::ranges::any_of(split(header, ','),
                             [&](std::string_view one) { return trim(one) == etag; });
}

// Nothing where that is no etag of such a thing.
std::vector<std::string> changed_fields(const std::string& seen, const Json& changeable) {
  const std::string now = etag_of(changeable);
  std::vector<std::string> fields;
  if (seen.size() != now.size()) return fields;
  std::size_t at = 1;
  for (const auto& [field, value] : changeable.items()) {
    if (seen.compare(at, kPart, now, at, kPart) != 0) fields.push_back(field);
    at += kPart;
  }
  return fields;
}

serve::Refusal changed(const std::string& words, const Json& changeable) {
  serve::Refusal refusal(412, "changed", words, "look at what there is now, and change that");
  if (changeable.is_null()) return refusal;
  refusal.more["now"] = changeable;
  refusal.more["now"]["etag"] = etag_of(changeable);
  return refusal;
}

}  // namespace

std::string etag_of(const Json& changeable) {
  std::string out = "\"";
  for (const auto& [field, value] : changeable.items())
    out += sha256(dump_line(value)).substr(0, kPart);
  return out + "\"";
}

void check_unchanged(const Call& call, const Json& changeable) {
  const bool there = !changeable.is_null();
  const std::string etag = there ? etag_of(changeable) : "";
  const std::string none = call.request.header("if-none-match");
  if (there && (none == "*" || names(none, etag)))
    throw changed("this is there already", changeable);
  const std::string seen = call.request.header("if-match");
  if (seen.empty() || (there && (seen == "*" || names(seen, etag)))) return;
  if (!there) throw changed("this is not there any more", changeable);
  const std::vector<std::string> fields = changed_fields(seen, changeable);
  throw changed(fields.empty() ? "this was changed meanwhile"
                               : "this was changed meanwhile: " + join(fields, ", "),
                changeable);
}

}  // namespace assay::rest
