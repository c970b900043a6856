# SPDX-License-Identifier: Apache-2.0
#
# cpack reads this file before it makes the .deb (install.cmake). Without these tools CPack would
# silently make a package that lacks dependencies.
foreach(tool file dpkg-shlibdeps)
  find_program(${tool}_PROGRAM ${tool})
  if(NOT ${tool}_PROGRAM)
    message(FATAL_ERROR "no ${tool}, which finds what the package depends on: "
      "apt-get install file dpkg-dev")
  endif()
endforeach()
if(CPACK_REGATTA_ARCH STREQUAL "native")
  message(WARNING "the program is built for this machine's processor (REGATTA_ARCH=native); "
    "for others: cmake --preset release -D REGATTA_ARCH=any, then build it again")
endif()
