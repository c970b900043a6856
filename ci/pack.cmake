# SPDX-License-Identifier: Apache-2.0
#
# What cpack reads before it makes the .deb (install.cmake): CPack itself goes on without the
# dependencies where it has not the tools to find them.
foreach(tool file dpkg-shlibdeps)
  find_program(${tool}_PROGRAM ${tool})
  if(NOT ${tool}_PROGRAM)
    message(FATAL_ERROR "no ${tool}, which finds what the package depends on: "
      "apt-get install file dpkg-dev")
  endif()
endforeach()
if(CPACK_REGATTA_ARCH STREQUAL "native")
  message(WARNING "the program is built for this machine's processor (REGATTA_ARCH=native); "
    "for others: cmake --preset release -D REGATTA_ARCH=x86-64-v3, then build it again")
endif()
