#include "launch/seal_run.h"

#include <optional>

#include "core/error.h"
#include "core/files.h"
#include "core/time.h"
#include "evidence/key_store.h"
#include "evidence/seal.h"

namespace assay::launch {

void seal_run(const store::RunDir& run, Observer& observer) {
  std::optional<evidence::SigningKey> key;
  try {
    key = evidence::KeyStore::of_user().own_or_new();
  } catch (const Error& error) {
    observer.warning(std::string("the run is not signed: ") + error.what());
  }
  try {
    std::vector<evidence::FileRecord> files;
    for (const std::string_view name : {layout::kPlan, layout::kJournal, layout::kSystem})
      if (auto file = evidence::measure_file(run.path() / name, std::string(name)))
        files.push_back(std::move(*file));
    write_file_atomic(run.path() / layout::kSeal,
                      evidence::make_seal(run.plan().run_id, std::move(files), wall_now_ns(),
                                          key ? &*key : nullptr));
  } catch (const Error& error) {
    observer.warning(std::string("the run is not sealed: ") + error.what());
  }
}

void break_seal(const store::RunDir& run) {
  std::error_code ec;
  std::filesystem::remove(run.path() / layout::kSeal, ec);
  if (ec)
    throw system_error(ErrorKind::environment, "cannot remove the seal of the run",
                       (run.path() / layout::kSeal).string(), ec.value());
}

}  // namespace assay::launch
