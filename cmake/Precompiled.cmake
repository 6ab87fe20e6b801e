# Precompiled headers halve the time of a build and change nothing else: every file includes what it
# uses, so -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON builds the same programs.
set(ASSAY_PRECOMPILED
  <algorithm> <array> <chrono> <cstdint> <filesystem> <fmt/format.h> <functional> <map> <memory>
  <nlohmann/json.hpp> <optional> <set> <string> <string_view> <utility> <variant> <vector>)

# assay_share_precompiled(TARGET FROM): TARGET uses the precompiled headers of FROM.
function(assay_share_precompiled name from)
  target_precompile_headers(${name} REUSE_FROM ${from})
  assay_ccache_precompiled(${name})
endfunction()

# assay_ccache_precompiled(TARGET): lets ccache cache what TARGET compiles with precompiled headers.
function(assay_ccache_precompiled name)
  if(CCACHE_PROGRAM)
    set_target_properties(${name} PROPERTIES CXX_COMPILER_LAUNCHER
      "${CMAKE_COMMAND};-E;env;CCACHE_SLOPPINESS=pch_defines,time_macros;${CCACHE_PROGRAM}")
    target_compile_options(${name} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
  endif()
endfunction()
