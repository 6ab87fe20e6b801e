#!/usr/bin/env bash
# Fails when a folder of src/ includes another one that it may not use: dependencies point one way.
# The table is the one of docs/architecture.md.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

declare -A may_use=(
  [core]=""
  [config]="core"
  [stats]="core"
  [automl]="core stats"
  [perflog]="core"
  [telemetry]="core"
  [probe]="core"
  [transfer]="core"
  [catalog]="core config telemetry"
  [plan]="core config catalog automl"
  [rendezvous]="core plan"
  [store]="core plan"
  [judge]="core aisbench stats automl perflog telemetry catalog plan store"
  [import]="core config"
  [agent]="core perflog telemetry probe transfer"
  [launch]="core automl probe telemetry transfer plan rendezvous store agent http cloud aisbench"
  [report]="core automl judge plan store"
  [http]="core"
  [cloud]="core http"
  [aisbench]="core"
  [emulator]="core http cloud"
  [serve]="core http judge plan report store"
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
  done < <(grep -rnE '#include "[a-z_]+/' "$folder" --include="*.h" --include="*.cpp" --include="*.cu" --include="*.cuh" || true)
done
if grep -rnE '#include "(\.\./)*(apps|train)/' src; then
  echo "src/ may not use apps/ or train/"
  failed=1
fi
# The input pipeline is built without libtorch and knows nothing of what is trained.
if grep -rnE '#include [<"](torch|ATen|c10)/|#include "train/' train/data | grep -v '"train/data/'; then
  echo "train/data may use core and itself alone"
  failed=1
fi
if grep -rnE '#include "[a-z_]+/' train/data | grep -vE '"(core|train)/'; then
  echo "train/data may use core and itself alone"
  failed=1
fi
# The other folders of train/, which link libtorch.
declare -A train_may_use=(
  [cuda]="core train/cuda"
  [models]="core automl train/cuda train/models"
  [optim]="core train/cuda train/optim"
  [parallel]="core train/optim train/parallel"
  [loop]="core config perflog train/data train/models train/optim train/parallel train/loop"
  [automl]="core automl perflog train/data train/loop train/models train/optim train/parallel train/automl"
  [micro]="core perflog train/loop train/models train/parallel train/micro"
)
for name in "${!train_may_use[@]}"; do
  [ -d "train/$name" ] || continue
  while IFS=: read -r file line include; do
    used=$(sed -E 's/.*#include "((train\/)?[a-z_]+)(\.h|\/).*/\1/' <<<"$include")
    case " train/torch train/maybe_tensor train/update_terms ${train_may_use[$name]} " in
      *" $used "*) ;;
      *) echo "$file:$line: train/$name may not use $used (it may use: ${train_may_use[$name]})"; failed=1 ;;
    esac
  done < <(grep -rnE '#include "[a-z_]+/' "train/$name" --include="*.h" --include="*.cpp" --include="*.cu" --include="*.cuh" || true)
done
exit $failed
