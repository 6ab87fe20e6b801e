#include "launch/seal_run.h"

#include <fcntl.h>

#include "core/error.h"
#include "core/time.h"
#include "evidence/key_store.h"
#include "evidence/seal.h"

namespace assay::launch {

namespace {

// A seal takes about one kilobyte, and a file system counts in blocks.
constexpr off_t kSealRoom = 16 << 10;

void note_unsealed(const store::RunDir& run, const std::string& reason, Observer& observer) {
  try {
    store::Journal journal(run.journal_file());
    journal.append(store::JournalEvent::run_unsealed, {{"reason", reason}});
    journal.sync();
  } catch (const Error& error) {
    observer.warning(std::string("nor can the journal say so: ") + error.what());
  }
}

}  // namespace

// Without a name it is never left behind.
SealRoom::SealRoom(const std::filesystem::path& folder)
    : file_(::open(folder.c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600)) {
  if (file_ && ::fallocate(file_.get(), 0, 0, kSealRoom) != 0) file_.reset();
}

std::optional<evidence::SigningKey> key_of_run(store::Journal& journal, Observer& observer) {
  try {
    return evidence::KeyStore::of_user().own_or_new();
  } catch (const Error& error) {
    observer.warning(std::string("the run is not signed: ") + error.what());
    journal.append(store::JournalEvent::run_unsigned, {{"reason", error.what()}});
    return std::nullopt;
  }
}

void seal_run(const store::RunDir& run, const std::optional<evidence::SigningKey>& key,
              Observer& observer) {
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
    note_unsealed(run, error.what(), observer);
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
