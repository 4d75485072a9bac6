#!/usr/bin/env bash
# Trains the demo's two models from nothing: other drawings and words to learn from, the
# training set, the encoder, the reranker, and probes of both out of an index.  A run that was
# stopped goes on where it was; to learn from something else, take another FOLDER.
#
# usage: deploy/demo/train.sh FOLDER
#   FOLDER takes some 3 GB; the models end in FOLDER/encoder and FOLDER/reranker, as
#   deploy/demo/model holds them.
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
trainer=$services/trainer/trainer

# glibc gives the memory of each step back and takes it anew, which costs up to half of the
# time; so does jemalloc, unless it is told for how long to keep it.  The reranker's steps are
# all alike, so it may keep it for good.  The encoder's texts come in so many lengths that this
# would be 23 GB: 20 s, at which its pictures take nearly twice as long.
declare -A keep_ms=([encoder]=20000 [reranker]=-1)
train() {
  local keep=${keep_ms[$1]}
  LD_PRELOAD=/usr/lib/x86_64-linux-gnu/libjemalloc.so.2 \
    MALLOC_CONF=dirty_decay_ms:$keep,muzzy_decay_ms:$keep,narenas:1,oversize_threshold:0,thp:always \
    "$trainer" train --config "$demo/$1.yaml" --data "$out/set" --out "$out/run/$1" \
    --store "$out/store" "${@:2}"
}

if [ ! -e "$out/set/cache.container" ]; then
  "$demo/companions.py" "$out/companions"
  "$demo/words.py" "$out/words.jsonl"
  "$trainer" prepare --out "$out/set" --languages en --learn-names \
    --learn-from "folder:$out/companions" --learn-texts "$out/words.jsonl" --vocabulary-size 8900
fi

# PART ID: its bundle with probes, as the repository keeps it.
take() {
  local id
  id=$("$services/sightlinectl/sightlinectl" add-probes --store "$out/store" --model "$2" \
    --index images --questions "$demo/questions.jsonl")
  rm -rf "${out:?}/$1"
  cp -r "$out/store/models/$id" "$out/$1"
}

encoder=$(train encoder)
reranker=$(train reranker --retriever "$encoder")
"$services/corpus_encoder/corpus_encoder" --store "$out/store" --model "$encoder" \
  --reranker "$reranker" --corpus stamps --corpus clipart --corpus emoji
take encoder "$encoder"
take reranker "$reranker"
echo "the models are in $out/encoder and $out/reranker"
