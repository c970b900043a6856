#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Tests ci/packages.sh where it must not install (on another distribution, or without root), and
# that it installs all packages that ci/libraries.cmake names.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

# expect WHAT CODE PATTERN COMMAND...: the command exits with CODE and prints PATTERN; '': any text.
expect() {
  local what=$1 code=$2 pattern=$3 found=0
  shift 3
  "$@" >"$work/said" 2>&1 || found=$?
  if [[ $found == "$code" ]] && { [[ -z $pattern ]] || grep -q -- "$pattern" "$work/said"; }; then
    echo "ok: $what"
  else
    echo "FAILED: $what: exit code $found"
    sed 's/^/  | /' "$work/said"
    failures=$((failures + 1))
  fi
}

# Fake systems, each in the format of /etc/os-release.
printf 'ID=fedora\nVERSION_ID="41"\n' >"$work/fedora"
printf 'NAME="Debian GNU/Linux"\nVERSION_ID="12"\nID=debian\n' >"$work/bookworm"
printf 'NAME="Debian GNU/Linux"\nVERSION_ID="13"\nID=debian\n' >"$work/trixie"
printf 'NAME="Debian GNU/Linux"\nID=debian\n' >"$work/sid"
printf 'NAME="Ubuntu"\nVERSION_ID="24.04"\nID=ubuntu\n' >"$work/noble"
printf 'NAME="Ubuntu"\nVERSION_ID="22.04"\nID=ubuntu\n' >"$work/jammy"
on() { REGATTA_OS_RELEASE=$work/$1 ci/packages.sh "$2"; }
expect "stops on another distribution" 1 "this is fedora 41, not Debian 12" on fedora race
expect "lists packages by purpose there" 1 "  figures: python3 python3-numpy" on fedora race
expect "lists more for the tests" 1 "clang-format-14" on fedora test
expect "lists more for fuzzing" 1 "compiler with libFuzzer: clang" on fedora fuzz
expect "stops on another Ubuntu" 1 "this is ubuntu 22.04, not" on jammy race
expect "stops on a Debian without a number" 1 "this is debian , not" on sid race
expect "stops where the distribution is unknown" 1 "this is no system with $work/absent, not" \
  on absent race
expect "wants to be told what for" 1 "usage:" ci/packages.sh everything

# A system without any package, for a user who is not root and has no sudo.
mkdir "$work/bin"
for tool in bash cut grep env; do ln -s "$(command -v "$tool")" "$work/bin/$tool"; done
printf '#!/bin/sh\nexit 1\n' >"$work/bin/dpkg-query"
printf '#!/bin/sh\necho 1000\n' >"$work/bin/id"
chmod +x "$work/bin/dpkg-query" "$work/bin/id"
as_nobody() { PATH=$work/bin on "$@"; }
for system in bookworm trixie noble; do
  expect "tells the command to one who cannot install on $system" 1 \
    "apt-get install g++ cmake" as_nobody "$system" race
done
expect "installs the formatter of our style where it is" 1 " clang-format-14 .* chromium " \
  as_nobody bookworm test
expect "says what Debian 13 has not" 1 "debian 13 has no clang-format-14" as_nobody trixie test
expect "says what Ubuntu has not" 1 "ubuntu 24.04 has no chromium" as_nobody noble test
installs() {
  { as_nobody "$1" test 2>&1 || true; } | grep "apt-get install" | grep -o -- " $2\( \|$\)"
}
clang=$(sed -n 's/.*"CMAKE_CXX_COMPILER": "clang++\(-[0-9]*\)".*/\1/p' CMakePresets.json)
expect "installs the compiler of the preset that fuzzes" 1 " clang$clang libclang-rt$clang-dev " \
  as_nobody bookworm fuzz
expect "leaves out what Debian 13 has not" 1 "" installs trixie clang-format-14
expect "leaves out what Ubuntu has not" 1 "" installs noble chromium

# cmake tells the user to install packages that ci/packages.sh also installs.
named=$(sed -n 's/.* PACKAGE "\([a-z][^"]*\)".*/\1/p' ci/libraries.cmake)
expect "ci/libraries.cmake names packages" 0 "libdnnl-dev" echo "$named"
for package in $named; do
  expect "$package of ci/libraries.cmake is installed" 0 "$package" installs bookworm "$package"
done

((failures == 0)) || { echo "$failures checks failed"; exit 1; }
