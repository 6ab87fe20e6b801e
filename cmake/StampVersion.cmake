set(revision "unknown")
set(dirty "false")
execute_process(COMMAND git -C ${SOURCE_DIR} rev-parse --short=12 HEAD
  OUTPUT_VARIABLE out OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE rc)
if(rc EQUAL 0)
  set(revision "${out}")
  execute_process(COMMAND git -C ${SOURCE_DIR} status --porcelain
    OUTPUT_VARIABLE changes ERROR_QUIET)
  if(NOT changes STREQUAL "")
    set(dirty "true")
  endif()
endif()
set(content "#include \"core/version.h\"

namespace assay {

const BuildInfo& build_info() {
  static const BuildInfo info{\"${VERSION}\", \"${revision}\", ${dirty}, \"${COMPILER}\",
                              \"${BUILD_TYPE}\"};
  return info;
}

}  // namespace assay
")
if(EXISTS ${OUTPUT})
  file(READ ${OUTPUT} previous)
endif()
if(NOT "${previous}" STREQUAL "${content}")
  file(WRITE ${OUTPUT} "${content}")
endif()
