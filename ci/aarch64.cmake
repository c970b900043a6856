# SPDX-License-Identifier: Apache-2.0
#
# A toolchain file: builds for aarch64 by Debian's cross compiler, with the libraries in
# REGATTA_SYSROOT (ci/aarch64 makes it) and this machine's protoc.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES REGATTA_SYSROOT)
set(CMAKE_SYSROOT ${REGATTA_SYSROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${REGATTA_SYSROOT})
set(ENV{PKG_CONFIG_LIBDIR} ${REGATTA_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig)
