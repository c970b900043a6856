#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# ci/packages.sh where it must not install: another distribution, and no way to become root.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

# expect WHAT CODE PATTERN COMMAND...: the command exits with CODE and says PATTERN.
expect() {
  local what=$1 code=$2 pattern=$3 found=0
  shift 3
  "$@" >"$work/said" 2>&1 || found=$?
  if [[ $found == "$code" ]] && grep -q -- "$pattern" "$work/said"; then
    echo "ok: $what"
  else
    echo "FAILED: $what: exit code $found"
    sed 's/^/  | /' "$work/said"
    failures=$((failures + 1))
  fi
}

printf 'ID=fedora\nVERSION_ID="41"\n' >"$work/fedora"
printf 'ID=debian\nVERSION_ID="12"\n' >"$work/debian"
on_fedora() { REGATTA_OS_RELEASE=$work/fedora ci/packages.sh "$@"; }
expect "stops on another distribution" 1 "this is not Debian 12" on_fedora race
expect "lists packages by purpose there" 1 "  figures: python3 python3-numpy" on_fedora race
expect "lists more for the tests" 1 "clang-format-14" on_fedora test
expect "stops where the distribution is unknown" 1 "this is not Debian 12" \
  env REGATTA_OS_RELEASE="$work/absent" ci/packages.sh race
expect "wants to be told what for" 1 "usage:" ci/packages.sh everything

# A Debian on which nothing is installed, seen by a user who is not root and has no sudo.
mkdir "$work/bin"
for tool in bash cut grep env; do ln -s "$(command -v "$tool")" "$work/bin/$tool"; done
printf '#!/bin/sh\nexit 1\n' >"$work/bin/dpkg-query"
printf '#!/bin/sh\necho 1000\n' >"$work/bin/id"
chmod +x "$work/bin/dpkg-query" "$work/bin/id"
as_nobody() { PATH=$work/bin REGATTA_OS_RELEASE=$work/debian ci/packages.sh race; }
expect "tells the command to one who cannot install" 1 "apt-get install g++ cmake" as_nobody

((failures == 0)) || { echo "$failures checks failed"; exit 1; }
