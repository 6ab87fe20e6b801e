#pragma once

#include <cstdint>
#include <filesystem>

#include "pack/packed_run.h"
#include "store/archived_run.h"

namespace assay::history {

/// Packs the run, reads the packed file back, and only then replaces the run with a folder that
/// holds archived.json, result.json, tags, notes, and what commands wrote beside the evidence.
/// Interrupted anywhere, it leaves the run as it was, or archived.
///
/// `to` is the packed run's folder, created if missing; empty: the run's. An existing packed file
/// is used if it holds the same files, and otherwise left alone. An experiment's weights are not
/// kept, because a finished run needs none.
///
/// Throws Error of kind usage if the folder is not a run, or the run is in progress, archived or
/// has no result.json; of kind environment if a file cannot be packed or changes meanwhile. The run
/// then stays.
store::ArchivedRun archive_run(const std::filesystem::path& run, const std::filesystem::path& to,
                               const pack::Options& options = {});

/// The inverse: unpacks, checks every file, and restores the run with its current tags and notes. A
/// packed file stored elsewhere stays. Throws Error of kind usage for a run that is not archived,
/// and whatever pack::open_packed throws.
void restore_run(const std::filesystem::path& run);

}  // namespace assay::history
