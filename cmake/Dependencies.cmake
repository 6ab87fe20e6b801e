# Everything comes from the distribution; scripts/install-deps.sh names the packages. What has a
# static library is linked statically, so that a built binary also runs elsewhere.
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)

set(OPENSSL_USE_STATIC_LIBS TRUE)
find_package(OpenSSL REQUIRED COMPONENTS Crypto)

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

find_path(ZSTD_INCLUDE_DIR zstd.h REQUIRED)
find_library(ZSTD_LIBRARY NAMES libzstd.a zstd REQUIRED)
add_library(assay_zstd INTERFACE)
target_include_directories(assay_zstd SYSTEM INTERFACE ${ZSTD_INCLUDE_DIR})
target_link_libraries(assay_zstd INTERFACE ${ZSTD_LIBRARY})

find_path(ASIO_INCLUDE_DIR asio.hpp REQUIRED)
add_library(assay_asio INTERFACE)
target_include_directories(assay_asio SYSTEM INTERFACE ${ASIO_INCLUDE_DIR})
# Whether Asio finds aligned_alloc depends on what was included before it; all must agree.
target_compile_definitions(assay_asio INTERFACE ASIO_STANDALONE ASIO_NO_DEPRECATED
  ASIO_DISABLE_STD_ALIGNED_ALLOC)
target_link_libraries(assay_asio INTERFACE Threads::Threads)
