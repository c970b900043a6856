#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Tests ci/fetch_cifar10 with archives of the real files and of bad ones, served on loopback.
# Exits with 77 (skipped) if there are no real files, or no python3 to serve them.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly kReal=../shared/data/cifar-10-batches-bin
skip() { echo "skipped: $*"; exit 77; }
[[ -f $kReal/test_batch.bin ]] || skip "no CIFAR-10 in $kReal"
command -v python3 >/dev/null || skip "no python3 to serve the archive"
command -v curl >/dev/null || command -v wget >/dev/null || skip "neither curl nor wget"
export no_proxy=127.0.0.1

work=$(mktemp -d)
server=
cleanup() {
  [[ -z $server ]] || kill "$server" 2>/dev/null || true
  rm -rf "$work"
}
trap cleanup EXIT

failures=0
# check WHAT COMMAND...
check() {
  local what=$1
  shift
  if "$@"; then
    echo "ok: $what"
  else
    echo "FAILED: $what"
    sed 's/^/  | /' "$work/said"
    failures=$((failures + 1))
  fi
}
fetch() { ci/fetch_cifar10 "$@" >"$work/said" 2>&1; }
fetch_fails() { ! fetch "$@"; }
said() { grep -qF -- "$1" "$work/said"; }
is_empty() { [[ -z $(ls -A "$1") ]]; }
same_files() { for file in "$kReal"/*_batch*.bin; do cmp "$file" "$1/${file##*/}"; done; }

# archive NAME FOLDER: packs a folder like the authors' archive, which has one folder.
archive() {
  tar --use-compress-program='gzip -1' -cf "$work/served/$1" \
    --transform='s,^\.,cifar-10-batches-bin,' \
    -C "$2" .
}

start_server() {
  : >"$work/server"  # the loop may read it before the server creates it
  python3 -u -m http.server 0 --bind 127.0.0.1 --directory "$work/served" >"$work/server" 2>&1 &
  server=$!
  for _ in $(seq 100); do
    address=$(sed -n 's,.*(\(http://[0-9.:]*\)/).*,\1,p' "$work/server")
    [[ -z $address ]] || return 0
    sleep 0.1
  done
  echo "the server did not start:"
  cat "$work/server"
  exit 1
}

mkdir "$work/served" "$work/wrong"
archive good.tar.gz "$kReal"
for file in "$kReal"/*_batch*.bin; do echo wrong >"$work/wrong/${file##*/}"; done
archive wrong.tar.gz "$work/wrong"
head -c 1000000 "$work/served/good.tar.gz" >"$work/served/cut.tar.gz"
address=
start_server

target=$work/new/folder
check "fetches, after a mirror that is not there" \
  fetch --url "$address/absent.tar.gz" --url "$address/good.tar.gz" "$target"
check "says which mirror failed" said "cannot download $address/absent.tar.gz"
check "the six files are the real ones" same_files "$target"
check "nothing else is left in the folder" test "$(find "$target" -mindepth 1 | wc -l)" = 6

check "a complete folder needs no network" fetch --url http://127.0.0.1:1/ "$target"
check "and is said to be complete" said "holds the six files already"

echo damaged >"$target/data_batch_2.bin"
rm "$target/test_batch.bin"
check "mends a folder with a damaged and a missing file" \
  fetch --url "$address/good.tar.gz" "$target"
check "the mended files are the real ones" same_files "$target"

bad=$work/bad
check "refuses other files" fetch_fails --url "$address/wrong.tar.gz" "$bad"
check "shows the digest found" \
  said "data_batch_1.bin has MD5 $(echo wrong | md5sum | cut -d' ' -f1)"
check "shows the digest expected" said "expected 5dd7e06a14cb22eb9f671a540d1b7c25"
check "leaves none of them in place" is_empty "$bad"
check "refuses an archive cut short" fetch_fails --url "$address/cut.tar.gz" "$bad"
check "says that it is not whole" said "is not a whole tar.gz archive"
check "leaves no part of it in place" is_empty "$bad"
check "fails on an address that does not answer" \
  fetch_fails --url http://127.0.0.1:1/x.tar.gz "$bad"
check "names the address" said "cannot download http://127.0.0.1:1/x.tar.gz"
check "tells the way out" said "--dataset shapes"
check "refuses an unknown option" fetch_fails --mirror "$address" "$bad"

# PATH folders that lack curl, or curl and wget.
for commands in "$work/wget_only" "$work/neither"; do
  mkdir "$commands"
  for tool in bash cat gzip md5sum mkdir mktemp mv rm tar; do
    ln -s "$(command -v "$tool")" "$commands/$tool"
  done
done
if command -v wget >/dev/null; then
  ln -s "$(command -v wget)" "$work/wget_only/wget"
  by_wget() { PATH=$work/wget_only fetch --url "$address/good.tar.gz" "$work/by_wget"; }
  check "fetches with wget" by_wget
  check "wget's files are the real ones" same_files "$work/by_wget"
fi
with_neither() { PATH=$work/neither fetch_fails --url "$address/good.tar.gz" "$bad"; }
check "fails without curl and wget" with_neither
check "says what to install" said "neither curl nor wget is installed"

((failures == 0)) || { echo "$failures checks failed"; exit 1; }
