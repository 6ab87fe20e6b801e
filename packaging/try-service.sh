#!/usr/bin/env bash
# Tries the service of the package assay-server under a real systemd: boots this machine's own system in a
# container of systemd-nspawn, with what a build folder installs, and lets jobs run, restart, crash and end
# there. Nothing is written outside of a temporary folder, and no network is reached.
# usage: packaging/try-service.sh [--unit FILE] [BUILD]        default: build/release
#   --unit FILE    another unit than packaging/server/assay-server.service, to see what it breaks
# exit: 0 all well, 2 usage, 5 something was wrong, 77 there is no root, systemd-nspawn or overlayfs here
set -euo pipefail
usage() { sed -n '/^# usage/,/^set/s/^# //p' "$0"; }
cd "$(dirname "${BASH_SOURCE[0]}")/.."
unit=packaging/server/assay-server.service
while [[ "${1:-}" = -* ]]; do
  case "$1" in
    --unit) unit=${2:?--unit needs a file}; shift ;;
    -h | --help) usage; exit 0 ;;
    *) echo "try-service.sh: unknown option '$1'" >&2; usage >&2; exit 2 ;;
  esac
  shift
done
build=${1:-build/release}
[ -e "$build/cmake_install.cmake" ] || { echo "try-service.sh: no build in $build" >&2; exit 2; }
[ "$(id -u)" -eq 0 ] || { echo "needs root"; exit 77; }
command -v systemd-nspawn >/dev/null || { echo "needs package systemd-container"; exit 77; }

work=$(mktemp -d "${TMPDIR:-/tmp}/assay-service.XXXXXX")
root=$work/root
trap 'umount -R "$root" 2>/dev/null || true; umount "$work" 2>/dev/null || true; rm -rf --one-file-system "$work"' EXIT
# Upper folders of an overlay cannot lie on an overlay.
mount -t tmpfs none "$work"
mkdir "$work"/{root,upper,work}
mount -t overlay overlay -o "lowerdir=/,upperdir=$work/upper,workdir=$work/work" "$root" 2>/dev/null ||
  { echo "needs overlayfs"; exit 77; }
DESTDIR=$root cmake --install "$build" --prefix /usr >/dev/null
install -m 644 "$unit" "$root/usr/lib/systemd/system/assay-server.service"
rm -f "$root"/etc/systemd/system/*.wants/* "$root/etc/machine-id" "$root/etc/default/assay-server"
: >"$root/etc/machine-id"
chroot "$root" sh -c 'getent passwd assay >/dev/null || useradd --system --user-group --home /var/lib/assay --shell /usr/sbin/nologin assay'
mkdir -p "$root/etc/systemd/system/graphical.target.wants"
cat >"$root/etc/systemd/system/trial.service" <<'UNIT'
[Unit]
After=multi-user.target
[Service]
Type=oneshot
ExecStart=/bin/bash /trial.sh
ExecStopPost=/bin/systemctl --no-block poweroff
UNIT
ln -s ../trial.service "$root/etc/systemd/system/graphical.target.wants/trial.service"

cat >"$root/trial.sh" <<'TRIAL'
exec >/trial.log 2>&1
export HOME=/root ASSAY_SERVER=http://127.0.0.1:8480
try() {
  local what=$1
  shift
  if "$@" >/trial.out 2>&1; then echo "ok      $what"; else echo "FAILED  $what"; cat /trial.out; failed=1; fi
}
begins() {
  systemctl start assay-server && answers
}
answers() {
  for _ in $(seq 100); do
    curl -sf "$ASSAY_SERVER/" >/dev/null && [ -s /var/lib/assay/admin.token ] && return 0
    sleep 0.2
  done
  systemctl status assay-server --no-pager -l
  return 1
}
# job COMMAND [OPTION]...: what it prints, once it has finished.
job() {
  local command=$1
  shift
  ASSAY_TOKEN=$(cat /var/lib/assay/admin.token) assay submit --no-code --yes --follow --command "$command" "$@"
}
as_admin() { ASSAY_TOKEN=$(cat /var/lib/assay/admin.token) assay "$@"; }
becomes() {
  for _ in $(seq 200); do
    as_admin jobs --all | grep -Eq "^ *$1 .* $2 " && return 0
    sleep 0.3
  done
  as_admin jobs --all
  return 1
}
says() { local wanted=$1; shift; "$@" | tee /dev/stderr | grep -Eq -- "$wanted"; }

try "it starts, and answers" begins
try "its data are its user's alone" says '^drwx------ .* assay assay' ls -ld /var/lib/assay
try "a job runs as this user" says '^\[0\] assay$' job 'id -un'
try "a job gains no capability" says 'CapEff:[^0-9]0+$' job 'grep CapEff /proc/self/status'
try "a job writes to /tmp and its folder" says '\[0\] written' job 'touch /tmp/assay-trial here && echo written'
try "a job writes nothing to the system" says '\[0\] kept' job 'touch /etc/x 2>/dev/null || touch /usr/x 2>/dev/null || touch /root/x 2>/dev/null || echo kept'
try "a job has namespaces of its own" says '\[0\] root$' job 'unshare -Ur id -un'
if prlimit --memlock=unlimited:unlimited true 2>/dev/null; then
  try "a job may lock memory" says '\[0\] unlimited' job 'ulimit -l'
else
  echo "–       a job may lock memory: nobody may raise limits here"
fi
try "a job may write and execute memory" says '\[0\] executed' job \
  'perl -e "syscall(9, 0, 4096, 7, 34, -1, 0) != -1 and print qq(executed\n)"'
try "a job may have as many processes as its user" says '\[0\] (max|)$' job 'cat /sys/fs/cgroup/pids.max 2>/dev/null || echo'
try "a job has a control group of its own" says 'assay-server.service/assay\.' job 'cat /proc/self/cgroup'
long() { as_admin submit --no-code --yes --name long --procs 2 --command 'sleep 45; echo done'; }
try "a job of a while begins" long
number=$(as_admin jobs | awk '/long/ {print $1; exit}')
try "it runs" becomes "$number" running
try "a shell gets into it" says '^assay$' as_admin ssh "$number" -- id -un
try "it lives on when the server is restarted" eval 'systemctl restart assay-server && answers && becomes "$number" running'
crash() {
  systemctl kill --kill-who=main --signal=KILL assay-server
  sleep 7
  answers && systemctl is-active assay-server
}
try "a server that was killed is started again" crash
try "the job lives on after that" becomes "$number" running
try "it lives on while the server is stopped" eval 'systemctl stop assay-server && pgrep -u assay -f "sleep 45"'
try "the server finds it again" eval 'begins && becomes "$number" "(running|finished)"'
try "it finishes" becomes "$number" finished
try "its output is whole" says '\[1\] done' as_admin job "$number" --logs

mkdir -p /etc/systemd/system/assay-server.service.d
printf 'ASSAY_SERVE_OPTIONS=--listen 127.0.0.1:80\n' >/etc/default/assay-server
printf '[Service]\nAmbientCapabilities=CAP_NET_BIND_SERVICE\n' >/etc/systemd/system/assay-server.service.d/port.conf
export ASSAY_SERVER=http://127.0.0.1:80
try "a drop-in lets it listen on a port below 1024" eval 'systemctl daemon-reload && systemctl restart assay-server && answers'
rm /etc/systemd/system/assay-server.service.d/port.conf
useradd --create-home train
printf 'ASSAY_SERVE_OPTIONS=--job-user train\n' >/etc/default/assay-server
printf '[Service]\nUser=root\nGroup=root\nCapabilityBoundingSet=~\nProtectHome=no\n' >/etc/systemd/system/assay-server.service.d/root.conf
export ASSAY_SERVER=http://127.0.0.1:8480
try "a drop-in makes it root's" eval 'systemctl daemon-reload && systemctl restart assay-server && answers'
try "jobs are another user's then, in their home" says '^\[0\] train /home/train' job 'echo $(id -un) $(cd && touch here && pwd)'
journalctl -u assay-server --no-pager -p warning | grep -v 'left-over process\|unclean termination\|remains running' | tail -n 20
systemd-analyze security assay-server --no-pager | tail -n 1
[ -z "${failed:-}" ] && touch /trial.passed
TRIAL

timeout 600 systemd-nspawn -q --boot -D "$root" -M "assay-$$" --private-network --tmpfs=/tmp --register=no --keep-unit \
  --link-journal=no </dev/null >"$work/boot.log" 2>&1 || true
[ -e "$root/trial.log" ] || { tail -n 30 "$work/boot.log"; echo "the system did not boot"; exit 77; }
cat "$root/trial.log"
[ -e "$root/trial.passed" ] || exit 5
