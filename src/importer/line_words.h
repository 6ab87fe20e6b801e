#pragma once

#include <string>
#include <string_view>

#include "importer/line_numbers.h"

namespace assay::importer {

/// Whether there is a letter of any script in it; bars, arrows and frames are none.
[[nodiscard]] bool has_letter(std::string_view text);

/// Where one of `marks`, of ASCII, or a wide form of it begins; the end of the text: none.
[[nodiscard]] std::size_t first_mark(std::string_view text, std::string_view marks,
                                     std::size_t from = 0);

/// The last part of a label that names something: of ", loss: " " loss: ".
[[nodiscard]] std::string_view own_label(std::string_view label);

/// In lower case, words parted by '_' ("samples_per_sec" of "SamplesPerSec"), with the marks of
/// ASCII and without symbols.
[[nodiscard]] std::string in_plain_words(std::string_view text);

/// What the words around a number say of it.
enum class Meaning {
  unknown,
  progress,    ///< which step or epoch it is
  pace,        ///< a time or a speed, but of what they do not say
  loss,        ///< lower is better
  step_time,   ///< of a step, or of a sample or token
  step_rate,   ///< steps a second
  named_rate,  ///< called throughput or speed
  flop_rate,
  data_rate,  ///< samples, tokens, images, … a second
};

struct Said {
  Meaning meaning = Meaning::unknown;
  std::string unit{};         ///< empty: not known
  std::string name{"value"};  ///< of the metric
};
[[nodiscard]] Said said_of(const NumberInLine& number);

/// "img/s", "s/it", "ms/step": what stands behind a number of so much work in so much time.
[[nodiscard]] bool is_unit_of_pace(std::string_view unit);

/// The work of a unit as progress bars write it, right behind the number: "it" of "it/s", "kit/s"
/// and "s/it"; else empty.
[[nodiscard]] std::string work_of_bar(std::string_view unit);

}  // namespace assay::importer
