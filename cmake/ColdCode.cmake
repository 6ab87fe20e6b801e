# What calls others and computes nothing itself is compiled with -O1, and shares precompiled headers
# with what is compiled with -O3. GCC refuses a precompiled header when options of the target machine
# differ, and from GCC 13 on some follow from the level of optimization (-munroll-only-small-loops,
# -mvzeroupper): those that -O3 has switched on are switched on beside -O1, too.

# assay_target_options(OUT FLAGS): the options of the target machine that are on with FLAGS.
function(assay_target_options out flags)
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} ${flags} -Q --help=target
    OUTPUT_VARIABLE help ERROR_QUIET)
  string(REGEX MATCHALL "-m[-a-z0-9.]+[ \t]+\\[enabled\\]" lines "${help}")
  list(TRANSFORM lines REPLACE "[ \t].*" "")
  set(${out} ${lines} PARENT_SCOPE)
endfunction()

# assay_shares_precompiled(OUT MUCH LITTLE): whether a header that was precompiled with MUCH can be
# used with LITTLE.
function(assay_shares_precompiled out much little)
  set(folder ${CMAKE_BINARY_DIR}/CMakeFiles/little)
  file(WRITE ${folder}/header.h "inline int one() { return 1; }\n")
  file(WRITE ${folder}/user.cpp "int two() { return 2 * one(); }\n")
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} ${much} -x c++-header header.h -o header.h.gch
    COMMAND_ERROR_IS_FATAL ANY WORKING_DIRECTORY ${folder})
  execute_process(
    COMMAND ${CMAKE_CXX_COMPILER} ${little} -Winvalid-pch -Werror -include header.h -c user.cpp -o user.o
    RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET WORKING_DIRECTORY ${folder})
  if(failed)
    set(${out} FALSE PARENT_SCOPE)
  else()
    set(${out} TRUE PARENT_SCOPE)
  endif()
endfunction()

set(ASSAY_LITTLE_OPTIONS -O1)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND NOT CMAKE_DISABLE_PRECOMPILE_HEADERS)
  separate_arguments(much UNIX_COMMAND "${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_RELEASE}")
  assay_target_options(with_much "${much}")
  assay_target_options(with_little "${much};-O1")
  list(REMOVE_ITEM with_much ${with_little})
  list(APPEND ASSAY_LITTLE_OPTIONS ${with_much})
  assay_shares_precompiled(shared "${much}" "${much};${ASSAY_LITTLE_OPTIONS}")
  if(NOT shared)
    # Slower to build, and right.
    message(STATUS "this compiler shares no precompiled headers between -O3 and -O1: all is compiled with -O3")
    set(ASSAY_LITTLE_OPTIONS)
  endif()
endif()

# assay_optimize_little(TARGET): for what calls others and computes nothing itself.
function(assay_optimize_little name)
  target_compile_options(${name} PRIVATE "$<$<CONFIG:Release>:${ASSAY_LITTLE_OPTIONS}>")
endfunction()
