#!/usr/bin/env bash
# Trains the demo's model from nothing: other drawings and words to learn from, the training
# set, an encoder, and out of it encoder and reranker in one; then probes out of an index.  A run
# that was stopped goes on where it was; to learn from something else, take another FOLDER.
#
# usage: deploy/demo/train.sh FOLDER
#   FOLDER takes some 5 GB; the model ends in FOLDER/model, as deploy/demo/model holds it.
set -euo pipefail

if [ $# != 1 ] || [ "${1#-}" != "$1" ]; then
  sed -n '2,/^set /s/^# \{0,1\}//p' "$0"
  exit 2
fi
demo=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$demo/../.." && pwd)
mkdir -p "$1"
out=$(cd "$1" && pwd)

"$root/deploy/bazel/setup.sh" "$demo/packages.txt" "$demo/training_packages.txt"
(cd "$root" && bazel build //services/trainer //services/corpus_encoder //services/sightlinectl)
services=$(cd "$root" && bazel info bazel-bin 2>/dev/null)/services
trainer=$services/trainer/trainer ctl=$services/sightlinectl/sightlinectl

# glibc gives the memory of each step back and takes it anew, which costs pixels up to half of the
# time; so does jemalloc, unless it is told for how long to keep it.  For good would be 23 GB, since
# texts come in so many lengths.  Rows of the grid are learnt three times as fast without it.
with_kept_memory() {
  LD_PRELOAD=/usr/lib/x86_64-linux-gnu/libjemalloc.so.2 \
    MALLOC_CONF=dirty_decay_ms:20000,muzzy_decay_ms:20000,narenas:1,oversize_threshold:0,thp:always \
    "$@"
}

# The path of a file like FILE, in a precision that this CPU computes fast: without instructions for
# bfloat16 it takes many times as long as float32, or is refused.
of_this_cpu() {  # FILE
  if grep -qwE 'amx_bf16|avx512_bf16' /proc/cpuinfo; then echo "$demo/$1"; return; fi
  sed 's/^precision: bfloat16.*/precision: float32/' "$demo/$1" >"$out/$1"
  echo "$out/$1"
}
encoder_config=$(of_this_cpu encoder.yaml)
recipe=$(of_this_cpu joint.yaml)

if [ ! -e "$out/set/cache.container" ]; then
  "$demo/companions.py" "$out/companions"
  "$demo/words.py" "$out/words.jsonl"
  "$trainer" prepare --out "$out/set" --learn-names \
    --learn-from "folder:$out/companions" --learn-texts "$out/words.jsonl" --vocabulary-size 8900
fi

encoder=$(with_kept_memory "$trainer" train --config "$encoder_config" --data "$out/set" \
  --out "$out/run/encoder" --store "$out/store")
regions=$out/${encoder:0:12}.regions  # of another encoder they would fit, and be wrong
[ -e "$regions" ] || "$trainer" extract --store "$out/store" --model "$encoder" --data "$out/set" \
  --changed-copies 5 --changes "$encoder_config" --out "$regions"
both=$("$ctl" init-model --store "$out/store" --config "$demo/model.json" --weights-of "$encoder")
model=$("$trainer" learn --recipe "$recipe" --start "$both" --corpus "regions:$regions" \
  --out "$out/run/joint" --store "$out/store" --processes "$(nproc)")
"$services/corpus_encoder/corpus_encoder" --store "$out/store" --model "$model" \
  --corpus stamps --corpus clipart --corpus emoji
model=$("$ctl" add-probes --store "$out/store" --model "$model" --index images \
  --questions "$demo/questions.jsonl")
rm -rf "${out:?}/model"
cp -r "$out/store/models/$model" "$out/model"
echo "the model is in $out/model"
