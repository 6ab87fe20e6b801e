#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace assay {

/// Finds values in JSON text without building what is not wanted: of a value only the end is looked
/// for, at the speed of memory. The views are into the text. What is not an object or a list, or
/// ends too early or has more than 256 levels, is an Error of kind config at `where`; what a value
/// that nobody looks into holds is not checked.

/// Calls `member(key, value)` for each member of an object, in order; keys are as they are written,
/// without their quotes.
void each_json_member(
    std::string_view object, const std::string& where,
    const std::function<void(std::string_view key, std::string_view value)>& member);

/// Calls `element(value)` for each element of a list.
void each_json_element(std::string_view list, const std::string& where,
                       const std::function<void(std::string_view value)>& element);

}  // namespace assay
