#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Tests ci/gpu: without a GPU (a PATH without nvidia-smi) and with an unknown stage; and the
# programs that it runs on a machine with a GPU, with stand-ins that print their names.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck disable=SC2046  # a list of names; git hooks set them
unset $(git rev-parse --local-env-vars)
readonly root=$PWD

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for tool in bash dirname sed; do ln -s "$(command -v "$tool")" "$work/$tool"; done

# expect CODE WORDS ARGUMENTS...
expect() {
  local code=0
  export REGATTA_CIFAR10=$work/none
  PATH=$work ci/gpu "${@:3}" >"$work/said" 2>&1 || code=$?
  if ((code != $1)) || ! grep -qF -- "$2" "$work/said"; then
    echo "FAILED: ci/gpu ${*:3}: exit code $code instead of $1, or no '$2' in:"
    cat "$work/said"
    exit 1
  fi
}
expect 77 "there is no GPU here"
expect 77 "there is no GPU here" build test
expect 1 "there is no stage 'tests'" tests
expect 0 "usage: ci/gpu [--build DIR]" --help

# A checkout of ci/gpu and stand-ins.
tree=$work/tree
mkdir -p "$tree/ci" "$tree/build/gpu/bin"
cp ci/gpu "$tree/ci/"
stand_in() { printf '#!/bin/bash\n%s\n' "$2" >"$1"; chmod +x "$1"; }
stand_in "$work/nvidia-smi" 'echo "GPU 0: none (UUID: none)"'
stand_in "$work/compute-sanitizer" 'echo "sanitizing $*"; [[ $* != *products* ]]'
stand_in "$tree/build/gpu/bin/regatta" 'echo "cuda  here"'
programs=(cuda_launch_test cuda_kernels_test cuda_products_test gpu_test)
for name in "${programs[@]}"; do
  stand_in "$tree/build/gpu/bin/$name" "echo 'ran $name'; [[ $name != cuda_products_test ]]"
done
printf '%s\n' cuda_launch_test cuda_kernels_test gpu_test >"$tree/build/gpu/gpu_tests"
stand_in "$tree/build/gpu/bin/step_bench" \
  'echo "split $*"; [[ -z ${BROKEN:-} || $* != *airbench94* ]] || exit 3'
for tool in grep cat timeout tee mkdir tr sleep wc tar gzip stat sort head realpath mktemp cp rm; do
  ln -s "$(command -v "$tool")" "$work/$tool"
done
cd "$tree"
expect 0 "ran gpu_test" test
grep -q 'ran cuda_launch_test' out/gpu/test.log
expect 0 "ran gpu_test" test:gpu_test
if grep -q cuda_launch_test "$work/said"; then echo "FAILED: test:PROGRAM runs others"; exit 1; fi
expect 1 "there is no program 'nothing'; there are: cuda_launch_test" test:nothing
echo cuda_products_test >>build/gpu/gpu_tests
expect 1 "exit code 1: compute-sanitizer --tool memcheck" \
  memcheck  # one of its programs reports an error
expect 1 "sanitizing --tool synccheck --error-exitcode 1 build/gpu/bin/cuda_kernels_test" synccheck
# If a program fails, the programs after it and other stages still run.
echo gpu_test_behind >>build/gpu/gpu_tests
stand_in build/gpu/bin/gpu_test_behind 'echo "ran the last"'
expect 1 "ran the last" test
expect 1 "exit code 1: cuda_products_test --gtest_filter=*" test
expect 1 "test: exit code 1" test test:gpu_test
[[ $(grep -c "ran gpu_test" "$work/said") == 2 ]] ||
  { echo "FAILED: a stage was left out"; exit 1; }
[[ $(tar -tzf out/gpu.tar.gz) == *gpu/test.log* ]] ||
  { echo "FAILED: the archive lacks a log"; exit 1; }
stand_in build/gpu/bin/gpu_test 'exec sleep 60'
REGATTA_GPU_PROGRAM_LIMIT=1 expect 1 "exit code 124" test:gpu_test
REGATTA_GPU_MINUTE_S=1 expect 1 "test:gpu_test: exit code 124" test:gpu_test
expect 0 "split --device cuda --layers --dtype bf16 --dataset shapes --workload resnet9" bench
stand_in build/gpu/bin/regatta 'echo "asked $*"'
expect 0 "asked run --workload gpt_thin --layers 6 --width 384 --heads 6 --context 256" language
grep -q "asked run --workload gpt_tiny .* --strategy tensor_parallel" "$work/said"
# A program that ignores TERM.
stand_in build/gpu/bin/gpu_test 'trap "" TERM; for ((;;)); do sleep 1; done'
REGATTA_GPU_PROGRAM_LIMIT=1 expect 1 "exit code 137" test:gpu_test

# Missing data of airbench94 is reported before that stage begins, and only if the stage is chosen.
expect 1 "no CIFAR-10 for airbench94: there is no $work/none/data_batch_1.bin" first airbench94
expect 1 "first: exit code 1" first
if grep -q CIFAR-10 "$work/said"; then echo "FAILED: first wants what no stage needs"; exit 1; fi

# A package contains the programs and the tree, but not its records.
cp "$root/ci/gpu_pack" ci/
mkdir -p results && echo record >results/records.jsonl
stand_in "$work/cmake" ''
stand_in "$work/strip" 'cp "$3" "$2"'
stand_in "$work/ldd" ''
stand_in "$work/xz" 'exec cat'
ln -s "$(command -v git)" "$work/git"
echo build >.gitignore
git init -q . && git add . && git -c user.name=test -c user.email=test@localhost commit -qm tree
PATH=$work ci/gpu_pack "$work/packed.tar.xz" >"$work/said"
packed=$(tar -tf "$work/packed.tar.xz")
[[ $packed == *ci/gpu* && $packed == *build/gpu/bin/gpu_test* && $packed != *results/* ]] ||
  { echo "FAILED: the package holds: $packed"; exit 1; }
echo "all good"
