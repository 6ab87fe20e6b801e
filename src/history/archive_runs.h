#pragma once

#include <cstdint>
#include <filesystem>

#include "pack/packed_run.h"
#include "store/archived_run.h"

namespace assay::history {

/// Packs the run, reads the packed file back, and only then leaves in the run's place a folder with
/// archived.json, result.json, tags, notes, and files that commands wrote beside the evidence. An
/// interruption at any point leaves the run unchanged, or archived.
///
/// `to`: the folder for the packed run, created if necessary; empty: that of the run itself. An
/// existing packed file is used if it contains the same files, and otherwise not changed.
/// Weights of an experiment are not kept; a finished run needs none.
///
/// Throws Error of kind usage if it is not a run, is in progress, archived, or has no result.json;
/// of kind environment for a file that cannot be packed or changes meanwhile. Then the run stays.
store::ArchivedRun archive_run(const std::filesystem::path& run, const std::filesystem::path& to,
                               const pack::Options& options = {});

/// The opposite: unpacks, checks every file, and puts the run in its place, with the tags and notes
/// that it has now. A packed file elsewhere stays. Throws Error of kind usage for a run that is not
/// archived, and the errors of pack::open_packed.
void restore_run(const std::filesystem::path& run);

}  // namespace assay::history
