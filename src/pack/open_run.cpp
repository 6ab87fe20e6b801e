#include "pack/open_run.h"

#include <cerrno>
#include <cstdlib>

#include <fmt/format.h>

#include "core/error.h"
#include "core/text.h"
#include "pack/packed_run.h"
#include "store/archived_run.h"

namespace assay::pack {

namespace fs = std::filesystem;

bool is_packed(const fs::path& path) {
  std::error_code ec;
  return store::is_archived(path) ||
         (path.extension() == kExtension && fs::is_regular_file(path, ec));
}

fs::path open_packed(const fs::path& path, const fs::path& folder) {
  fs::path file = path;
  std::string expected;
  if (store::is_archived(path)) {
    const store::ArchivedRun archived = store::read_archived(path);
    file = archived.pack;
    expected = archived.digest;
    if (std::error_code ec; !fs::exists(file, ec))
      throw Error(ErrorKind::environment, "the packed run is not there", file.string(),
                  "mount the disk that holds it, or put it back; " + path.string() +
                      " says that it is the one");
  }
  fs::path run = folder / "run";
  const Check check = extract(file, run);
  if (!check.ok())
    throw Error(ErrorKind::invalid,
                fmt::format("it is not what was packed: {} of {} cannot be used",
                            check.files.size(), counted(check.contents.files.size(), "file")),
                file.string(), "'assay unpack --verify' names them; take another copy");
  if (!expected.empty() && digest(check.contents) != expected)
    throw Error(ErrorKind::invalid, "it holds other files than those that were archived",
                file.string(), "put back the packed run that 'assay archive' wrote");
  return run;
}

}  // namespace assay::pack
