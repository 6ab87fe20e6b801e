# Precompiled headers halve the build. They save time only: every file includes what it uses, and
# -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON builds the same.
set(ASSAY_PRECOMPILED <algorithm> <array> <chrono> <cstdint> <filesystem> <fmt/format.h> <functional>
  <map> <memory> <nlohmann/json.hpp> <optional> <set> <string> <string_view> <utility> <variant> <vector>)

# assay_share_precompiled(TARGET FROM): TARGET uses the headers that FROM has precompiled.
function(assay_share_precompiled name from)
  target_precompile_headers(${name} REUSE_FROM ${from})
  assay_trust_precompiled(${name})
endfunction()

# assay_trust_precompiled(TARGET): ccache needs to be told that it may trust a precompiled header.
function(assay_trust_precompiled name)
  if(CCACHE_PROGRAM)
    set_target_properties(${name} PROPERTIES CXX_COMPILER_LAUNCHER
      "${CMAKE_COMMAND};-E;env;CCACHE_SLOPPINESS=pch_defines,time_macros;${CCACHE_PROGRAM}")
    target_compile_options(${name} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
  endif()
endfunction()
