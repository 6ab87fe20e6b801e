#!/usr/bin/env bash
# Tries the packages as a new user would: on a bare system of a release, made with debootstrap. Installs
# them, runs the suite that Assay chooses, starts the server as its own user, removes and purges them, and
# fails unless only the results are left. Needs root, debootstrap and a mirror; does not change this machine.
# usage: packaging/try-bare.sh [--archive] [--valid] [--mirror URL] [--keep FOLDER] RELEASE [PACKAGES]
#   RELEASE         bookworm, trixie, noble, … or the folder of a system that debootstrap made
#   PACKAGES        the folder that packaging/build.sh made; default: build/packages
#   --archive       unpack the archive below /opt instead of installing the packages
#   --valid         fail unless the run is VALID, with a report within two minutes of the install; for an
#                   idle machine
#   --mirror URL    default: that of this machine's apt (for Ubuntu on Debian: the same host's /ubuntu)
#   --keep FOLDER   copy the run's report there
# exit: 0 success, 2 usage, 3 the system could not be made, 5 something was wrong with the packages
set -euo pipefail
usage() { sed -n '/^# usage/,/^set/s/^# //p' "$0"; }
cd "$(dirname "${BASH_SOURCE[0]}")/.."
archive= valid= mirror= keep=
while [[ "${1:-}" = -* ]]; do
  case "$1" in
    --archive) archive=yes ;;
    --valid) valid=yes ;;
    --mirror) mirror=${2:?--mirror needs an address}; shift ;;
    --keep) keep=$(realpath -m "${2:?--keep needs a folder}"); shift ;;
    -h | --help) usage; exit 0 ;;
    *) echo "try-bare.sh: unknown option '$1'" >&2; usage >&2; exit 2 ;;
  esac
  shift
done
release=${1:-}
[ -n "$release" ] || { usage >&2; exit 2; }
packages=$(realpath -m "${2:-build/packages}")
[ -e "$packages/SHA256SUMS" ] || { echo "try-bare.sh: no packages in $packages: run packaging/build.sh" >&2; exit 2; }
[ "$(id -u)" -eq 0 ] || { echo "try-bare.sh: a system can be made and entered by root alone" >&2; exit 3; }

work=$(mktemp -d "${TMPDIR:-/tmp}/assay-try.XXXXXX")
trap 'rm -rf --one-file-system "$work"' EXIT
root=$work/root

# The first address of apt's own sources that has packages of the distribution.
own_mirror() {
  { sed -n 's/^URIs: *//p' /etc/apt/sources.list.d/*.sources 2>/dev/null
    sed -nE 's/^deb +(\[[^]]*\] +)?([^ ]+).*/\2/p' /etc/apt/sources.list 2>/dev/null; } | grep -E '/(debian|ubuntu)/?$' | head -n 1
}

if [ -d "$release" ]; then
  echo "== a copy of the system in $release"
  cp -a --one-file-system "$release" "$root"
else
  command -v debootstrap >/dev/null || { echo "try-bare.sh: debootstrap is not installed" >&2; exit 3; }
  components=main script=()
  if [ ! -e "/usr/share/debootstrap/scripts/$release" ]; then script=(/usr/share/debootstrap/scripts/gutsy); fi  # later Ubuntu
  distribution=debian
  case "$(readlink "/usr/share/debootstrap/scripts/$release" || echo gutsy)" in *gutsy*) distribution=ubuntu components=main,universe ;; esac
  [ -n "$mirror" ] || mirror=$(own_mirror | sed -E "s#/(debian|ubuntu)/?\$#/$distribution#")
  echo "== a bare $release, by debootstrap"
  debootstrap --variant=minbase --components="$components" "$release" "$root" "$mirror" "${script[@]}" >"$work/log" 2>&1 ||
    { tail -n 20 "$work/log" >&2; exit 3; }
fi

# inside COMMAND: runs it in the bare system, with processes and mounts of its own that end with it.
inside() {
  unshare --mount --pid --fork --kill-child sh -c '
    mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && mount -t tmpfs tmpfs "$0/tmp" &&
    cp --remove-destination /etc/resolv.conf "$0/etc/resolv.conf" && exec chroot "$0" /usr/bin/env -i HOME=/root \
      PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 \
      sh -c "cd /root; $1"' "$root" "$1"
}
# Files that installing and removing any package may change.
listing() {
  (cd "$root" && find . -xdev \( -path ./proc -o -path ./dev -o -path ./sys -o -path ./tmp -o -path ./var/lib/dpkg -o -path ./var/lib/apt \
    -o -path ./var/cache -o -path ./var/log -o -path ./root/results -o -path ./etc/resolv.conf -o -path ./opt/packages \) -prune -o -print |
    sort)
}
failed() { echo "try-bare.sh: $1" >&2; exit 5; }

echo force-unsafe-io >"$root/etc/dpkg/dpkg.cfg.d/trial"  # nobody needs this system after a crash
inside 'apt-get -qq update && apt-get -qq -y install --no-install-recommends ca-certificates zstd >/dev/null' || exit 3
mkdir -p "$root/opt/packages"
cp "$packages"/*.deb "$packages"/*.tar.zst "$root/opt/packages"
# Dependencies (users, lines in /etc) come and go with the packages; their leftovers are not Assay's.
listing >"$work/before"
inside 'dpkg-query -W -f "\${Package}\n" | sort' >"$work/packages.before"

SECONDS=0
if [ -n "$archive" ]; then
  echo "== unpacking the archive below /opt, with libcurl and OpenSSL from the release"
  inside '{ apt-get -qq -y install --no-install-recommends libcurl4t64 || apt-get -qq -y install --no-install-recommends libcurl4; } >/dev/null 2>&1
    mkdir /opt/assay && tar -I zstd -C /opt/assay --strip-components=1 -xf /opt/packages/*.tar.zst' || failed "it cannot be unpacked"
  assay=/opt/assay/bin/assay
else
  echo "== installing the packages with apt"
  # Without assay-train if the release has no libtorch: assay then measures what it can.
  inside 'cd /opt/packages; apt-get -qq -y install --no-install-recommends ./assay_*.deb ./assay-train_*.deb >/dev/null 2>&1 ||
    { echo "   assay-train cannot be installed here: assay alone"; apt-get -y install --no-install-recommends ./assay_*.deb >/dev/null; }' ||
    failed "the packages cannot be installed"
  assay=assay
fi
installed=$SECONDS
echo "== installed after $installed s; assay run"
code=0
inside "$assay version && $assay run" || code=$?
# 6: the run is INVALID, on a busy machine.
case $code in 0 | 6) ;; *) failed "assay run ended with $code" ;; esac
[ -s "$root"/root/results/latest/report.html ] || failed "the run has no report"
took=$((SECONDS - installed))
echo "== a report $took s after the install"
if [ -n "$valid" ]; then
  [ "$code" -eq 0 ] || failed "the run is not VALID"
  [ "$took" -le 120 ] || failed "the report came later than two minutes after the install"
fi
if [ -n "$keep" ]; then mkdir -p "$keep" && cp "$root"/root/results/latest/report.* "$keep"; fi

if [ -z "$archive" ]; then
  echo "== installing assay-server, and a first sign-in"
  inside 'apt-get -qq -y install --no-install-recommends /opt/packages/assay-server_*.deb >/dev/null 2>&1' ||
    failed "assay-server cannot be installed"
  # Does what its unit would do: systemd does not run here.
  inside 'install -d -m 700 -o assay -g assay /var/lib/assay && cd / && ls /usr/lib/systemd/system/assay-server.service >/dev/null &&
    { timeout 20 setpriv --reuid=assay --regid=assay --init-groups assay serve --data /var/lib/assay --listen 127.0.0.1:0 || true; } |
      grep -q "^sign in, once"' || failed "the server does not start as its user"
  [ -s "$root/var/lib/assay/accounts.db" ] || failed "the server has no records"
fi

echo "== removing"
if [ -n "$archive" ]; then
  rm -rf "$root/opt/assay"
else
  inside 'apt-get -qq -y remove assay >/dev/null && ! command -v assay && apt-get -qq -y purge "assay*" >/dev/null' || failed "removing failed"
fi
inside 'dpkg-query -W -f "\${Package}\n" | sort' >"$work/packages.after"
added=$(comm -13 "$work/packages.before" "$work/packages.after" | tr '\n' ' ')
[ -z "$added" ] || inside "apt-get -qq -y purge $added >/dev/null"
listing >"$work/after"
# The key that signs a user's runs belongs to the user, like the results and the server's records.
left=$(comm -13 "$work/before" "$work/after" | grep -i assay | grep -v -e '^./root/.config/assay\(/keys.*\)\?$' -e '^./var/lib/assay\(/.*\)\?$' || true)
[ -z "$left" ] || failed "left behind: $left"
comm -13 "$work/before" "$work/after" | sed '\#^./root/.config#d; \#^./var/lib/assay#d; s/^/   left by other packages: /'
[ -s "$root"/root/results/latest/report.html ] || failed "the results are gone"
echo "== nothing of Assay is left but the results, and the key that signed them"
