#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# ci/gpu where there is no GPU, which is a PATH without nvidia-smi, and with a step that is none;
# and which programs it runs where there is one, with programs that say their names in their place.
set -euo pipefail
cd "$(dirname "$0")/.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for tool in bash dirname sed; do ln -s "$(command -v "$tool")" "$work/$tool"; done

# expect CODE WORDS ARGUMENTS...
expect() {
  local code=0
  PATH=$work ci/gpu "${@:3}" >"$work/said" 2>&1 || code=$?
  if ((code != $1)) || ! grep -qF -- "$2" "$work/said"; then
    echo "FAILED: ci/gpu ${*:3}: exit code $code instead of $1, or no '$2' in:"
    cat "$work/said"
    exit 1
  fi
}
expect 77 "there is no GPU here"
expect 77 "there is no GPU here" build test
expect 1 "there is no step 'tests'" tests
expect 0 "usage: ci/gpu [STEP" --help

# A checkout of ci/gpu and stand-ins.
tree=$work/tree
mkdir -p "$tree/ci" "$tree/build/gpu/bin"
cp ci/gpu "$tree/ci/"
stand_in() { printf '#!/bin/bash\n%s\n' "$2" >"$1"; chmod +x "$1"; }
stand_in "$work/nvidia-smi" 'echo "GPU 0: none (UUID: none)"'
stand_in "$work/compute-sanitizer" 'echo "sanitizing ${!#}"; [[ ${!#} != *products* ]]'
stand_in "$tree/build/gpu/bin/regatta" 'echo "cuda  here"'
programs=(cuda_launch_test cuda_kernels_test cuda_products_test gpu_test)
for name in "${programs[@]}"; do
  stand_in "$tree/build/gpu/bin/$name" "echo 'ran $name'; [[ $name != cuda_products_test ]]"
done
printf '%s\n' cuda_launch_test cuda_kernels_test gpu_test >"$tree/build/gpu/gpu_tests"
for tool in grep cat timeout tee mkdir tr; do ln -s "$(command -v "$tool")" "$work/$tool"; done
cd "$tree"
expect 0 "ran gpu_test" test
grep -q 'ran cuda_launch_test' out/gpu/test.log
expect 0 "ran gpu_test" test:gpu_test
if grep -q cuda_launch_test "$work/said"; then echo "FAILED: test:PROGRAM runs others"; exit 1; fi
expect 1 "there is no program 'nothing'; there are: cuda_launch_test" test:nothing
expect 1 "there is no program 'cuda_products_test'" sanitize  # not labelled gpu in this tree
echo cuda_products_test >>build/gpu/gpu_tests
expect 1 "sanitize failed" sanitize  # of which one reports an error
expect 0 "sanitizing build/gpu/bin/gpu_test" sanitize:gpu_test
expect 1 "test failed" test  # one of the programs fails
echo "all good"
