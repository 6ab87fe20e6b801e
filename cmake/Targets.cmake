# assay_library(NAME SOURCES ... DEPENDS ...): one folder of src/ is one static library.
function(assay_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  add_library(assay_${name} STATIC ${ARG_SOURCES})
  add_library(assay::${name} ALIAS assay_${name})
  target_include_directories(assay_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(assay_${name} PRIVATE assay_options PUBLIC ${ARG_DEPENDS})
  if(name STREQUAL core)
    target_precompile_headers(assay_core PRIVATE ${ASSAY_PRECOMPILED})
    assay_trust_precompiled(assay_core)
  else()
    assay_share_precompiled(assay_${name} assay_core)
  endif()
endfunction()

# assay_program(NAME SOURCES ... DEPENDS ... [STATIC] [OWN_PRECOMPILED]): main() and wiring only.
function(assay_program name)
  cmake_parse_arguments(ARG "STATIC;OWN_PRECOMPILED" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE assay_options ${ARG_DEPENDS})
  if(ARG_OWN_PRECOMPILED)
    assay_trust_precompiled(${name})
  else()
    assay_share_precompiled(${name} assay_core)
  endif()
  # Sanitizer runtimes cannot be linked into a static program.
  if(NOT ASSAY_SANITIZE)
    target_link_options(${name} PRIVATE
      $<IF:$<BOOL:${ARG_STATIC}>,-static,-static-libstdc++;-static-libgcc>)
  endif()
endfunction()

# assay_test(NAME SOURCES ... DEPENDS ... LABELS ... [PRECOMPILED TARGET]): one GoogleTest program,
# one ctest entry per test. What is tested is optimized, the tests are not.
function(assay_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT;PRECOMPILED" "SOURCES;DEPENDS;LABELS;DEFINITIONS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 60)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE assay_options ${ARG_DEPENDS} GTest::gmock GTest::gtest_main)
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
    PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "${ARG_LABELS}")
endfunction()
