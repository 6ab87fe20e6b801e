#!/usr/bin/env bash
# The package assay-server: an upgrade restarts a server that runs, the first installation starts
# nothing, systemd accepts the unit, and the description is one of Debian's. deb-systemd-invoke,
# systemctl and adduser are stand-ins.
# usage: test_server_package.sh BUILD CPACK
set -euo pipefail
build=$1 cpack=$2
server=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)/packaging/server
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() { printf '%s\n--- calls\n' "$1"; cat "$folder/calls"; exit 1; }

mkdir -p "$folder/bin" "$folder/system"
for program in deb-systemd-invoke systemctl adduser deb-systemd-helper; do
  printf '#!/bin/sh\necho "%s $*" >>%s/calls\n' "$program" "$folder" >"$folder/bin/$program"
done
printf '#!/bin/sh\nexit 2\n' >"$folder/bin/getent"  # there is no such user yet
chmod +x "$folder"/bin/*
for script in postinst prerm postrm; do
  sed "s#/run/systemd/system#$folder/system#" "$server/$script" >"$folder/$script"
done
# script NAME ARGUMENT...: as dpkg calls it.
script() {
  local name=$1
  shift
  : >"$folder/calls"
  PATH="$folder/bin:$PATH" sh "$folder/$name" "$@" || fail "$name $* ends with $?"
}
called() { grep -qx -- "$1" "$folder/calls"; }

script postinst configure ""
called 'systemctl daemon-reload' || fail "systemd does not learn of the unit"
grep -q '^adduser .* assay$' "$folder/calls" || fail "the user is not made"
! grep -q '^deb-systemd-invoke' "$folder/calls" || fail "the first installation starts or restarts it"
script postinst configure 0.1.0
called 'deb-systemd-invoke try-restart assay-server.service' || fail "an upgrade does not restart it"
script prerm upgrade 0.2.0
[ ! -s "$folder/calls" ] || fail "an upgrade stops it"
script prerm remove
called 'deb-systemd-invoke stop assay-server.service' || fail "it runs on after it was removed"
rmdir "$folder/system"
script postinst configure 0.1.0
! grep -q systemctl "$folder/calls" || fail "systemctl is called where there is no systemd"

if command -v dpkg-deb >/dev/null; then
  (cd "$build" && "$cpack" -G DEB -B "$folder/packages" -D CPACK_COMPONENTS_ALL=assay-server) >"$folder/calls" 2>&1 ||
    fail "the package cannot be made"
  described=$(dpkg-deb -f "$folder"/packages/assay-server_*.deb Description)
  grep -q '^job platform' <<<"$described" || fail "another synopsis than its own: $described"
  ! tail -n +2 <<<"$described" | grep -v '^ [^ ]' || fail "not one blank before a line of the description"
fi

command -v systemd-analyze >/dev/null || { echo "needs system: systemd-analyze"; exit 77; }
unit=$folder/assay-server.service
sed 's#^ExecStart=/usr/bin/assay #ExecStart=/bin/true #' "$server/assay-server.service" >"$unit"
problems=$(systemd-analyze verify --man=no "$unit" 2>&1 | grep -F assay-server || true)
[ -z "$problems" ] || { : >"$folder/calls"; fail "systemd-analyze verify: $problems"; }
if systemd-analyze security --help | grep -q -- --offline; then
  closed=$(systemd-analyze security --offline=true --no-pager "$unit" | sed -n 's/^✓ \([^ ]*\).*/\1/p')
  for what in 'CapabilityBoundingSet=~CAP_SYS_ADMIN' 'CapabilityBoundingSet=~CAP_SYS_TIME' SystemCallArchitectures= \
    'SystemCallFilter=~@module' 'SystemCallFilter=~@reboot' ProtectKernelLogs= NoNewPrivileges=; do
    grep -qxF -- "$what" <<<"$closed" || { : >"$folder/calls"; fail "the unit leaves open: $what"; }
  done
fi
echo "assay-server: all right"
