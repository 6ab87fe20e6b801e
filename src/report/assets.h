#pragma once

#include <string_view>

namespace assay::report::assets {

/// assets/report.css, assets/experiment.css (to follow it) and assets/report.js, embedded at build
/// time.
[[nodiscard]] std::string_view style() noexcept;
[[nodiscard]] std::string_view experiment_style() noexcept;
[[nodiscard]] std::string_view script() noexcept;
/// Of script(), 64 hex digits.
[[nodiscard]] std::string_view script_sha256() noexcept;

}  // namespace assay::report::assets
