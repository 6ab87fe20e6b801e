# Flags that every target of Assay is compiled with.
add_library(assay_options INTERFACE)
target_compile_options(assay_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wold-style-cast -Woverloaded-virtual
  -Wconversion -Wno-sign-conversion -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # False positives of GCC 12 in inlined standard library and nlohmann-json code.
  target_compile_options(assay_options INTERFACE -Wno-restrict -Wno-maybe-uninitialized
    -Wno-array-bounds -Wno-stringop-overflow -Wno-dangling-reference)
endif()
if(ASSAY_UNITY)
  # It takes the joined files for headers, in which a type of an unnamed namespace would be a mistake.
  target_compile_options(assay_options INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
endif()
if(ASSAY_SANITIZE)
  if(ASSAY_SANITIZE MATCHES "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Asio has fences; its own locks order what they order, too. GCC 12 takes the allocation of its
    # coroutine frames for one that is freed wrongly.
    add_compile_options(-Wno-tsan -Wno-mismatched-new-delete)
  endif()
  add_compile_options(-fsanitize=${ASSAY_SANITIZE} -fno-omit-frame-pointer
    -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${ASSAY_SANITIZE})
endif()
find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
endif()
