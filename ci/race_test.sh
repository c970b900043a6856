#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Tests ci/race in a separate tree, with stand-ins that record their calls: the build options with
# and without a GPU, and the results that it makes from the races.
set -euo pipefail
unset REGATTA_ARCH
cd "$(dirname "${BASH_SOURCE[0]}")/.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tree=$work/tree
mkdir -p "$tree/ci" "$tree/plots" "$tree/build/release/bin" "$work/bin"
cp ci/race "$tree/ci/race"
export CALLS=$work/calls

# stand_in FILE [LINE]: makes a script that writes its name and arguments to $CALLS, then runs LINE.
stand_in() {
  # shellcheck disable=SC2016  # expanded when the script runs
  printf '#!/bin/bash\necho "${0##*/} $*" >>"$CALLS"\n%s\n' "${2:-}" >"$1"
  chmod +x "$1"
}
stand_in "$tree/ci/packages.sh" 'for i in $(seq 450); do echo "Setting up package $i ..."; done'
stand_in "$work/bin/cmake" '[[ $1 != --build ]] || { for i in $(seq 165); do
  echo "[$i/165] Building $i"; done; exit ${BUILD_ENDS:-0}; }'
# shellcheck disable=SC2016
stand_in "$tree/build/release/bin/regatta" \
  '[[ $1 != matrix ]] || { mkdir -p out/race; exit ${MATRIX_ENDS:-0}; }'
echo 'import os, sys; print("race.py", *sys.argv[1:], file=open(os.environ["CALLS"], "a"))' \
  >"$tree/plots/race.py"
failures=0

# race CODE ARGUMENTS...: runs ci/race, expects CODE, and writes its output to $work/said.
race() {
  local code=$1 found=0
  shift
  : >"$CALLS"
  PATH=$work/bin:$PATH "$tree/ci/race" "$@" >"$work/said" 2>&1 || found=$?
  if [[ $found != "$code" ]]; then
    echo "FAILED: ci/race $*: exit code $found instead of $code"
    failures=$((failures + 1))
  fi
}
# expect FILE PATTERN
expect() {
  if grep -q -- "$2" "$1"; then return; fi
  echo "FAILED: no '$2' in:"
  sed 's/^/  | /' "$1"
  failures=$((failures + 1))
}

stand_in "$work/bin/nvidia-smi" 'exit 9'
if [[ -e /dev/nvidia0 ]]; then
  echo "there is a GPU here: what happens without one is not tried"
else
  race 0
  expect "$CALLS" '^cmake --preset release -D REGATTA_CUDA=OFF -D REGATTA_ARCH=native$'
  expect "$work/said" '^compiling for the CPU only: no /dev/nvidia0, .* ci/race --cuda compiles'
fi
stand_in "$work/bin/nvidia-smi" 'echo "GPU 0: NVIDIA H100 (UUID: GPU-1)"'
race 0
expect "$CALLS" '^cmake --preset release -D REGATTA_CUDA=AUTO -D REGATTA_ARCH=native$'
expect "$work/said" '^compiling for the CPU and, with nvcc, for NVIDIA GPUs: .* ci/race --cpu'
race 0 --cpu
expect "$CALLS" '^cmake --preset release -D REGATTA_CUDA=OFF -D REGATTA_ARCH=native$'
expect "$work/said" '^compiling for the CPU only, as --cpu asks; ci/race --cuda'
race 0 --cuda
expect "$CALLS" '^cmake --preset release -D REGATTA_CUDA=ON -D REGATTA_ARCH=native$'
expect "$work/said" '^compiling for the CPU and for NVIDIA GPUs, as --cuda asks; ci/race --cpu'

expect "$CALLS" '^regatta matrix --tier quick --within 3min --draw --out out/race$'
REGATTA_ARCH=x86-64-v3 race 0 --cpu
expect "$CALLS" '^cmake .* -D REGATTA_ARCH=x86-64-v3$'
expect "$CALLS" '^race.py out/race$'
expect "$CALLS" '^regatta report out/race$'
expect "$work/said" '^the former races are now in out/race-2'
expect "$work/said" '^packages [0-9]* s, build [0-9]* s, races [0-9]* s, results [0-9]* s$'

expect "$work/said" '^== 1/4 packages: 450 set up, [0-9]* s$'
expect "$work/said" '^== 2/4 build: 165/165, [0-9]* s$'
lines=$(wc -l <"$work/said")
((lines < 40)) || { echo "FAILED: it prints $lines lines"; failures=$((failures + 1)); }
expect "$tree/build/race.log" '^\[165/165\] Building 165$'
BUILD_ENDS=7 race 1
expect "$work/said" '^== 2/4 build failed; the end of build/race.log:$'
expect "$work/said" '^\[165/165\] Building 165$'

export MATRIX_ENDS=2
race 2
expect "$CALLS" '^regatta report'
expect "$work/said" '^some runs failed'
export MATRIX_ENDS=130
race 130

race 1 --gpu
expect "$work/said" '^usage: .*ci/race \[--cpu | --cuda\]'
race 1 --cpu --cuda
race 0 --help
expect "$work/said" '^The first race'
expect "$work/said" 'a run failed\.$'

((failures == 0)) || { echo "$failures checks failed"; exit 1; }
