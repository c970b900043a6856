#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Tests cmake's messages if a library is missing, or a library or the compiler is too old.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

# expect WHAT WORDS FLAGS...: cmake fails and prints WORDS, possibly with other line breaks.
expect() {
  local what=$1 words=$2
  shift 2
  if cmake -S . -B "$work/build" -G Ninja --fresh -D REGATTA_CUDA=OFF "$@" >"$work/said" 2>&1; then
    echo "FAILED: $what: cmake takes it"
    failures=$((failures + 1))
  elif tr -s ' \n' ' ' <"$work/said" | grep -qF -- "$words"; then
    echo "ok: $what"
  else
    echo "FAILED: $what"
    sed 's/^/  | /' "$work/said"
    failures=$((failures + 1))
  fi
}

cmake -S . -B "$work/build" -G Ninja -D REGATTA_CUDA=OFF >"$work/said" 2>&1 ||
  { cat "$work/said"; echo "FAILED: cmake as it is"; exit 1; }
expect "names the package of a library that is missing" \
  "missing: fmt; apt-get install libfmt-dev, or run ci/packages.sh race" \
  -D CMAKE_DISABLE_FIND_PACKAGE_fmt=ON
expect "names all that are missing" \
  "missing: zlib, CLI11; apt-get install zlib1g-dev libcli11-dev, or" \
  -D CMAKE_DISABLE_FIND_PACKAGE_ZLIB=ON -D CMAKE_DISABLE_FIND_PACKAGE_CLI11=ON

mkdir -p "$work/old/oneapi/dnnl"
touch "$work/old/oneapi/dnnl/dnnl.hpp"
printf '#define DNNL_VERSION_%s\n' 'MAJOR 1' 'MINOR 8' 'PATCH 0' \
  >"$work/old/oneapi/dnnl/dnnl_version.h"
expect "tells which oneDNN is needed" "oneDNN 1.8.0 is too old, 2.6 is needed" \
  -D DNNL_INCLUDE_DIR="$work/old"

# A compiler that claims to be version 11.
printf '#!/bin/sh\nexec g++ -U__GNUC__ -D__GNUC__=11 "$@"\n' >"$work/g++"
chmod +x "$work/g++"
expect "tells which compiler is needed" "is too old, 12 is needed: apt-get install g++-12, then" \
  -D CMAKE_CXX_COMPILER="$work/g++"

((failures == 0)) || { echo "$failures checks failed"; exit 1; }
