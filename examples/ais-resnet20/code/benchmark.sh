#!/bin/bash
# Four stages in order; the exit code says which one failed.
CODE_PATH=$(cd "$(dirname "$0")" && pwd)
BASE_PATH=$(dirname "$CODE_PATH")
export CODE_PATH BASE_PATH
RUNTYPE="cluster_offline"

. "$CODE_PATH/common/log_util.sh"
. "$CODE_PATH/config/config.sh"
. "$CODE_PATH/${RUNTYPE}_run.sh"

init || { logger_Error "init failed"; exit 1; }
run_train || { logger_Error "run_train failed"; exit 2; }
run_eval || { logger_Error "run_eval failed"; exit 3; }
get_result || { logger_Error "get_result failed"; exit 4; }
