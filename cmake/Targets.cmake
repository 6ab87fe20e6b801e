# assay_headers(TARGET NAME PATH...): lets TARGET, and what links it as PUBLIC, include the folders
# or headers PATH, such as plan or train/data. Each NAME is an include folder of its own that contains
# only links, so that a target cannot include anything that it does not depend on.
function(assay_headers target name)
  set(include ${CMAKE_BINARY_DIR}/include/${name})
  foreach(path IN LISTS ARGN)
    set(original ${PROJECT_SOURCE_DIR}/src/${path})
    if(NOT EXISTS ${original})
      set(original ${PROJECT_SOURCE_DIR}/${path})
    endif()
    cmake_path(GET path PARENT_PATH parent)
    file(MAKE_DIRECTORY ${include}/${parent})
    file(CREATE_LINK ${original} ${include}/${path} SYMBOLIC)
  endforeach()
  target_include_directories(${target} PUBLIC ${include})
endfunction()

# assay_folder_headers(TARGET): assay_headers for the folder of src/ or train/ that is being read.
function(assay_folder_headers target)
  cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR BASE_DIRECTORY ${PROJECT_SOURCE_DIR}
    OUTPUT_VARIABLE path)
  # The libraries of a folder of src/, also those of its subfolders, share its headers.
  string(REGEX REPLACE "^src/([^/]+).*" "\\1" path ${path})
  string(REPLACE "/" "_" name ${path})
  assay_headers(${target} ${name} ${path})
endfunction()

# assay_unity(TARGET FILES): compiles the files of TARGET in groups of FILES; 0 is all at once.
function(assay_unity name files)
  if(ASSAY_UNITY)
    set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${files})
  endif()
endfunction()

# assay_library(NAME [COLD] SOURCES ... DEPENDS ... [PRIVATE ...] [OWN_PRECOMPILED HEADER...]
#               [PRECOMPILED_OF LIBRARY]): one folder of src/ is one static library. DEPENDS are the
# libraries that its headers use, and those behind PRIVATE the libraries that only its sources use.
# COLD code works for milliseconds in a run (cmake/ColdCode.cmake). OWN_PRECOMPILED: it precompiles
# HEADER besides the common headers. PRECOMPILED_OF: it shares those of LIBRARY.
function(assay_library name)
  cmake_parse_arguments(ARG "COLD" "PRECOMPILED_OF" "SOURCES;DEPENDS;OWN_PRECOMPILED" ${ARGN})
  add_library(assay_${name} STATIC ${ARG_SOURCES})
  add_library(assay::${name} ALIAS assay_${name})
  assay_folder_headers(assay_${name})
  target_link_libraries(assay_${name} PRIVATE assay_options PUBLIC ${ARG_DEPENDS})
  assay_unity(assay_${name} ${ASSAY_UNITY_FILES})
  if(ARG_COLD)
    assay_compile_cold(assay_${name})
  endif()
  if(name STREQUAL core OR ARG_OWN_PRECOMPILED)
    target_precompile_headers(assay_${name} PRIVATE ${ASSAY_PRECOMPILED} ${ARG_OWN_PRECOMPILED})
    assay_ccache_precompiled(assay_${name})
  elseif(ARG_PRECOMPILED_OF)
    assay_share_precompiled(assay_${name} assay_${ARG_PRECOMPILED_OF})
  else()
    assay_share_precompiled(assay_${name} assay_core)
  endif()
endfunction()

# assay_program(NAME SOURCES ... DEPENDS ... [STATIC]): main() and wiring only.
function(assay_program name)
  cmake_parse_arguments(ARG "STATIC" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE assay_options ${ARG_DEPENDS})
  assay_unity(${name} ${ASSAY_UNITY_FILES})
  assay_share_precompiled(${name} assay_core)
  # Sanitizer runtimes cannot be linked into a static program. Libraries' functions that nobody calls
  # stay out of it: it is copied to every node, and fewer of its pages are in memory.
  if(NOT ASSAY_SANITIZE)
    set_target_properties(${name} PROPERTIES ASSAY_STATIC "${ARG_STATIC}")
    target_link_options(${name} PRIVATE
      $<IF:$<BOOL:${ARG_STATIC}>,-static;-Wl$<COMMA>--gc-sections,-static-libstdc++;-static-libgcc>)
  endif()
endfunction()

# assay_test(NAME SOURCES ... DEPENDS ... LABELS ... [PRECOMPILED TARGET] [COST N]): one GoogleTest
# program, one ctest entry per test. The tests are compiled without optimization. Tests with a
# higher COST start earlier, even when ctest has no times of an earlier run. No test signs with the
# user's own key.
function(assay_test name)
  cmake_parse_arguments(ARG
    "" "TIMEOUT;PRECOMPILED;COST" "SOURCES;DEPENDS;LABELS;DEFINITIONS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 60)
  endif()
  if(NOT ARG_COST)
    set(ARG_COST 0)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE assay_options ${ARG_DEPENDS} GTest::gmock GTest::gtest_main)
  assay_unity(${name} 8)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  if(ARG_PRECOMPILED)
    assay_share_precompiled(${name} ${ARG_PRECOMPILED})
  else()
    target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O0>)
    assay_share_precompiled(${name} assay_test_base)
  endif()
  target_compile_definitions(${name} PRIVATE
    ASSAY_SOURCE_DIR="${PROJECT_SOURCE_DIR}" ASSAY_BIN_DIR="${CMAKE_RUNTIME_OUTPUT_DIRECTORY}"
    ${ARG_DEFINITIONS})
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 NO_PRETTY_VALUES
    PROPERTIES ENVIRONMENT ASSAY_KEYS=${CMAKE_BINARY_DIR}/test-keys
               TIMEOUT ${ARG_TIMEOUT} COST ${ARG_COST} LABELS "${ARG_LABELS}")
endfunction()
