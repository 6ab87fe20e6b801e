# assay_join(TARGET FILES): TARGET's files are compiled FILES at a time.
function(assay_join name files)
  if(ASSAY_UNITY)
    set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${files})
  endif()
endfunction()

# assay_library(NAME [COLD] SOURCES ... DEPENDS ...): one folder of src/ is one static library. COLD
# is what works for milliseconds in a whole run, while optimizing it takes minutes.
function(assay_library name)
  cmake_parse_arguments(ARG "COLD" "" "SOURCES;DEPENDS" ${ARGN})
  add_library(assay_${name} STATIC ${ARG_SOURCES})
  add_library(assay::${name} ALIAS assay_${name})
  target_include_directories(assay_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(assay_${name} PRIVATE assay_options PUBLIC ${ARG_DEPENDS})
  assay_join(assay_${name} 6)
  if(ARG_COLD)
    assay_optimize_little(assay_${name})
  endif()
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
  assay_join(${name} 6)
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

# assay_test(NAME SOURCES ... DEPENDS ... LABELS ... [PRECOMPILED TARGET] [COST N]): one GoogleTest
# program, one ctest entry per test. What is tested is optimized, the tests are not. Tests of a
# higher COST start earlier, also where ctest has no times of an earlier run yet.
function(assay_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT;PRECOMPILED;COST" "SOURCES;DEPENDS;LABELS;DEFINITIONS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 60)
  endif()
  if(NOT ARG_COST)
    set(ARG_COST 0)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE assay_options ${ARG_DEPENDS} GTest::gmock GTest::gtest_main)
  assay_join(${name} 8)
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
    PROPERTIES TIMEOUT ${ARG_TIMEOUT} COST ${ARG_COST} LABELS "${ARG_LABELS}")
endfunction()
