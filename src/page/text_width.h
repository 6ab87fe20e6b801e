#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace assay::page {

/// Terminal columns of UTF-8 text: wide characters (CJK, emoji) take two, combining marks none.
[[nodiscard]] std::size_t columns_of(std::string_view text);

/// `text` cut to at most `columns` columns, ending in `mark` if something was cut.
[[nodiscard]] std::string cut_to(std::string_view text, std::size_t columns,
                                 std::string_view mark = "…");

/// Cuts out the middle: the beginning and the end of a case key are the most informative.
[[nodiscard]] std::string cut_middle(std::string_view text, std::size_t columns,
                                     std::string_view mark = "…");

[[nodiscard]] std::string pad_right(std::string_view text, std::size_t columns);
[[nodiscard]] std::string pad_left(std::string_view text, std::size_t columns);

/// Lines of at most `columns` columns, broken at blanks, wide characters and within long words.
[[nodiscard]] std::vector<std::string> wrap(std::string_view text, std::size_t columns);

}  // namespace assay::page
