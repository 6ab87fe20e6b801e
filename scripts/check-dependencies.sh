#!/usr/bin/env bash
# Fails when a folder of src/ includes another one that it may not use: dependencies point one way.
# The table is the one of docs/architecture.md.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

declare -A may_use=(
  [core]=""
  [config]="core"
  [stats]="core"
  [perflog]="core"
  [telemetry]="core"
  [probe]="core"
  [transfer]="core"
  [catalog]="core config telemetry"
  [plan]="core config catalog"
  [rendezvous]="core plan"
  [store]="core plan"
  [judge]="core stats perflog telemetry catalog plan store"
  [import]="core config"
  [agent]="core perflog telemetry probe transfer"
  [launch]="core probe telemetry transfer plan rendezvous store agent"
  [report]="core judge plan store"
)

failed=0
for folder in src/*/; do
  name=$(basename "$folder")
  if [ -z "${may_use[$name]+known}" ]; then
    echo "src/$name is not in the table of scripts/check-dependencies.sh"
    failed=1
    continue
  fi
  while IFS=: read -r file line include; do
    used=$(sed -E 's/.*#include "([a-z_]+)\/.*/\1/' <<<"$include")
    case " $name ${may_use[$name]} " in
      *" $used "*) ;;
      *) echo "$file:$line: src/$name may not use src/$used (it may use: ${may_use[$name]:-nothing})"; failed=1 ;;
    esac
  done < <(grep -rnE '#include "[a-z_]+/' "$folder" --include='*.h' --include='*.cpp' || true)
done
if grep -rnE '#include "(\.\./)*apps/' src; then
  echo "src/ may not use apps/"
  failed=1
fi
exit $failed
