# Fits y = 3x + 1 by gradient descent, once on every card, and leaves the files that ais-bench jobs leave.
# A workload as small as it can be: what matters here is the way to the cloud and back.
set -eu
for argument in "$@"; do
  case $argument in
    --train_url=*) out=${argument#*=} ;;
    --samples=*) samples=${argument#*=} ;;
    --epochs=*) epochs=${argument#*=} ;;
  esac
done
cards=$MA_NUM_GPUS
rank=$((RANK_ID % cards)) # every server trains alone
server=$VC_TASK_INDEX
mkdir -p "$out/$server"
echo "$GREETING from card $rank of server $server"
start=$(date +%s.%N)
accuracy=$(awk -v samples="$samples" -v epochs="$epochs" -v seed="$((server * cards + rank))" 'BEGIN {
  srand(seed); w = 0; b = 0
  for (epoch = 1; epoch <= epochs; ++epoch)
    for (i = 0; i < samples; ++i) {
      x = rand(); error = w * x + b - (3 * x + 1)
      w -= 0.1 * error * x; b -= 0.1 * error
    }
  for (i = 0; i < 1000; ++i) { x = rand(); error = w * x + b - (3 * x + 1); if (error * error < 1e-4) ++good }
  printf "%.6f", good / 1000
}')
end=$(date +%s.%N)
awk -v n="$((samples * epochs))" -v start="$start" -v end="$end" 'BEGIN { printf "%.6f\n", n / (end - start) }' \
  > "$out/$server/throughput_$rank.json"
if [ "$rank" = 0 ]; then
  echo "$accuracy" > "$out/accuracy_$server.json"
  echo "$cards" > "$out/ranksize.json"
fi
echo "card $rank of server $server: accuracy $accuracy"
