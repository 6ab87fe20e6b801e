#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace assay {

/// Finds values in JSON text without building those that are not wanted: it only looks for the end
/// of each value, at the speed of memory. The views point into the text. A value that is not an
/// object or list, ends too early or has more than 256 levels is an Error of kind config at
/// `where`. The inside of a value that nobody looks into is not checked.

/// Calls `member(key, value)` for each member of an object, in order. Keys are passed as written,
/// without their quotes.
void each_json_member(
    std::string_view object, const std::string& where,
    const std::function<void(std::string_view key, std::string_view value)>& member);

/// Calls `element(value)` for each element of a list.
void each_json_element(std::string_view list, const std::string& where,
                       const std::function<void(std::string_view value)>& element);

}  // namespace assay
