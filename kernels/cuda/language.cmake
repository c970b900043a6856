# SPDX-License-Identifier: Apache-2.0
#
# Enables the language CUDA if REGATTA_CUDA asks for it, and adds its flags to regatta_flags. Sets
# REGATTA_CUDA_FOUND if kernels are built, by nvcc or (EMULATED) by the C++ compiler for emulated
# queues, and REGATTA_NCCL_FOUND if the headers that NCCL's transport needs are there, which it
# compiles without nvcc. cudart is linked statically and loads the driver at its first call, so the
# programs also run where there is none.
if(NOT REGATTA_CUDA MATCHES "^(AUTO|ON|OFF|HEADERS|EMULATED)$")
  message(FATAL_ERROR "REGATTA_CUDA is '${REGATTA_CUDA}'; use AUTO, ON, OFF, HEADERS or EMULATED")
endif()
set(REGATTA_CUDA_FOUND OFF)
set(REGATTA_NCCL_FOUND OFF)
if(REGATTA_CUDA STREQUAL "OFF")
  message(STATUS "CUDA: left out, as REGATTA_CUDA asks")
  return()
endif()
find_program(REGATTA_NVCC nvcc HINTS ENV CUDA_HOME PATHS /usr/local/cuda PATH_SUFFIXES bin)
if(NOT REGATTA_NVCC)
  if(REGATTA_CUDA STREQUAL "ON")
    message(FATAL_ERROR "REGATTA_CUDA is ON and there is no nvcc; put CUDA's bin folder on PATH")
  endif()
  message(STATUS "CUDA: left out, there is no nvcc on PATH or in /usr/local/cuda/bin")
  return()
endif()

set(CMAKE_CUDA_ARCHITECTURES ${REGATTA_CUDA_ARCHITECTURES})
if(NOT REGATTA_CUDA_ARCHITECTURES)
  execute_process(COMMAND ${REGATTA_NVCC} --list-gpu-arch
    OUTPUT_VARIABLE known COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "[0-9]+" known "${known}")
  list(SORT known COMPARE NATURAL)
  list(POP_BACK known newest)
  set(CMAKE_CUDA_ARCHITECTURES 80-real 90 ${newest}-real)
endif()
get_filename_component(toolkit ${REGATTA_NVCC} DIRECTORY)
find_file(REGATTA_CUDNN_HEADER cudnn_graph.h HINTS ${toolkit}/../include)
find_file(REGATTA_NCCL_HEADER nccl.h HINTS ${toolkit}/../include)
foreach(header REGATTA_CUDNN_HEADER REGATTA_NCCL_HEADER)
  if(NOT ${header})
    if(REGATTA_CUDA STREQUAL "ON")
      message(FATAL_ERROR "REGATTA_CUDA is ON, but the headers of cuDNN 9 and NCCL are not both there (${header}); "
        "install them beside the toolkit, the libraries themselves are looked for when the program runs")
    endif()
    message(STATUS "CUDA: left out, the headers of cuDNN 9 and NCCL are not both there (${header})")
    return()
  endif()
endforeach()
set(REGATTA_NCCL_FOUND ON)
if(REGATTA_CUDA MATCHES "HEADERS|EMULATED")
  set(CUDAToolkit_ROOT ${toolkit}/..)
  find_package(CUDAToolkit REQUIRED)
  message(STATUS "CUDA: ${REGATTA_CUDA}, as REGATTA_CUDA asks: nothing is compiled for GPUs")
  if(REGATTA_CUDA STREQUAL "EMULATED")
    set(REGATTA_CUDA_FOUND ON)
  endif()
  return()
endif()
set(CMAKE_CUDA_COMPILER ${REGATTA_NVCC})
set(CMAKE_CUDA_FLAGS_RELWITHDEBINFO "${CMAKE_CXX_FLAGS_RELWITHDEBINFO}" CACHE STRING "as for C++")
enable_language(CUDA)
find_package(CUDAToolkit REQUIRED)
set(REGATTA_CUDA_FOUND ON)
message(STATUS "CUDA: ${CMAKE_CUDA_COMPILER_VERSION} for ${CMAKE_CUDA_ARCHITECTURES}")

# CMake 3.25 knows no CUDA_STANDARD 20. Code that nvcc generates for g++ would fail -Wpedantic.
# -lineinfo: the compute sanitizer and the profiler name lines.
set(cuda_flags -std=c++20 --extended-lambda --expt-relaxed-constexpr -lineinfo)
foreach(flag ${warnings} ${sanitizer})
  list(APPEND cuda_flags -Xcompiler=${flag})
endforeach()
if(REGATTA_STRICT)
  # No kernel may use local memory, for spilled registers or otherwise.
  list(APPEND cuda_flags -Werror=all-warnings -Xcompiler=-Werror
    -Xptxas=--warn-on-spills,--warn-on-local-memory-usage)
endif()
target_compile_options(regatta_flags INTERFACE "$<$<COMPILE_LANGUAGE:CUDA>:${cuda_flags}>")
