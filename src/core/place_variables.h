#pragma once

#include <string_view>

namespace assay {

/// Whether Assay itself says this to a process: where it is in its job, how it finds the others and
/// which devices are its own (docs/rendezvous.md). Another value would send it to another place,
/// and the evidence with it. Covers every flavor of rendezvous, whichever a case asks for; a test
/// of rendezvous/environment.cpp, which gives the values, compares both. Pure.
[[nodiscard]] bool is_place_variable(std::string_view name) noexcept;

}  // namespace assay
