# Writes OUTPUT, a header with the text files FILES (separated by |) as constants of NAMESPACE. Style
# sheets are joined to one, in the order in which they are named.
set(style "")
set(names "")
set(constants "")

function(embed file text)
  string(REGEX REPLACE "\\.[a-z]+$" "" words ${file})
  string(REPLACE "_" ";" words ${words})
  set(name k)
  foreach(word ${words})
    string(SUBSTRING ${word} 0 1 first)
    string(SUBSTRING ${word} 1 -1 rest)
    string(TOUPPER ${first} first)
    string(APPEND name ${first}${rest})
  endforeach()
  string(SHA256 sha256 "${text}")
  string(APPEND constants "inline constexpr page::Asset ${name}{\n    \"${file}\", R\"__asset__(${text})__asset__\",\n    \"${sha256}\"};\n\n")
  set(constants "${constants}" PARENT_SCOPE)
  set(names ${names} ${name} PARENT_SCOPE)
endfunction()

string(REPLACE "|" ";" files "${FILES}")
foreach(file ${files})
  file(READ ${file} text)
  if(file MATCHES "\\.css$")
    if(style)
      string(APPEND style "\n")
    endif()
    string(APPEND style "${text}")
  else()
    get_filename_component(base ${file} NAME)
    embed(${base} "${text}")
  endif()
endforeach()
if(style)
  embed(style.css "${style}")
endif()
string(REPLACE ";" ", " names "${names}")
file(WRITE ${OUTPUT} "#pragma once

#include <array>

#include \"page/asset.h\"

namespace ${NAMESPACE} {

${constants}inline constexpr std::array kAll{${names}};

}  // namespace ${NAMESPACE}
")
