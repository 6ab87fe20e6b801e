# Writes version, git revision and dirtiness into build/version.cpp; checked on every build,
# rewritten only if something changed.
set(ASSAY_VERSION_SOURCE ${CMAKE_BINARY_DIR}/generated/version.cpp)
add_custom_target(assay_version_stamp
  COMMAND ${CMAKE_COMMAND} -DOUTPUT=${ASSAY_VERSION_SOURCE} -DSOURCE_DIR=${PROJECT_SOURCE_DIR}
          -DVERSION=${PROJECT_VERSION} -DBUILD_TYPE=${CMAKE_BUILD_TYPE}
          "-DCOMPILER=${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}"
          -P ${PROJECT_SOURCE_DIR}/cmake/StampVersion.cmake
  BYPRODUCTS ${ASSAY_VERSION_SOURCE} VERBATIM)
