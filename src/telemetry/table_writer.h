#pragma once

#include <string>
#include <string_view>

#include "core/time.h"
#include "telemetry/columns.h"

namespace assay::telemetry {

/// The first line of telemetry.csv, without newline.
[[nodiscard]] const std::string& table_header();

/// Appends one row of telemetry.csv with its newline. A non-finite value becomes an empty field.
void append_row(std::string& out, const Instant& when, std::string_view source,
                const Values& values);

}  // namespace assay::telemetry
