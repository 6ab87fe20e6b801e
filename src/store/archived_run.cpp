#include "store/archived_run.h"

#include "core/error.h"
#include "core/files.h"
#include "core/json_access.h"
#include "core/run_layout.h"

namespace assay::store {

namespace fs = std::filesystem;

namespace {

constexpr int kArchivedSchema = 1;

}  // namespace

bool is_archived(const fs::path& folder) {
  std::error_code ec;
  return fs::is_regular_file(fs::symlink_status(folder / kArchivedFile, ec)) &&
         !fs::exists(fs::symlink_status(folder / layout::kPlan, ec));
}

ArchivedRun read_archived(const fs::path& folder) {
  const fs::path file = folder / kArchivedFile;
  const Json json = parse_json(read_file(file), file.string());
  const JsonReader reader(json, file.string(), "'assay unpack' opens the packed run without it");
  if (reader.integer("schema_version") > kArchivedSchema)
    throw Error(ErrorKind::config, "it was written by a newer version", file.string(),
                "use a newer assay");
  ArchivedRun run;
  run.run_id = reader.text("run");
  const fs::path pack = reader.text("pack");
  run.pack = pack.is_absolute() ? pack : fs::absolute(folder) / pack;
  run.pack_bytes = reader.integer<std::uint64_t>("pack_bytes");
  run.files = reader.integer<std::uint64_t>("files");
  run.bytes = reader.integer<std::uint64_t>("bytes");
  run.digest = reader.text("digest");
  run.archived_at = reader.text("archived_at");
  return run;
}

void write_archived(const fs::path& folder, const ArchivedRun& run) {
  const bool inside = run.pack.parent_path() == fs::absolute(folder);
  const Json json = {
      {"schema_version", kArchivedSchema},
      {"run", run.run_id},
      {"pack", inside ? run.pack.filename().string() : fs::absolute(run.pack).string()},
      {"pack_bytes", run.pack_bytes},
      {"files", run.files},
      {"bytes", run.bytes},
      {"digest", run.digest},
      {"archived_at", run.archived_at}};
  write_file_atomic(folder / kArchivedFile, dump_pretty(json));
}

}  // namespace assay::store
