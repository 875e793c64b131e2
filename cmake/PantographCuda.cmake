# GPU code is optional: PANTOGRAPH_CUDA=AUTO builds it where a CUDA toolkit >= 12.6 and (for the VAE) the
# headers of cuDNN and cudnn-frontend are found, ON insists, OFF never looks. Sets PANTOGRAPH_HAS_CUDA. The runtime
# is linked statically, the driver and cuDNN never, so one binary runs with a GPU and without.

set(PANTOGRAPH_CUDA AUTO CACHE STRING "Build the CUDA code: AUTO, ON or OFF")
set_property(CACHE PANTOGRAPH_CUDA PROPERTY STRINGS AUTO ON OFF)
set(PANTOGRAPH_CUDA_MINIMUM 12.6)

# `./run setup` puts cudnn-frontend into deps/; cuDNN's own headers come with the toolkit or with
# Python's nvidia-cudnn package.
find_path(CUDNN_FRONTEND_INCLUDE cudnn_frontend.h
  PATHS ${PROJECT_SOURCE_DIR}/deps/cudnn-frontend/include
        ${PROJECT_SOURCE_DIR}/bundle/cudnn-frontend/include)

set(PANTOGRAPH_HAS_CUDA OFF)
if(PANTOGRAPH_CUDA)
  find_package(CUDAToolkit ${PANTOGRAPH_CUDA_MINIMUM} QUIET)
  find_path(CUDNN_INCLUDE cudnn_graph.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
  if(NOT CUDAToolkit_FOUND OR NOT CUDAToolkit_NVCC_EXECUTABLE)
    set(missing "no CUDA toolkit >= ${PANTOGRAPH_CUDA_MINIMUM} with nvcc was found: name one with "
                "-DCUDAToolkit_ROOT=<folder>")
  elseif(PANTOGRAPH_VAE AND NOT CUDNN_FRONTEND_INCLUDE)
    set(missing "cudnn_frontend.h was not found: `./run setup` gets it")
  elseif(PANTOGRAPH_VAE AND NOT CUDNN_INCLUDE)
    set(missing "cuDNN's headers were not found: name their folder with -DCUDNN_INCLUDE=<folder>")
  endif()
  if(NOT missing)
    set(CMAKE_CUDA_COMPILER ${CUDAToolkit_NVCC_EXECUTABLE} CACHE FILEPATH "CUDA compiler")
    set(CMAKE_CUDA_ARCHITECTURES 80)  # a fallback; pantograph_cuda_library sets each target's own
    enable_language(CUDA)
    if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 does not know that nvcc 12 has it
      set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
    endif()
    set(PANTOGRAPH_HAS_CUDA ON)
    if(PANTOGRAPH_VAE)
      add_library(cudnn_frontend INTERFACE)
      target_include_directories(cudnn_frontend SYSTEM INTERFACE
        ${CUDNN_FRONTEND_INCLUDE} ${CUDNN_INCLUDE} ${CUDAToolkit_INCLUDE_DIRS})
    endif()
  elseif(NOT PANTOGRAPH_CUDA STREQUAL AUTO)
    message(FATAL_ERROR "PANTOGRAPH_CUDA=ON, but " ${missing})
  else()
    message(STATUS "No CUDA code: " ${missing})
  endif()
endif()
message(STATUS "CUDA code: ${PANTOGRAPH_HAS_CUDA}")

# What each family is compiled for. sm_80 code serves every 8.x GPU, and the PTX of 9.0 those after
# Hopper; an `a` family has features of one generation only and must stay in its own library.
set(PANTOGRAPH_CUDA_FAMILY_general 80-real 90 CACHE STRING "Architectures of code for any GPU")
set(PANTOGRAPH_CUDA_FAMILY_sm90a 90a-real)

# pantograph_cuda_library(token_ops_kernels FAMILY general SOURCES a.cu ... LINKS pantograph_core)
# One object library of device code for one family; a library of src/ops takes it in by PRIVATE.
function(pantograph_cuda_library name)
  cmake_parse_arguments(ARG "" "FAMILY" "SOURCES;LINKS" ${ARGN})
  add_library(pantograph_${name} OBJECT ${ARG_SOURCES})
  set_target_properties(pantograph_${name} PROPERTIES
    CUDA_ARCHITECTURES "${PANTOGRAPH_CUDA_FAMILY_${ARG_FAMILY}}"
    CUDA_STANDARD 20 CUDA_STANDARD_REQUIRED ON CUDA_EXTENSIONS OFF)
  target_include_directories(pantograph_${name} PRIVATE
    ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
  target_compile_options(pantograph_${name} PRIVATE
    $<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr;-Xcompiler=-Wall,-Wextra,-Wshadow;$<$<BOOL:${PANTOGRAPH_WERROR}>:-Werror=all-warnings;-Xcompiler=-Werror>>)
  # What is written for one generation counts its registers: one that does not fit is a mistake.
  if(ARG_FAMILY STREQUAL sm90a)
    target_compile_options(pantograph_${name} PRIVATE
      $<$<COMPILE_LANGUAGE:CUDA>:-Xptxas=-warn-spills$<$<BOOL:${PANTOGRAPH_WERROR}>:$<COMMA>-Werror>>)
  endif()
  target_link_libraries(pantograph_${name} PUBLIC CUDA::cudart_static ${ARG_LINKS})
endfunction()
