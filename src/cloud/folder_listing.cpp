#include "cloud/folder_listing.h"

#include <string_view>
#include <unordered_set>

#include <fmt/format.h>

#include "core/error.h"
#include "core/text.h"

namespace assay::cloud {

void check_listing(const Listing& listing, const std::string& prefix, const std::string& where) {
  std::unordered_set<std::string_view> seen;
  const auto look_below = [&](const std::string& key) {
    if (!key.starts_with(prefix))
      throw Error(ErrorKind::environment,
                  fmt::format("the store was asked for what is below '{}', and lists '{}'",
                              printable(prefix), printable(key)),
                  where,
                  "the store or a proxy ignores the prefix: nothing is fetched or removed by such "
                  "a list; name the objects one by one");
  };
  for (const ObjectInfo& object : listing.objects) {
    look_below(object.key);
    if (!seen.insert(object.key).second)
      throw Error(ErrorKind::environment,
                  fmt::format("the store lists '{}' more than once", printable(object.key)), where,
                  "nothing is fetched or removed by such a list; try again, or name the objects "
                  "one by one");
  }
  for (const std::string& folder : listing.folders) look_below(folder);
}

}  // namespace assay::cloud
