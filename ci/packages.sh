#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Installs missing packages that Regatta needs on Debian 12, Debian 13 and Ubuntu 24.04. This file
# is the only list of them, by purpose.
# usage: ci/packages.sh race|test|fuzz|aarch64
#
# The others include `race`. Needs root or sudo. On another distribution it lists packages by
# purpose, changes nothing, and exits with 1. ci/libraries.cmake names the package of each library
# that the build lacks; ci/checks_test.py compares those names with this list.
set -euo pipefail

# Lines: purpose, colon, packages, in the order in which they are printed.
readonly kRace='compiler and build: g++ cmake ninja-build pkg-config git
operations of neural networks on the CPU: libdnnl-dev
command line, text, JSON and TOML: libcli11-dev libfmt-dev nlohmann-json3-dev libtomlplusplus-dev
topology of the machine: libhwloc-dev
ranks that mpirun starts, and all_reduce between them: openmpi-bin
messages between processes: libgrpc++-dev libabsl-dev
digests of data files: libssl-dev
compressed records: zlib1g-dev
control of ranks: libprotobuf-dev protobuf-compiler protobuf-compiler-grpc
test and benchmark libraries, which the build looks for: libgtest-dev libgmock-dev libbenchmark-dev
figures: python3 python3-numpy python3-matplotlib
page of the report: python3-jinja2
pictures of graphs: graphviz'
readonly kTest='check of records against their schema: python3-jsonschema
statistics to hold ours against, for a test: python3-scipy
records as DataFrames: python3-pandas
inputs that are drawn, for tests of properties: python3-hypothesis
formatting and lint: clang-format-14 pyflakes3 shellcheck
hosts made of network namespaces, for a test: iproute2
certificates for a test of TLS: openssl
a Debian package, for a test: dpkg-dev file
old processors, for a test: qemu-user
browser for a test of the page of the report: chromium'
# Both Debian 12 and 13 have this version. Since version 16 clang compiles g++'s library as C++20.
readonly kFuzz='compiler with libFuzzer: clang-19 libclang-rt-19-dev libomp-19-dev
names of lines in what it reports: llvm-19'
readonly kAarch64='compiler for aarch64, and a processor: g++-aarch64-linux-gnu qemu-user'

# Packages that a distribution lacks; tests that need them skip, with the reason.
declare -rA kAbsent=(
  ['debian 12']=''
  ['debian 13']='clang-format-14'  # later versions format differently
  ['ubuntu 24.04']='chromium'      # only a snap
)

readonly os_release=/etc/os-release

say() { echo "packages: $*" >&2; }

case ${1:-} in
  race) purposes=$kRace ;;
  test) purposes=$kRace$'\n'$kTest ;;
  fuzz) purposes=$kRace$'\n'$kFuzz ;;
  aarch64) purposes=$kRace$'\n'$kAarch64 ;;
  *) say "usage: ci/packages.sh race|test|fuzz|aarch64"; exit 1 ;;
esac

list_by_purpose() {
  while IFS=: read -r purpose names; do
    echo "  $purpose:$names"
  done <<<"$purposes"
}

# shellcheck source=/dev/null
distribution=$(. "$os_release" 2>/dev/null && echo "${ID:-} ${VERSION_ID:-}") || true
if [[ ! -v kAbsent["${distribution:-none}"] ]]; then
  say "this is ${distribution:-no system with $os_release}, not Debian 12 or 13 or Ubuntu 24.04;" \
    "install what these Debian packages hold, then build (cmake names what it misses) with"
  say "  cmake --preset release && cmake --build --preset release"
  list_by_purpose >&2
  exit 1
fi

missing=()
read -r -d '' -a names < <(cut -d: -f2 <<<"$purposes") || true
for name in "${names[@]}"; do
  if [[ " ${kAbsent[$distribution]} " == *" $name "* ]]; then
    say "$distribution has no $name: the test that needs it is skipped"
    continue
  fi
  state=$(dpkg-query --show --showformat='${db:Status-Status}' "$name" 2>/dev/null || true)
  [[ $state == installed* ]] || missing+=("$name")
done
if ((${#missing[@]} == 0)); then
  say "everything needed is installed"
  exit 0
fi

as_root=()
if (($(id -u) != 0)); then
  if ! command -v sudo >/dev/null; then
    say "missing: ${missing[*]}"
    say "neither root nor sudo; ask an administrator for: apt-get install ${missing[*]}"
    exit 1
  fi
  as_root=(sudo)
fi
say "installing ${missing[*]}"
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
  apt-get install --yes --quiet=2 --no-install-recommends "${missing[@]}"
