# Finds libtorch: the one inside a PyTorch installation if CMAKE_PREFIX_PATH contains
# torch.utils.cmake_prefix_path, the PyTorch of python3 if it has CUDA, Debian's libtorch-dev, or the
# PyTorch of python3 for the CPU.
# find_package(Torch) would need the CUDA compiler for a PyTorch with CUDA; nothing here does.
# Defines the target assay_torch and ASSAY_TORCH_FOUND, _VERSION, _CUDA, _NCCL, _GLOO.
set(ASSAY_TRAIN AUTO CACHE STRING "Build assay-train, which needs libtorch: AUTO, ON or OFF")
if(ASSAY_TRAIN_ALONE)
  set(ASSAY_TRAIN ON)
endif()
set(ASSAY_TORCH_FOUND FALSE)
if(ASSAY_TRAIN STREQUAL "OFF")
  message(STATUS "assay-train: not built (ASSAY_TRAIN=OFF)")
  return()
endif()

set(torch_roots)
foreach(prefix IN LISTS CMAKE_PREFIX_PATH)
  get_filename_component(root "${prefix}/../.." ABSOLUTE)  # from torch/share/cmake
  list(APPEND torch_roots "${root}" "${prefix}")
endforeach()
execute_process(COMMAND ${PROJECT_SOURCE_DIR}/scripts/find-torch.sh
  OUTPUT_VARIABLE python_torch OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
string(REPLACE "\n" ";" python_torch "${python_torch}")
list(POP_FRONT python_torch python_torch_kind python_torch_root)
if(python_torch_kind STREQUAL "cuda")
  list(APPEND torch_roots "${python_torch_root}")
endif()
# A given root wins over the distribution's.
find_path(ASSAY_TORCH_API torch/torch.h HINTS ${torch_roots}
  PATH_SUFFIXES include/torch/csrc/api/include torch/csrc/api/include)
# Some releases have no package (Ubuntu 24.04).
if(NOT ASSAY_TORCH_API AND python_torch_kind STREQUAL "cpu")
  find_path(ASSAY_TORCH_API torch/torch.h HINTS ${python_torch_root}
    PATH_SUFFIXES include/torch/csrc/api/include NO_DEFAULT_PATH)
endif()
if(ASSAY_TORCH_API)
  get_filename_component(torch_include "${ASSAY_TORCH_API}/../../../.." ABSOLUTE)
  get_filename_component(torch_root "${torch_include}/.." ABSOLUTE)
  find_library(ASSAY_TORCH_CPU torch_cpu HINTS ${torch_root} PATH_SUFFIXES lib)
  find_library(ASSAY_TORCH_C10 c10 HINTS ${torch_root} PATH_SUFFIXES lib)
  find_library(ASSAY_TORCH_CUDA_LIB torch_cuda HINTS ${torch_root} PATH_SUFFIXES lib)
  find_library(ASSAY_TORCH_C10_CUDA c10_cuda HINTS ${torch_root} PATH_SUFFIXES lib)
endif()
if(NOT (ASSAY_TORCH_API AND ASSAY_TORCH_CPU AND ASSAY_TORCH_C10))
  string(CONCAT torch_advice
    "install libtorch-dev and libgloo-dev, or PyTorch for python3, or give "
    "-DCMAKE_PREFIX_PATH=$(python3 -c 'import torch; print(torch.utils.cmake_prefix_path)')")
  if(ASSAY_TRAIN STREQUAL "ON")
    message(FATAL_ERROR "assay-train needs libtorch, which was not found: ${torch_advice}")
  endif()
  message(STATUS "assay-train: not built, libtorch was not found (${torch_advice})")
  return()
endif()

file(READ ${ASSAY_TORCH_API}/torch/version.h torch_version)
if(EXISTS ${torch_include}/torch/headeronly/version.h)  # from 2.9 on
  file(READ ${torch_include}/torch/headeronly/version.h torch_version)
endif()
string(REGEX MATCH "TORCH_VERSION_MAJOR ([0-9]+)" ignored "${torch_version}")
set(ASSAY_TORCH_VERSION ${CMAKE_MATCH_1})
string(REGEX MATCH "TORCH_VERSION_MINOR ([0-9]+)" ignored "${torch_version}")
string(APPEND ASSAY_TORCH_VERSION ".${CMAKE_MATCH_1}")
if(EXISTS ${torch_root}/share/cmake/Torch/TorchConfig.cmake)
  file(STRINGS ${torch_root}/share/cmake/Torch/TorchConfig.cmake torch_old_abi
    REGEX "_GLIBCXX_USE_CXX11_ABI=0")
  if(torch_old_abi)
    string(CONCAT message "the libtorch in ${torch_root} was built with the old C++ ABI; "
      "use PyTorch 2.7 or newer")
    if(ASSAY_TRAIN STREQUAL "ON")
      message(FATAL_ERROR "assay-train: ${message}")
    endif()
    message(STATUS "assay-train: not built, ${message}")
    return()
  endif()
endif()

add_library(assay_torch INTERFACE)
target_include_directories(assay_torch SYSTEM INTERFACE ${torch_include} ${ASSAY_TORCH_API})
target_link_libraries(assay_torch INTERFACE ${ASSAY_TORCH_CPU} ${ASSAY_TORCH_C10} ${CMAKE_DL_LIBS})

# at::parallel_for is a template: its loops run on one thread when its caller has no OpenMP.
find_package(OpenMP COMPONENTS CXX)
if(OpenMP_CXX_FOUND)
  target_link_libraries(assay_torch INTERFACE OpenMP::OpenMP_CXX)
else()
  message(WARNING "assay-train: this compiler has no OpenMP; its own loops run on one thread")
endif()

# PyTorch contains headers of its own fmt, which hide the system's, but not the library.
get_target_property(fmt_include fmt::fmt-header-only INTERFACE_INCLUDE_DIRECTORIES)
if(EXISTS ${torch_include}/fmt/format.h AND NOT fmt_include STREQUAL torch_include)
  target_compile_definitions(assay_torch INTERFACE FMT_HEADER_ONLY)
endif()

# Only the Gloo that libtorch was built with works, not the distribution's in another version.
# A PyTorch installation contains Gloo without its headers: cmake/gloo replaces them.
find_path(ASSAY_GLOO_INCLUDE gloo/config.h PATHS ${torch_include} NO_DEFAULT_PATH)
set(ASSAY_TORCH_GLOO OFF)
if(EXISTS ${torch_include}/torch/csrc/distributed/c10d/ProcessGroupGloo.hpp)
  if(ASSAY_GLOO_INCLUDE)
    set(ASSAY_TORCH_GLOO ON)
    find_library(ASSAY_GLOO gloo HINTS ${torch_root}/lib)
  else()
    set(ASSAY_GLOO_INCLUDE ${PROJECT_SOURCE_DIR}/cmake/gloo)
    include(CheckCXXSourceCompiles)
    set(CMAKE_REQUIRED_FLAGS -std=c++20)
    set(CMAKE_REQUIRED_DEFINITIONS -DUSE_C10D_GLOO)
    set(CMAKE_REQUIRED_INCLUDES ${torch_include} ${ASSAY_TORCH_API} ${ASSAY_GLOO_INCLUDE})
    set(CMAKE_REQUIRED_LIBRARIES ${ASSAY_TORCH_CPU} ${ASSAY_TORCH_C10})
    check_cxx_source_compiles("
      #include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
      int main() {
        auto options = c10d::ProcessGroupGloo::Options::create();
        options->devices.push_back(c10d::ProcessGroupGloo::createDefaultDevice());
        c10::make_intrusive<c10d::ProcessGroupGloo>(c10::intrusive_ptr<c10d::Store>(), 0, 1, options);
      }" ASSAY_TORCH_HAS_GLOO)
    set(ASSAY_TORCH_GLOO ${ASSAY_TORCH_HAS_GLOO})
    unset(CMAKE_REQUIRED_FLAGS)
    unset(CMAKE_REQUIRED_DEFINITIONS)
    unset(CMAKE_REQUIRED_INCLUDES)
    unset(CMAKE_REQUIRED_LIBRARIES)
  endif()
endif()
if(ASSAY_TORCH_GLOO)
  target_compile_definitions(assay_torch INTERFACE USE_C10D_GLOO ASSAY_TRAIN_GLOO)
  target_include_directories(assay_torch SYSTEM INTERFACE ${ASSAY_GLOO_INCLUDE})
  if(ASSAY_GLOO)
    target_link_libraries(assay_torch INTERFACE ${ASSAY_GLOO})
  endif()
endif()

set(ASSAY_TORCH_CUDA OFF)
set(ASSAY_TORCH_NCCL OFF)
if(ASSAY_TORCH_CUDA_LIB AND ASSAY_TORCH_C10_CUDA)
  set(ASSAY_TORCH_CUDA ON)
  # Nothing calls libtorch_cuda by name; it registers its kernels when it is loaded.
  target_link_libraries(assay_torch INTERFACE
    -Wl,--no-as-needed ${ASSAY_TORCH_CUDA_LIB} ${ASSAY_TORCH_C10_CUDA} -Wl,--as-needed)
  # The headers of CUDA and NCCL come with the toolkit or with PyTorch's own packages, some of which
  # are incomplete: they lack crt/.
  file(GLOB nvidia_includes ${torch_root}/../nvidia/*/include)
  find_path(ASSAY_CUDA_INCLUDE crt/host_config.h
    HINTS $ENV{CUDA_HOME}/include /usr/local/cuda/include ${nvidia_includes})
  find_path(ASSAY_NCCL_INCLUDE nccl.h HINTS ${nvidia_includes} /usr/local/cuda/include)
  if(ASSAY_CUDA_INCLUDE)
    target_include_directories(assay_torch SYSTEM INTERFACE ${ASSAY_CUDA_INCLUDE})
    target_compile_definitions(assay_torch INTERFACE ASSAY_TRAIN_CUDA)
  endif()
  if(ASSAY_CUDA_INCLUDE AND ASSAY_NCCL_INCLUDE)
    set(ASSAY_TORCH_NCCL ON)
    target_include_directories(assay_torch SYSTEM INTERFACE ${ASSAY_NCCL_INCLUDE})
    target_compile_definitions(assay_torch INTERFACE USE_C10D_NCCL ASSAY_TRAIN_NCCL)
  endif()
endif()
set(ASSAY_TORCH_FOUND TRUE)
message(STATUS "assay-train: libtorch ${ASSAY_TORCH_VERSION} in ${ASSAY_TORCH_CPU}, "
  "CUDA ${ASSAY_TORCH_CUDA}, NCCL ${ASSAY_TORCH_NCCL}, Gloo ${ASSAY_TORCH_GLOO}")
