# SPDX-License-Identifier: Apache-2.0
#
# Writes the bytes of a file as an array of C++: cmake -DFILE= -DHEADER= -DNAME= -P.
cmake_minimum_required(VERSION 3.25)
file(READ ${FILE} bytes HEX)
string(REGEX REPLACE "(................................)" "\\1\n" bytes "${bytes}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
file(WRITE ${HEADER}
  "#pragma once\nnamespace regatta {\ninline constexpr unsigned char ${NAME}[] = {\n${bytes}};\n}\n")
