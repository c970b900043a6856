# SPDX-License-Identifier: Apache-2.0
#
# Turns the language CUDA on where REGATTA_CUDA asks for it, and adds its flags to regatta_flags.
# After it REGATTA_CUDA_FOUND says whether there is one. cudart is linked statically and loads the
# driver when it is first called, so that what is built here runs where there is none.
if(NOT REGATTA_CUDA MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "REGATTA_CUDA is '${REGATTA_CUDA}'; use AUTO, ON or OFF")
endif()
set(REGATTA_CUDA_FOUND OFF)
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
set(CMAKE_CUDA_COMPILER ${REGATTA_NVCC})
enable_language(CUDA)
find_package(CUDAToolkit REQUIRED)
set(REGATTA_CUDA_FOUND ON)
message(STATUS "CUDA: ${CMAKE_CUDA_COMPILER_VERSION} for ${CMAKE_CUDA_ARCHITECTURES}")

# CMake 3.25 knows no CUDA_STANDARD 20. What nvcc writes for g++ would not pass -Wpedantic.
set(cuda_flags -std=c++20 --extended-lambda --expt-relaxed-constexpr)
foreach(flag ${warnings} ${sanitizer})
  list(APPEND cuda_flags -Xcompiler=${flag})
endforeach()
if(REGATTA_STRICT)
  list(APPEND cuda_flags -Werror=all-warnings -Xcompiler=-Werror)
endif()
target_compile_options(regatta_flags INTERFACE "$<$<COMPILE_LANGUAGE:CUDA>:${cuda_flags}>")
