# Flags that every target of Assay is compiled with.
add_library(assay_options INTERFACE)
target_compile_options(assay_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wold-style-cast -Woverloaded-virtual
  -Wconversion -Wno-sign-conversion)
if(ASSAY_WERROR)
  target_compile_options(assay_options INTERFACE -Werror)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # False positives of GCC 12 in inlined standard library and nlohmann-json code.
  target_compile_options(assay_options INTERFACE -Wno-restrict -Wno-maybe-uninitialized
    -Wno-array-bounds -Wno-stringop-overflow -Wno-dangling-reference)
endif()
if(ASSAY_UNITY)
  # GCC regards the files of a unity build as headers, in which types of unnamed namespaces would be
  # mistakes.
  target_compile_options(assay_options INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
endif()
if(ASSAY_SANITIZE)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # GCC 12 wrongly believes that Asio's coroutine frames are freed incorrectly.
    add_compile_options(-Wno-mismatched-new-delete)
    # Asio has fences, which ThreadSanitizer does not see; its locks order the same things.
    if(ASSAY_SANITIZE MATCHES "thread")
      add_compile_options(-Wno-tsan)
    endif()
  endif()
  add_compile_options(-fsanitize=${ASSAY_SANITIZE} -fno-omit-frame-pointer
    -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${ASSAY_SANITIZE})
endif()
find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
endif()
