# SPDX-License-Identifier: Apache-2.0
#
# Finds third-party libraries, each with its Debian package and the oldest tested version (Debian
# 12's). If any are missing or too old, configuration ends with one message, which has the command
# that installs them. Defines the targets dnnl_cpu and grpc_cpp.

set(missing_names)
set(missing_packages)
set(too_old)

# regatta_need(NAME PACKAGE "..." VARIABLES... [VERSION FOUND LEAST]): records a library as missing
# if one of VARIABLES is false, or as too old.
function(regatta_need name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "PACKAGE;VERSION;LEAST" "VARIABLES")
  foreach(variable ${arg_VARIABLES})
    if(NOT ${variable})
      set(missing_names ${missing_names} ${name} PARENT_SCOPE)
      set(missing_packages ${missing_packages} ${arg_PACKAGE} PARENT_SCOPE)
      return()
    endif()
  endforeach()
  if(arg_LEAST AND arg_VERSION VERSION_LESS arg_LEAST)
    set(too_old ${too_old} "${name} ${arg_VERSION} is too old, ${arg_LEAST} is needed" PARENT_SCOPE)
  endif()
endfunction()

# regatta_read_version(OUT HEADER): reads the version from lines like `#define ..._MAJOR... 2` of a
# header; empty if there is no header.
function(regatta_read_version out header)
  set(lines)
  if(EXISTS "${header}")
    file(STRINGS "${header}" lines
      REGEX "^#define [A-Z_]+_(MAJOR|MINOR|PATCH|RELEASE)(_VERSION)? [0-9]+$")
  endif()
  list(TRANSFORM lines REPLACE ".* " "")
  list(JOIN lines "." version)
  set(${out} "${version}" PARENT_SCOPE)
endfunction()

find_package(Threads REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS CXX)

# The CMake files of Debian's dnnl package require OpenCL's headers; the library itself does not.
find_library(DNNL_LIBRARY dnnl)
find_path(DNNL_INCLUDE_DIR oneapi/dnnl/dnnl.hpp)
regatta_read_version(ONEDNN_VERSION ${DNNL_INCLUDE_DIR}/oneapi/dnnl/dnnl_version.h)
regatta_need("oneDNN" PACKAGE "libdnnl-dev" VARIABLES DNNL_LIBRARY DNNL_INCLUDE_DIR
  VERSION "${ONEDNN_VERSION}" LEAST 2.6)
add_library(dnnl_cpu INTERFACE)
target_include_directories(dnnl_cpu SYSTEM INTERFACE ${DNNL_INCLUDE_DIR})
target_link_libraries(dnnl_cpu INTERFACE ${DNNL_LIBRARY})

# Debian's CMake and pkg-config files of gRPC require every library that gRPC was built with.
add_library(grpc_cpp INTERFACE)
foreach(library grpc++ grpc gpr absl_synchronization)
  find_library(${library}_LIBRARY ${library})
  target_link_libraries(grpc_cpp INTERFACE ${${library}_LIBRARY})
endforeach()
find_path(GRPC_INCLUDE_DIR grpcpp/version_info.h)
regatta_read_version(grpc_version ${GRPC_INCLUDE_DIR}/grpcpp/version_info.h)
regatta_need("gRPC" PACKAGE "libgrpc++-dev" VERSION "${grpc_version}" LEAST 1.51
  VARIABLES grpc++_LIBRARY grpc_LIBRARY gpr_LIBRARY GRPC_INCLUDE_DIR)
regatta_need("Abseil" PACKAGE "libabsl-dev" VARIABLES absl_synchronization_LIBRARY)
find_package(OpenSSL QUIET COMPONENTS Crypto)
regatta_need("OpenSSL" PACKAGE "libssl-dev" VARIABLES OPENSSL_FOUND
  VERSION "${OPENSSL_VERSION}" LEAST 3.0)
find_package(ZLIB QUIET)
regatta_need("zlib" PACKAGE "zlib1g-dev" VARIABLES ZLIB_FOUND)
find_package(Protobuf QUIET)
regatta_need("Protocol Buffers" PACKAGE "libprotobuf-dev" VARIABLES Protobuf_FOUND
  VERSION "${Protobuf_VERSION}" LEAST 3.21)
regatta_need("protoc" PACKAGE "protobuf-compiler" VARIABLES Protobuf_PROTOC_EXECUTABLE)
find_program(GRPC_CPP_PLUGIN grpc_cpp_plugin)
regatta_need("grpc_cpp_plugin" PACKAGE "protobuf-compiler-grpc" VARIABLES GRPC_CPP_PLUGIN)

find_program(MPIEXEC_EXECUTABLE mpirun)  # for tests; the program finds MPI when it runs
regatta_need("mpirun" PACKAGE "openmpi-bin" VARIABLES MPIEXEC_EXECUTABLE)

find_package(CLI11 QUIET)
regatta_need("CLI11" PACKAGE "libcli11-dev" VARIABLES CLI11_FOUND
  VERSION "${CLI11_VERSION}" LEAST 2.1)
find_package(fmt QUIET)
regatta_need("fmt" PACKAGE "libfmt-dev" VARIABLES fmt_FOUND VERSION "${fmt_VERSION}" LEAST 9)
find_package(nlohmann_json QUIET)
regatta_need("JSON for Modern C++" PACKAGE "nlohmann-json3-dev" VARIABLES nlohmann_json_FOUND
  VERSION "${nlohmann_json_VERSION}" LEAST 3.11)
find_package(tomlplusplus QUIET)
regatta_need("toml++" PACKAGE "libtomlplusplus-dev" VARIABLES tomlplusplus_FOUND
  VERSION "${tomlplusplus_VERSION}" LEAST 3.3)
find_package(PkgConfig QUIET)
regatta_need("pkg-config" PACKAGE "pkg-config" VARIABLES PKG_CONFIG_FOUND)
if(PKG_CONFIG_FOUND)
  pkg_check_modules(HWLOC QUIET IMPORTED_TARGET hwloc)
endif()
regatta_need("hwloc" PACKAGE "libhwloc-dev" VARIABLES HWLOC_FOUND
  VERSION "${HWLOC_VERSION}" LEAST 2.9)
find_package(GTest QUIET)
find_path(GMOCK_INCLUDE_DIR gmock/gmock.h)
regatta_need("GoogleTest" PACKAGE "libgtest-dev" VARIABLES GTest_FOUND
  VERSION "${GTest_VERSION}" LEAST 1.12)
regatta_need("GoogleMock" PACKAGE "libgmock-dev" VARIABLES GMOCK_INCLUDE_DIR)
find_package(benchmark QUIET)
regatta_need("Google Benchmark" PACKAGE "libbenchmark-dev" VARIABLES benchmark_FOUND
  VERSION "${benchmark_VERSION}" LEAST 1.7)

if(missing_names)
  list(JOIN missing_names ", " names)
  list(JOIN missing_packages " " packages)
  message(FATAL_ERROR
    "missing: ${names}; apt-get install ${packages}, or run ci/packages.sh race")
endif()
if(too_old)
  list(JOIN too_old "; " words)
  message(FATAL_ERROR "${words}: Debian 12 and Ubuntu 24.04 have newer ones; "
    "of one that you built yourself tell the folder: "
    "cmake --preset release -D CMAKE_PREFIX_PATH=FOLDER")
endif()
