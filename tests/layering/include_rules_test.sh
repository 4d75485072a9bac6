#!/usr/bin/env bash
# The tree keeps its layers, and the check that says so can see when it does not.
set -euo pipefail
check=$1
# The real tree, not the copies that Bazel laid out for this test.
root=$(dirname "$(readlink -f "$2")")
python3 "$check" "$root"

judge() {  # FILE LINE: of a tree with this one line
  local tree
  tree=$(mktemp -d "$TEST_TMPDIR/tree.XXXX")
  mkdir -p "$tree/$(dirname "$1")"
  echo "$2" >"$tree/$1"
  python3 "$check" "$tree" >/dev/null
}
refused() {
  if judge "$@"; then echo "not noticed: $1 has $2"; exit 1; fi
}
offends() {  # FILE INCLUDE
  refused "$1" "#include $2"
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
offends common/rpc/call_gate.cc '<grpcpp/server_context.h>'
offends common/rpc/call_gate.h '"common/rpc/grpc_status.h"'
offends services/router/status_board.h '"sightline/v1/search.pb.h"'
offends common/api/search.h '"common/retrieval/retriever.h"'
offends services/reranker/rerank_engine.h '"common/retrieval/retriever.h"'
offends common/clients/convert_search.h '"common/retrieval/retriever.h"'
offends common/retrieval/retriever.cc '"common/replicas/replicas.h"'
# A family knows of no device.
for line in 'at::from_blob(p, {2})' 'x.data_ptr<float>()' 'x.to(at::kCUDA)' \
  'executor_(NewPackedExecutor(e))' '#include "common/models/network/packed_executor.h"'; do
  refused common/models/m3p/model.cc "$line"
  judge common/models/network/executor.cc "$line"
done
judge common/models/m3p/model.cc 'NewExecutor(e, options.execution, options.pool)'
refused common/clients/a.cc 'grpc::InsecureChannelCredentials()'
refused services/router/router_service.cc 'grpc::SslServerCredentials(options)'
refused common/clients/a.cc 'grpc::experimental::LocalServerCredentials(type)'
judge common/rpc/credentials.cc 'grpc::InsecureChannelCredentials()'
judge common/rpc/tls_credentials.cc 'grpc::experimental::TlsCredentials(options)'
judge common/clients/a.cc 'std::shared_ptr<grpc::ChannelCredentials> given;'
# What is in no layer is not let pass unseen.
refused common/lost/a.h '#include <string>'
judge common/base/a.h '#include <string>'
# Locks have one home, for tests too; comments may speak of others.
for line in '#include <mutex>' '#include <condition_variable>' 'std::mutex mutex_;' \
  'std::lock_guard<Mutex> lock(mutex_);' 'std::shared_lock lock(mutex_);' 'absl::Mutex mutex_;' \
  '#include "absl/synchronization/mutex.h"'; do
  refused common/base/clock.h "$line"
  refused tests/support/gate.h "$line"
  judge common/base/mutex.h "$line"
  judge common/base/mutex.cc "$line"
done
judge common/base/clock.h '// Not a std::mutex.'
judge common/base/library_locks.cc '#include "absl/synchronization/mutex.h"'
refused common/base/library_locks.h '#include "absl/synchronization/mutex.h"'
refused common/base/library_locks.cc 'absl::Mutex mutex_;'
# What Debian 12 and 13 name differently has one home.
refused tests/common/base/a_test.cc 'using Catch::Matchers::Contains;'
refused tests/common/base/a_test.cc '#include <catch2/catch.hpp>'
judge tests/common/base/a_test.cc 'using Catch::Contains;'
judge tests/support/catch.h 'using Matchers::EndsWith;  // Catch::Matchers of version 3'
# A tree in which nothing was found to check is no proof.
if python3 "$check" "$(mktemp -d "$TEST_TMPDIR/empty.XXXX")" >/dev/null; then exit 1; fi
