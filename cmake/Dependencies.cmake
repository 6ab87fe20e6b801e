# Everything comes from the distribution; scripts/install-deps.sh names the packages. Packages with a
# static library are linked statically, so that a built binary also runs elsewhere.
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
# Compiled once, in cmake/fmt.cpp: header-only it costs three seconds in every file, and the
# distribution has only the shared library, which a static agent cannot use.
if(fmt_VERSION VERSION_GREATER_EQUAL 9 AND fmt_VERSION VERSION_LESS 10)
  add_library(assay_fmt STATIC ${CMAKE_CURRENT_LIST_DIR}/fmt.cpp)
  target_include_directories(assay_fmt SYSTEM PUBLIC
    $<TARGET_PROPERTY:fmt::fmt-header-only,INTERFACE_INCLUDE_DIRECTORIES>)
else()
  add_library(assay_fmt INTERFACE)
  target_link_libraries(assay_fmt INTERFACE fmt::fmt-header-only)
endif()
find_package(nlohmann_json REQUIRED)

# Machines on which nothing can be installed build only assay-train: if a dependency of a part is
# missing then, that part is left out.
set(needed REQUIRED)
if(ASSAY_TRAIN_ALONE)
  set(needed)
endif()

# Shared, unlike the others: libcurl brings OpenSSL's shared library (its own static library would
# need a dozen more), and two copies of OpenSSL in one program would mix up their state. A build
# folder may remember the static one.
unset(OPENSSL_CRYPTO_LIBRARY CACHE)
unset(OPENSSL_SSL_LIBRARY CACHE)
find_package(OpenSSL ${needed} COMPONENTS Crypto SSL)
# The static agent uses only its SHA-256.
find_library(OPENSSL_CRYPTO_STATIC NAMES libcrypto.a)
if(NOT OPENSSL_FOUND)
  message(STATUS "assay-train: no OpenSSL, so it cannot be the worker of an AutoML experiment")
endif()

find_package(yaml-cpp REQUIRED)
find_library(YAML_CPP_STATIC NAMES libyaml-cpp.a)
add_library(assay_yaml INTERFACE)
if(YAML_CPP_STATIC)
  target_link_libraries(assay_yaml INTERFACE ${YAML_CPP_STATIC})
elseif(TARGET yaml-cpp::yaml-cpp)
  target_link_libraries(assay_yaml INTERFACE yaml-cpp::yaml-cpp)
else()
  target_link_libraries(assay_yaml INTERFACE yaml-cpp)
endif()

if(NOT ASSAY_TRAIN_ALONE)
  include(cmake/ControllerDependencies.cmake)
endif()

# The training workloads' images. It must be libjpeg-turbo: only that reads parts of an image.
find_package(JPEG ${needed})
if(JPEG_FOUND)
  include(CheckSymbolExists)
  set(CMAKE_REQUIRED_INCLUDES ${JPEG_INCLUDE_DIRS})
  set(CMAKE_REQUIRED_LIBRARIES ${JPEG_LIBRARIES})
  check_symbol_exists(jpeg_skip_scanlines "stddef.h;stdio.h;jpeglib.h" ASSAY_HAVE_JPEG_TURBO)
  unset(CMAKE_REQUIRED_INCLUDES)
  unset(CMAKE_REQUIRED_LIBRARIES)
endif()
if(ASSAY_HAVE_JPEG_TURBO)
  find_library(JPEG_STATIC NAMES libjpeg.a)
  add_library(assay_jpeg INTERFACE)
  target_include_directories(assay_jpeg SYSTEM INTERFACE ${JPEG_INCLUDE_DIRS})
  if(JPEG_STATIC)
    target_link_libraries(assay_jpeg INTERFACE ${JPEG_STATIC})
  else()
    target_link_libraries(assay_jpeg INTERFACE ${JPEG_LIBRARIES})
  endif()
elseif(ASSAY_TRAIN_ALONE)
  message(STATUS "assay-train: no libjpeg-turbo, so none of its data sets of JPEGs")
else()
  message(FATAL_ERROR "libjpeg-turbo 1.5 or later is needed: install libjpeg-dev")
endif()
