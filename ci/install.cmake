# SPDX-License-Identifier: Apache-2.0
#
# Contents of an installation by `cmake --install BUILD --prefix DIR`, and of the .deb that `cpack
# --config BUILD/CPackConfig.cmake` makes: the program, and the files that it reads
# (harness/system/program_files.h). Both use the existing program and build nothing.
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)
set(files share/regatta)
install(TARGETS regatta RUNTIME DESTINATION bin)
install(DIRECTORY plots DESTINATION ${files} USE_SOURCE_PERMISSIONS
  FILES_MATCHING REGEX "/[^/]*\\.(py|j2|css|js)$"
  PATTERN "test_*" EXCLUDE PATTERN made_up.py EXCLUDE PATTERN verdicts.py EXCLUDE
  PATTERN __pycache__ EXCLUDE)
install(FILES results/schema.json DESTINATION ${files}/results)
install(DIRECTORY harness/simulate/profiles DESTINATION ${files}/harness/simulate)
install(FILES ci/contenders/regatta_contender.py ci/contenders/regatta_contender.h
  DESTINATION ${files}/ci/contenders)
install(PROGRAMS ci/fetch_cifar10 ci/fetch_text ci/make_certificates DESTINATION ${files}/ci)
install(FILES LICENSE DESTINATION share/doc/regatta RENAME copyright)

set(built_for "-march=${REGATTA_ARCH}")
if(REGATTA_ARCH STREQUAL "native")
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} -march=native -Q --help=target
    OUTPUT_VARIABLE target ERROR_QUIET)
  if(target MATCHES "-march=[ \t]+([^ \t\n]+)")
    string(APPEND built_for ", which was ${CMAKE_MATCH_1}")
  endif()
elseif(REGATTA_ARCH STREQUAL "any")
  string(APPEND built_for ", which is ${march} and later")
endif()
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGE_FILE_NAME regatta_${PROJECT_VERSION}_${REGATTA_ARCH})
set(CPACK_PACKAGE_CONTACT "the Regatta project")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "races parallel training strategies")
set(CPACK_PACKAGE_DESCRIPTION "Built for processors of ${built_for}.")
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS
  "openmpi-bin, python3, python3-jinja2, python3-matplotlib, python3-numpy")
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "curl, graphviz, openssl")
set(CPACK_REGATTA_ARCH ${REGATTA_ARCH})
set(CPACK_PROJECT_CONFIG_FILE ${CMAKE_SOURCE_DIR}/ci/pack.cmake)
include(CPack)
