# Dependencies of all programs except assay-train.
find_package(CLI11 REQUIRED)
find_package(CURL 7.85 REQUIRED)

find_package(pugixml REQUIRED)
find_library(PUGIXML_STATIC NAMES libpugixml.a)
add_library(assay_xml INTERFACE)
if(PUGIXML_STATIC)
  target_link_libraries(assay_xml INTERFACE ${PUGIXML_STATIC})
else()
  target_link_libraries(assay_xml INTERFACE pugixml::pugixml)
endif()

find_path(ZSTD_INCLUDE_DIR zstd.h REQUIRED)
find_library(ZSTD_LIBRARY NAMES libzstd.a zstd REQUIRED)
add_library(assay_zstd INTERFACE)
target_include_directories(assay_zstd SYSTEM INTERFACE ${ZSTD_INCLUDE_DIR})
target_link_libraries(assay_zstd INTERFACE ${ZSTD_LIBRARY})

# Patterns, also in the static agent.
find_path(RE2_INCLUDE_DIR re2/re2.h REQUIRED)
find_library(RE2_LIBRARY NAMES libre2.a re2 REQUIRED)
add_library(assay_re2 INTERFACE)
target_include_directories(assay_re2 SYSTEM INTERFACE ${RE2_INCLUDE_DIR})
target_link_libraries(assay_re2 INTERFACE ${RE2_LIBRARY} Threads::Threads)

# Headers only: Boost.Math.
find_path(BOOST_INCLUDE_DIR boost/math/distributions/students_t.hpp REQUIRED)
add_library(assay_boost INTERFACE)
target_include_directories(assay_boost SYSTEM INTERFACE ${BOOST_INCLUDE_DIR})

find_path(ASIO_INCLUDE_DIR asio.hpp REQUIRED)
add_library(assay_asio INTERFACE)
target_include_directories(assay_asio SYSTEM INTERFACE ${ASIO_INCLUDE_DIR})
# Whether Asio finds aligned_alloc depends on earlier includes; all files must agree.
target_compile_definitions(assay_asio INTERFACE ASIO_STANDALONE ASIO_NO_DEPRECATED
  ASIO_DISABLE_STD_ALIGNED_ALLOC)
# clang has had C++20's coroutines since 14 but announces them only since 17: libstdc++ and Asio need a macro.
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 17)
  target_compile_definitions(assay_asio INTERFACE __cpp_impl_coroutine=201902L ASIO_HAS_CO_AWAIT
    ASIO_HAS_STD_COROUTINE)
endif()
target_link_libraries(assay_asio INTERFACE Threads::Threads)

# The server side of HTTP (src/serve). RESTinio is header-only, and parses with http_parser.
find_path(RESTINIO_INCLUDE_DIR restinio/all.hpp REQUIRED)
find_path(HTTP_PARSER_INCLUDE_DIR http_parser.h REQUIRED)
find_library(HTTP_PARSER_LIBRARY NAMES libhttp_parser.a http_parser REQUIRED)
add_library(assay_restinio INTERFACE)
target_include_directories(assay_restinio SYSTEM INTERFACE
  ${RESTINIO_INCLUDE_DIR} ${HTTP_PARSER_INCLUDE_DIR} ${ASIO_INCLUDE_DIR})
target_link_libraries(assay_restinio INTERFACE ${HTTP_PARSER_LIBRARY} OpenSSL::SSL OpenSSL::Crypto
  Threads::Threads)

# The log; header-only, with the fmt that everything uses.
find_path(SPDLOG_INCLUDE_DIR spdlog/spdlog.h REQUIRED)
add_library(assay_spdlog INTERFACE)
target_include_directories(assay_spdlog SYSTEM INTERFACE ${SPDLOG_INCLUDE_DIR})
target_compile_definitions(assay_spdlog INTERFACE SPDLOG_FMT_EXTERNAL)
target_link_libraries(assay_spdlog INTERFACE assay_fmt Threads::Threads)

find_path(SQLITE_INCLUDE_DIR sqlite3.h REQUIRED)
find_library(SQLITE_LIBRARY NAMES libsqlite3.a sqlite3 REQUIRED)
add_library(assay_sqlite INTERFACE)
target_include_directories(assay_sqlite SYSTEM INTERFACE ${SQLITE_INCLUDE_DIR})
target_link_libraries(assay_sqlite INTERFACE ${SQLITE_LIBRARY} Threads::Threads ${CMAKE_DL_LIBS} m)

# Argon2id for the passwords of src/accounts.
find_path(SODIUM_INCLUDE_DIR sodium.h REQUIRED)
find_library(SODIUM_LIBRARY NAMES libsodium.a sodium REQUIRED)
add_library(assay_sodium INTERFACE)
target_include_directories(assay_sodium SYSTEM INTERFACE ${SODIUM_INCLUDE_DIR})
target_link_libraries(assay_sodium INTERFACE ${SODIUM_LIBRARY} Threads::Threads)
