# SPDX-License-Identifier: Apache-2.0
#
# Writes the header of facts that only the build knows: the commit and whether the sources differ
# from it. Run at every build, as cmake -D... -P; the header is touched only if it changes.
cmake_minimum_required(VERSION 3.25)

execute_process(
  COMMAND git -c safe.directory=* rev-parse HEAD
  WORKING_DIRECTORY ${SOURCE_DIR}
  OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
execute_process(
  COMMAND git -c safe.directory=* status --porcelain
  WORKING_DIRECTORY ${SOURCE_DIR}
  OUTPUT_VARIABLE changes ERROR_QUIET)
if(failed)
  set(commit unknown)
  set(dirty true)
elseif(changes)
  set(dirty true)
else()
  set(dirty false)
endif()
file(CONFIGURE OUTPUT ${HEADER} @ONLY CONTENT
"// Written by harness/system/build_facts.cmake.
#pragma once

namespace regatta::build_facts {
inline constexpr char kVersion[] = \"@VERSION@\";
inline constexpr char kCompiler[] = \"@COMPILER@\";
inline constexpr char kOnednn[] = \"@ONEDNN@\";
inline constexpr char kCuda[] = \"@CUDA@\";  // empty: none
inline constexpr char kGitCommit[] = \"@commit@\";
inline constexpr bool kDirty = @dirty@;
}  // namespace regatta::build_facts
")
