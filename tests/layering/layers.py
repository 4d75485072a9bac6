"""Which folder may include which, and where outside libraries are named.

include_rules.py holds the tree to it, maps.py draws it into READMEs.
"""

# An include may go to a lower layer, or stay in its own.
LAYERS = [
    ["common/base"],
    ["common/formats", "common/metrics", "common/log", "common/kernels", "common/device"],
    ["common/bundle", "common/batching", "common/image", "common/tokenizer", "common/embedding"],
    ["common/models", "common/index", "common/dataset", "common/generations", "common/api"],
    ["common/retrieval", "common/replicas", "common/evaluation", "common/training",
     "common/object_store", "common/scenes"],
    ["common/rpc", "common/clients", "common/config", "common/plot", "common/indexing"],
    ["services"],
    ["tests", "loadtest", "deploy"],
]

# Outside libraries and the router's policy: a name, how an include of it begins, and the only
# folders that may have one.  "services/*_service" are the files of that name in any service.
OWNERS = [
    ("LibTorch", r"(torch|ATen|c10|caffe2)/",
     ["common/models", "common/training", "services/trainer"]),
    ("FAISS", r"faiss/", ["common/index", "deploy/gpu"]),
    ("CUDA", r"(cuda_|cublas|nvtx)", ["common/device"]),
    ("gRPC", r"grpc(pp)?/", ["common/rpc", "common/clients", "services/*_service"]),
    ("messages of the wire, `sightline/v1/*.pb.h`", r"sightline/v1/",
     ["common/rpc", "common/clients", "services/*_service", "services/sightlinectl"]),
    ("prometheus-cpp", r"prometheus/", ["common/metrics"]),
    ("cpp-httplib", r"httplib", ["common/metrics"]),
    ("libcurl", r"curl/", ["common/object_store"]),
    ("yaml-cpp", r"yaml-cpp/", ["common/config"]),
    ("spdlog, fmt", r"(spdlog|fmt)/", ["common/log"]),
    ("SentencePiece", r"sentencepiece_(processor|trainer)\.h", ["tests"]),
    ("ICU", r"unicode/", ["common/tokenizer", "common/dataset"]),
    ("the policy of a search", r"common/retrieval/",
     ["common/retrieval", "common/evaluation", "services/router"]),
    ("replicas", r"common/replicas/", ["common/replicas", "services/router"]),
]
