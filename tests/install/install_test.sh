#!/usr/bin/env bash
# usage: install_test.sh CMAKE BUILD_FOLDER COMPILER CHECKPOINT VERSION
set -euo pipefail
cmake=$1 build=$2 compiler=$3 checkpoint=$4 version=$5
here=$(cd "$(dirname "$0")" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

fail() { echo "$*" >&2; exit 1; }
# A sanitized library needs its program to be sanitized too.
! grep -q PANTOGRAPH_SANITIZE:BOOL=ON "$build/CMakeCache.txt" || { echo "skipped: sanitizers"; exit 0; }

"$cmake" --install "$build" --prefix "$folder/usr" >/dev/null
library=$(find "$folder/usr" -name libpantograph.so.0)
libraries=$(dirname "$library")
pages=$folder/usr/share/man/man1

# Nothing but the public interface is to be seen from outside.
shown=$(nm --dynamic --defined-only --demangle "$library" | cut -d' ' -f3- |
  grep -vE '^(pantograph::|(vtable|typeinfo|typeinfo name) for pantograph::)' || true)
[[ -z $shown ]] || fail "libpantograph shows: $shown"
zcat "$pages/pantograph.1.gz" | grep -q '^.SH "DECODE"' || fail "no manual page of decode"
[[ $("$folder/usr/bin/pantograph" --version) == "pantograph $version" ]] || fail "no program"

"$cmake" -S "$here/outside" -B "$folder/outside" -DCMAKE_PREFIX_PATH="$folder/usr" \
  -DCMAKE_CXX_COMPILER="$compiler" >/dev/null
"$cmake" --build "$folder/outside" >/dev/null
"$folder/outside/decode" "$checkpoint" "$folder/by_cmake.safetensors"

export PKG_CONFIG_PATH=$libraries/pkgconfig
[[ $(pkg-config --modversion pantograph) == "$version" ]] || fail "pkg-config says another version"
# shellcheck disable=SC2046  # several flags
"$compiler" -std=c++20 "$here/outside/decode.cc" -o "$folder/decode" \
  $(pkg-config --cflags --libs pantograph) -Wl,-rpath,"$libraries"
"$folder/decode" "$checkpoint" "$folder/by_pkg_config.safetensors"
cmp "$folder/by_cmake.safetensors" "$folder/by_pkg_config.safetensors"
