#pragma once

#include <span>
#include <string_view>

#include "database/database.h"

namespace assay::database {

/// Brings a database to the newest schema: `steps[i]` is the SQL that leads from version i to i + 1
/// (version 0 is an empty file), each in a transaction of its own with the new `user_version`, so
/// that a process that dies leaves a whole version. Steps that were released are never changed.
/// Throws Error of kind environment when the file is of a version that these steps do not know.
void migrate(Database& database, std::span<const std::string_view> steps);

}  // namespace assay::database
