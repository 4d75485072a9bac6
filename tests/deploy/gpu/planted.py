"""What Bazel's aquery says of a small build, and what a machine has to build it with."""


class Query:
    """Collects actions, and spells paths as aquery does: each name points to the folder's."""

    def __init__(self):
        self.json = {"actions": [], "artifacts": [], "pathFragments": [], "targets": []}
        self._fragments, self._artifacts = {}, {}

    def add(self, mnemonic, outputs, arguments=(), target=None):
        action = {"mnemonic": mnemonic, "arguments": list(arguments),
                  "outputIds": [self._artifact(path) for path in outputs]}
        action["primaryOutputId"] = action["outputIds"][0]
        if target:
            self.json["targets"].append({"id": len(self.json["targets"]) + 1, "label": target})
            action["targetId"] = len(self.json["targets"])
        self.json["actions"].append(action)

    def _artifact(self, path):
        if path not in self._artifacts:
            self._artifacts[path] = len(self._artifacts) + 1
            self.json["artifacts"].append({"id": self._artifacts[path], "pathFragmentId": self._fragment(path)})
        return self._artifacts[path]

    def _fragment(self, path):
        if path not in self._fragments:
            folder, _, name = path.rpartition("/")
            parent = self._fragment(folder) if folder else None
            self._fragments[path] = len(self._fragments) + 1
            entry = {"id": self._fragments[path], "label": name}
            self.json["pathFragments"].append(entry | ({"parentId": parent} if parent else {}))
        return self._fragments[path]


BIN = "bazel-out/k8-opt/bin/"
_FLAGS = ["-Wall", "-O2", "-DNDEBUG", "-std=c++0x", "-MD", "-fPIC", "-DSIGHTLINE_PACKAGES=abc", "-march=x86-64-v3",
          "-std=c++17", "-Werror", '-D__DATE__="redacted"']


def compiled(query, source, output, *more):
    query.add("CppCompile", [BIN + output, BIN + output.replace(".o", ".d")],
              ["/usr/bin/gcc", *_FLAGS, *more, "-MF", BIN + output.replace(".o", ".d"), f"-frandom-seed={output}",
               "-iquote", ".", "-c", source, "-o", BIN + output])


def small_build():
    """A program of one object and, lazily, of three, of which one is CUDA's and one generated."""
    query = Query()
    compiled(query, "tool/main.cc", "tool/_objs/main/main.pic.o", "-include", "deploy/bazel/precompiled.h")
    compiled(query, BIN + "protos/a.pb.cc", "protos/_objs/a/a.pb.pic.o", "-w")
    compiled(query, "external/faiss/faiss/sums.cpp", "external/faiss/_objs/faiss/sums.pic.o", "-DFINTEGER=int", "-O3")
    compiled(query, "net/net.cc", "net/_objs/net/net.pic.o", "-include", "deploy/bazel/precompiled_torch.h",
             "-isystem", "external/system/torch_api_include")
    query.add("CudaCompile", [BIN + "scan/scan_cuda.o"],
              ["nvcc", "-std=c++17", "-O3", "-Xcompiler=-fPIC", "-DFINTEGER=int", "-w", "-Werror=all-warnings", "-D",
               "SIGHTLINE_PACKAGES=abc",
               "-gencode=arch=compute_90,code=sm_90", "-I.", "-I", "external/x", "-c", "scan/scan.cu", "-o",
               BIN + "scan/scan_cuda.o"])
    lazy = ["protos/_objs/a/a.pb.pic.o", "external/faiss/_objs/faiss/sums.pic.o", "net/_objs/net/net.pic.o",
            "scan/scan_cuda.o"]
    arguments = ["/usr/bin/gcc", "-o", BIN + "tool/tool", BIN + "tool/_objs/main/main.pic.o"]
    for path in lazy:
        arguments += ["-Wl,--start-lib", BIN + path, "-Wl,--end-lib"]
    query.add("CppLink", [BIN + "tool/tool"], arguments + ["-L/usr/local/cuda/lib64", "-lcublasLt", "-lyaml-cpp",
                                                           "-lopenblas", "-ltorch_cpu", "-lyaml-cpp", "-lpthread"])
    query.add("Genrule", [BIN + "protos/a.pb.cc", BIN + "protos/a.pb.h"], target="//protos:a_generate")
    return query


def tools(**more):
    return {"g++": "/bin/g++", "ar": "/bin/ar", "ninja": "/bin/ninja", "architecture": "90", "gpus": [],
            "torch": {"where": "/t", "version": "2.6.0", "includes": ["/t/include"], "libraries": ["/t/lib"]},
            "cuda": {"nvcc": "/c/bin/nvcc", "brought": [], "runtime": "/c/lib64/libcudart_static.a",
                     "cublas": "/c/lib64/libcublas.so", "cublas_lt": "/c/lib64/libcublasLt.so", "includes": ["/c/include"]}} | more
