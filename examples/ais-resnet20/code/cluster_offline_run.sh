# The stages of benchmark.sh on this machine.
WORK_PATH=$BASE_PATH/work

init() {
    logger_Info "init called"
    [ -x "$TRAIN_COMMAND" ] || { logger_Error "there is no assay-train at $TRAIN_COMMAND"; return 1; }
    rm -rf "$WORK_PATH" && mkdir -p "$WORK_PATH" || return 1
    cat > "$WORK_PATH/config.json" <<JSON
{"data": "glyphs", "train_size": $TRAIN_SIZE, "eval_size": 500, "epochs": $EPOCHS, "eval_every": 0, "target": 0}
JSON
}

run_train() {
    logger_Info "run_train called"
    set -o pipefail  # else the status would be tee's
    ais_utils set_result training proc_start_time "$(date '+%Y-%m-%d %H:%M:%S')" || return 1
    "$TRAIN_COMMAND" resnet20 --config "$WORK_PATH/config.json" | tee "$WORK_PATH/train.log" || return 1
    ais_utils set_result training proc_end_time "$(date '+%Y-%m-%d %H:%M:%S')"
}

# The trainer evaluates at the end of every epoch.
run_eval() {
    logger_Info "run_eval called"
    accuracy=$(sed -n 's/.*"final_acc1": \([0-9.e+-]*\).*/\1/p' "$WORK_PATH/train.log")
    [ -n "$accuracy" ]
}

get_result() {
    logger_Info "get_result called"
    local finished samples seconds
    finished=$(grep '"event": "FINISHED"' "$WORK_PATH/train.log") || return 1
    samples=$(sed 's/.*"num_trained_samples": \([0-9]*\).*/\1/' <<<"$finished")
    seconds=$(sed 's/.*"train_no_eval_time": \([0-9.]*\).*/\1/' <<<"$finished")
    ais_utils set_result training throughput_ratio "$(awk "BEGIN {printf \"%.17g\", $samples / $seconds}")" &&
        ais_utils set_result training accuracy "$accuracy" &&
        ais_utils set_result training result OK
}
