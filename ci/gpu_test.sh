#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# ci/gpu where there is no GPU, which is a PATH without nvidia-smi, and with a step that is none.
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
expect 0 "usage: ci/gpu [STEP...]" --help
echo "all good"
