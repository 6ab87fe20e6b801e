#include "probe/listing.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "core/fnv1a.h"
#include "core/text.h"

namespace assay::probe {

namespace fs = std::filesystem;

namespace {

class Lister {
 public:
  Lister(const fs::path& path, const ListingLimits& limits)
      : limits_(limits), deadline_(mono_now_ns() + limits.time.count()) {
    out_.path = path.string();
  }

  Listing run() {
    const fs::path path(out_.path);
    std::error_code ec;
    const fs::file_status status = fs::status(path, ec);
    if (!fs::exists(status)) {
      out_.problem =
          ec && ec != std::errc::no_such_file_or_directory ? ec.message() : "it does not exist";
    } else if (fs::is_directory(status)) {
      folder(path, "");
    } else {
      add(fs::directory_entry(path, ec), "");
    }
    out_.hash = fmt::format("{:016x}", hash_);
    return std::move(out_);
  }

 private:
  struct Name {
    std::string text;
    fs::directory_entry entry;
  };

  bool stop_at_time() {
    if (mono_now_ns() < deadline_) return false;
    out_.complete = false;
    out_.comparable = false;
    return true;
  }

  // Returns false if the listing ends here.
  bool folder(const fs::path& path, const std::string& prefix) {
    std::vector<Name> names;
    std::error_code ec;
    fs::directory_iterator at(path, ec);
    for (; !ec && at != fs::directory_iterator(); at.increment(ec)) {
      names.push_back({at->path().filename().string(), *at});
      if (names.size() % 1024 == 0 && stop_at_time()) return false;
      // The order of names in a folder is unspecified, so a part of them could not be compared.
      if (names.size() > 16 * limits_.entries) {
        out_.complete = false;
        out_.comparable = false;
        return false;
      }
    }
    if (ec) {
      out_.problem = fmt::format("{}: {}", printable(path.string()), ec.message());
      return false;
    }
    std::ranges::sort(names, {}, &Name::text);
    for (const Name& name : names) {
      if (out_.entries >= limits_.entries) {
        out_.complete = false;
        return false;
      }
      if (out_.entries % 64 == 0 && stop_at_time()) return false;
      const std::string relative = prefix + name.text;
      if (add(name.entry, relative) && !folder(name.entry.path(), relative + "/")) return false;
    }
    return true;
  }

  // Returns whether it is a folder to enter.
  bool add(const fs::directory_entry& entry, const std::string& relative) {
    std::error_code ec;
    const bool link = entry.is_symlink(ec);
    const fs::file_status status = entry.status(ec);
    const bool is_folder = fs::is_directory(status);
    std::string kind = is_folder ? (link ? "link" : "folder") : "other";
    if (fs::is_regular_file(status)) {
      const std::uintmax_t size = entry.file_size(ec);
      kind = ec ? "unknown" : std::to_string(size);
      if (!ec) out_.bytes += size;
    } else if (!fs::exists(status)) {
      kind = "missing";
    }
    ++out_.entries;
    for (const std::string_view text : {std::string_view(relative), std::string_view("\0", 1),
                                        std::string_view(kind), std::string_view("\n")})
      hash_ = fnv1a(text, hash_);
    return is_folder && !link;
  }

  ListingLimits limits_;
  std::int64_t deadline_;
  std::uint64_t hash_ = kFnvBasis<std::uint64_t>;
  Listing out_;
};

}  // namespace

Listing list_data(const fs::path& path, const ListingLimits& limits) {
  return Lister(path, limits).run();
}

}  // namespace assay::probe
