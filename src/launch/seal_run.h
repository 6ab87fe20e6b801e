#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "core/files.h"
#include "evidence/key.h"
#include "launch/observer.h"
#include "store/journal.h"
#include "store/run_dir.h"

namespace assay::launch {

/// Room on the run's disk that is kept for its seal, and for a journal's line that says that there
/// is none: a disk that the run fills must not cost its proof. Nothing where the disk is full
/// already, or its file system cannot reserve; it goes back to the disk with the process.
class SealRoom {
 public:
  explicit SealRoom(const std::filesystem::path& folder);
  void give_back() noexcept { file_.reset(); }

 private:
  UniqueFd file_;
};

/// The user's key, made when there is none. Where that does not work, the observer and the journal
/// get the reason, and the seal will be unsigned.
[[nodiscard]] std::optional<evidence::SigningKey> key_of_run(store::Journal& journal,
                                                             Observer& observer);

/// Writes the seal.json of a run that has ended: nothing of the run's files may change after it.
/// Unsigned without a key. Where it cannot be written there is none; the observer is told why, and
/// so is the journal, so that a later --resume can write it.
void seal_run(const store::RunDir& run, const std::optional<evidence::SigningKey>& key,
              Observer& observer);

/// Before a run goes on: what was sealed is about to change. Throws Error of kind environment.
void break_seal(const store::RunDir& run);

}  // namespace assay::launch
