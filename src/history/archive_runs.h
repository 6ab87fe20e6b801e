#pragma once

#include <cstdint>
#include <filesystem>

#include "pack/packed_run.h"
#include "store/archived_run.h"

namespace assay::history {

/// Packs the run, reads the packed file back, and only then leaves in the run's place a folder with
/// archived.json, result.json, tags, notes, and what commands wrote beside the evidence. Cut off
/// anywhere, the run is there as it was, or archived.
///
/// `to`: the folder for the packed run, made when it is missing; empty: that of the run itself. A
/// packed file that is there already is used when it holds the same files, and left alone else.
/// Weights of an experiment are not kept; a finished run needs none.
///
/// Throws Error: of kind usage for what is no run, goes on, is archived, or has no result.json; of
/// kind environment for a file that cannot be packed or changes meanwhile. Then the run stays.
store::ArchivedRun archive_run(const std::filesystem::path& run, const std::filesystem::path& to,
                               const pack::Options& options = {});

/// The opposite: unpacks, checks every file, and puts the run in its place, with the tags and notes
/// that it has now. A packed file that lies elsewhere stays. Throws Error: of kind usage for a run
/// that is not archived, and what pack::open_packed throws.
void restore_run(const std::filesystem::path& run);

}  // namespace assay::history
