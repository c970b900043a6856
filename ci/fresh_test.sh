#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Tests ci/fresh with a fake debootstrap; its root has only the commands that ci/race first needs.
# Covers refusals, and that runs that fail or are ended leave no files and no mounts.
# Exits with 77 (skipped) without root, namespaces or a git checkout.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck disable=SC2046  # a list of names; git hooks set them
unset $(git rev-parse --local-env-vars)

((EUID == 0)) || { echo "skipped: ci/fresh needs root"; exit 77; }
unshare --mount --pid --fork true 2>/dev/null || { echo "skipped: no namespaces here"; exit 77; }
git rev-parse --verify --quiet HEAD >/dev/null || { echo "skipped: no git checkout"; exit 77; }

work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work"' EXIT
failures=0

# expect WHAT CODE PATTERN COMMAND...
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

mkdir "$work/bin"
cat >"$work/bin/debootstrap" <<'ROOT'
#!/bin/bash
[[ ! -v SLEEPS ]] || { mkdir "$3"; mount -t tmpfs none "$3"; touch "$STARTED"; sleep 60; }
[[ ! -v BREAKS ]] || { echo "no mirror"; exit 3; }
mkdir -p "$3"/{etc,proc,sys,dev,usr/bin}
ln -s usr/bin "$3/bin"
for tool in bash env dirname sed cut cat mkdir tail; do
  program=$(readlink -f "$(command -v $tool)")
  cp "$program" "$3/usr/bin/$tool"
  for library in $(ldd "$program" | grep -o '/[^ ]*'); do
    mkdir -p "$3/$(dirname "$library")"
    cp -L "$library" "$3/$library"
  done
done
if [[ -v LINGERS ]]; then  # the first command of ci/race
  printf '#!/bin/bash\necho >/started\nread -rt 60 <> <(:)\n' >"$3/usr/bin/dirname"
fi
ROOT
chmod +x "$work/bin/debootstrap"
fresh() { PATH=$work/bin:$PATH ci/fresh --folder "$work/root" "$@"; }
is_unmounted() { ! grep "$work" /proc/mounts && echo unmounted; }
is_gone() { [[ ! -e $work/root ]] && is_unmounted && echo gone; }

expect "wants a distribution" 1 "which distribution" fresh
expect "knows no other" 1 "unknown distribution 'fedora'; use debian12 or debian13" fresh fedora
expect "knows no other flag" 1 "unknown flag '--fast'" fresh debian13 --fast
expect "spares a folder that is there" 1 "$work is there already" fresh debian13 --folder "$work"
expect "says why debootstrap failed" 1 "no mirror" env BREAKS=1 PATH="$work/bin:$PATH" \
  ci/fresh debian12 --folder "$work/root"
expect "removes what that left" 0 gone is_gone

# ci/race stops there at once: it finds no /etc/os-release.
expect "ends as what it ran" 1 "packages: this is .*not Debian 12" fresh debian12
expect "runs the clone's ci/race in it" 1 "^== ci/race on debian12, by parts" fresh debian12
expect "removes the root" 0 gone is_gone
fresh debian12 --keep >/dev/null 2>&1 || true
expect "keeps the root that it is told to keep" 0 "packages.sh" ls "$work/root/regatta/ci"
expect "leaves no mount in it" 0 unmounted is_unmounted
rm -rf --one-file-system "$work/root"

# end_once_there FILE: ends the run in the background once the file is there.
end_once_there() {
  for ((i = 0; i < 1000; ++i)); do [[ -e $1 ]] && break; sleep 0.1; done
  [[ -e $1 ]] || echo "FAILED: there is no $1"
  local run
  run=$(cut -d' ' -f1 "/proc/$runs/task/$runs/children")
  kill -TERM "$run"
  for ((i = 0; i < 1000; ++i)); do [[ -e /proc/$run ]] || break; sleep 0.1; done
  kill -KILL "$run" 2>/dev/null || true
  wait "$runs" || true
}
SLEEPS=1 STARTED=$work/started fresh debian13 >/dev/null 2>&1 &
runs=$!
end_once_there "$work/started"
expect "removes what it had when it is ended" 0 gone is_gone

LINGERS=1 fresh debian13 >/dev/null 2>&1 &
runs=$!
end_once_there "$work/root/started"
expect "removes the root in which something runs when it is ended" 0 gone is_gone
rm -rf --one-file-system "$work/root"

((failures == 0)) || { echo "$failures checks failed"; exit 1; }
