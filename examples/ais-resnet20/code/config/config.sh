export RANK_SIZE=1
export DEVICE_NUM=1
export TRAIN_SIZE=${TRAIN_SIZE:-2000}  # images; more of them and more epochs give a better accuracy
export EPOCHS=1
# assay-train is beside the folder that ais_utils is in.
export TRAIN_COMMAND=${TRAIN_COMMAND:-$(dirname "$(dirname "$(command -v ais_utils)")")/assay-train}
