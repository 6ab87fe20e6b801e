# Everything comes from the distribution; scripts/install-deps.sh names the packages.
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(CLI11 REQUIRED)
find_package(OpenSSL REQUIRED COMPONENTS Crypto)

# yaml-cpp 0.7 exports the plain name, 0.8 a namespaced one.
if(NOT TARGET yaml-cpp::yaml-cpp)
  add_library(yaml-cpp::yaml-cpp ALIAS yaml-cpp)
endif()

find_path(ASIO_INCLUDE_DIR asio.hpp REQUIRED)
add_library(assay_asio INTERFACE)
target_include_directories(assay_asio SYSTEM INTERFACE ${ASIO_INCLUDE_DIR})
target_compile_definitions(assay_asio INTERFACE ASIO_STANDALONE ASIO_NO_DEPRECATED)
target_link_libraries(assay_asio INTERFACE Threads::Threads)
