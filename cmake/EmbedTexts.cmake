# Writes OUTPUT, a header with the constant NAME of NAMESPACE: the text files FILES (separated by |),
# each as its folder and name ("rules/default.yaml") with its text.
set(entries "")
set(count 0)
string(REPLACE "|" ";" files "${FILES}")
foreach(file ${files})
  file(READ ${file} text)
  get_filename_component(base ${file} NAME)
  get_filename_component(folder ${file} DIRECTORY)
  get_filename_component(folder ${folder} NAME)
  string(APPEND entries "    {\"${folder}/${base}\", R\"__text__(${text})__text__\"sv},\n")
  math(EXPR count "${count} + 1")
endforeach()
file(WRITE ${OUTPUT} "#pragma once

#include <array>
#include <string_view>
#include <utility>

namespace ${NAMESPACE} {

// With their lengths: clang does not count the characters of all texts when it compiles.
using namespace std::string_view_literals;

// A text is as long as it is; 64 KiB is what every compiler has to take, and ours take more.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored \"-Woverlength-strings\"

inline constexpr std::array<std::pair<std::string_view, std::string_view>, ${count}> ${NAME}{{
${entries}}};
#pragma GCC diagnostic pop

}  // namespace ${NAMESPACE}
")
