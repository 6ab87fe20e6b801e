# Code that works for milliseconds in a whole run is compiled with -O1, because optimizing it would
# take minutes. It shares precompiled headers with code that is compiled with -O3. GCC rejects a
# precompiled header if options of the target machine differ, and from GCC 13 on the level of
# optimization sets some of them (-munroll-only-small-loops, -mvzeroupper): the options that -O3
# switches on are also switched on with -O1.

# assay_target_options(OUT FLAGS): the options of the target machine that FLAGS switch on.
function(assay_target_options out flags)
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} ${flags} -Q --help=target
    OUTPUT_VARIABLE help ERROR_QUIET)
  string(REGEX MATCHALL "-m[-a-z0-9.]+[ \t]+\\[enabled\\]" lines "${help}")
  list(TRANSFORM lines REPLACE "[ \t].*" "")
  set(${out} ${lines} PARENT_SCOPE)
endfunction()

# assay_can_share_precompiled(OUT FLAGS OTHER): whether code that is compiled with OTHER can use a
# header that was precompiled with FLAGS.
function(assay_can_share_precompiled out flags other)
  set(folder ${CMAKE_BINARY_DIR}/CMakeFiles/share_precompiled)
  file(WRITE ${folder}/header.h "inline int one() { return 1; }\n")
  file(WRITE ${folder}/user.cpp "int two() { return 2 * one(); }\n")
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} ${flags} -x c++-header header.h -o header.h.gch
    COMMAND_ERROR_IS_FATAL ANY WORKING_DIRECTORY ${folder})
  execute_process(
    COMMAND ${CMAKE_CXX_COMPILER} ${other} -Winvalid-pch -Werror -include header.h -c user.cpp
            -o user.o
    RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET WORKING_DIRECTORY ${folder})
  if(failed)
    set(${out} FALSE PARENT_SCOPE)
  else()
    set(${out} TRUE PARENT_SCOPE)
  endif()
endfunction()

set(ASSAY_COLD_OPTIONS -O1)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND NOT CMAKE_DISABLE_PRECOMPILE_HEADERS)
  separate_arguments(hot UNIX_COMMAND "${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_RELEASE}")
  assay_target_options(hot_target "${hot}")
  assay_target_options(cold_target "${hot};-O1")
  list(REMOVE_ITEM hot_target ${cold_target})
  list(APPEND ASSAY_COLD_OPTIONS ${hot_target})
  assay_can_share_precompiled(shared "${hot}" "${hot};${ASSAY_COLD_OPTIONS}")
  if(NOT shared)
    # The build is then slower, but still correct.
    message(STATUS "this compiler cannot share precompiled headers between -O3 and -O1: "
      "everything is compiled with -O3")
    set(ASSAY_COLD_OPTIONS)
  endif()
endif()

# assay_compile_cold(TARGET): compiles TARGET with -O1 in release builds.
function(assay_compile_cold name)
  target_compile_options(${name} PRIVATE "$<$<CONFIG:Release>:${ASSAY_COLD_OPTIONS}>")
endfunction()
