#pragma once

#include <string>
#include <string_view>

namespace assay::report {

/// Expects `text` to be tests/golden/report/`name`; with ASSAY_UPDATE_GOLDEN=1 writes it instead.
void expect_golden(std::string_view text, const std::string& name);

}  // namespace assay::report
