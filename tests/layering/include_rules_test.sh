#!/usr/bin/env bash
# The tree keeps its layers, and the check that says so can see when it does not.
set -euo pipefail
check=$1
# The real tree, not the copies that Bazel laid out for this test.
root=$(dirname "$(readlink -f "$2")")
python3 "$check" "$root"

offends() {  # FILE INCLUDE: a tree with this one include must be refused
  local tree
  tree=$(mktemp -d "$TEST_TMPDIR/tree.XXXX")
  mkdir -p "$tree/$(dirname "$1")"
  echo "#include $2" >"$tree/$1"
  if python3 "$check" "$tree" >/dev/null; then
    echo "not noticed: $1 includes $2"
    exit 1
  fi
}
offends common/base/a.h '"common/index/vector_index.h"'
offends common/formats/a.cc '"common/bundle/container.h"'
offends common/index/a.cc '"common/rpc/rpc_server.h"'
offends services/router/a.cc '"services/reranker/rerank_engine.h"'
offends common/retrieval/a.h '<grpcpp/grpcpp.h>'
offends services/router/router_config.cc '"grpcpp/grpcpp.h"'
offends common/models/model_cache.h '<faiss/Index.h>'
offends common/models/network/a.cc '"common/models/oscar/net.h"'
offends common/models/m3p/model.cc '"common/models/uniter/net.h"'
offends common/models/m3p/manifest.cc '<torch/torch.h>'
offends common/models/m3p/conversion.cc '"common/models/network/transformer.h"'
offends common/models/convert/a.cc '"common/models/m3p/net.h"'
offends services/router/status_board.h '"sightline/v1/search.pb.h"'
offends common/api/search.h '"common/retrieval/retriever.h"'
offends services/reranker/rerank_engine.h '"common/retrieval/retriever.h"'
offends common/clients/convert_search.h '"common/retrieval/retriever.h"'
offends common/retrieval/retriever.cc '"common/replicas/replicas.h"'
# A tree in which nothing was found to check is no proof.
if python3 "$check" "$(mktemp -d "$TEST_TMPDIR/empty.XXXX")" >/dev/null; then exit 1; fi
