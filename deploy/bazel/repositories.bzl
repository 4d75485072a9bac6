"""Every outside thing the build uses, found on this machine.

Nothing here touches the network except the download of FAISS, and that is satisfied from
--distdir when deploy/bazel/setup.sh has put the archive there.
"""

_CPP_TOOLCHAIN_SHIM = """
def use_cpp_toolchain(mandatory = True):
    return ["@bazel_tools//tools/cpp:toolchain_type"]
"""

def _rules_cc_impl(ctx):
    # rules_cc 0.0.4 loads use_cpp_toolchain from bazel_tools, which 4.2.3 lacks.
    ctx.execute(["cp", "-rL", "/usr/share/bazel/rules/cc/cc", "cc"])
    ctx.file("cc/use_cpp_toolchain.bzl", _CPP_TOOLCHAIN_SHIM)
    for name in ["cc_flags_supplier", "compiler_flag"]:
        path = "cc/private/rules_impl/" + name + ".bzl"
        text = ctx.read(path)
        text = text.replace(
            "load(\"@bazel_tools//tools/cpp:toolchain_utils.bzl\", \"find_cpp_toolchain\", \"use_cpp_toolchain\")",
            "load(\"@bazel_tools//tools/cpp:toolchain_utils.bzl\", \"find_cpp_toolchain\")\n" +
            "load(\"//cc:use_cpp_toolchain.bzl\", \"use_cpp_toolchain\")",
        )
        ctx.delete(path)
        ctx.file(path, text)
    ctx.file("WORKSPACE", "")
    ctx.file("BUILD", "")

_rules_cc = repository_rule(implementation = _rules_cc_impl, local = True)

_CXX_PACKAGES = [
    "g++",
    "libabsl-dev",
    "libgrpc++-dev",
    "libprotobuf-dev",
    "protobuf-compiler-grpc",
    "libtorch-dev",
    "libopenblas-dev",
    "prometheus-cpp-dev",
    "libyaml-cpp-dev",
    "catch2",
    "libcpp-httplib-dev",
    "libicu-dev",
    "libjpeg62-turbo-dev",
    "libspng-dev",
    "libwebp-dev",
    "libisal-dev",
    "libssl-dev",
    "libpugixml-dev",
    "libcurl4-openssl-dev",
    "libspdlog-dev",
    "nlohmann-json3-dev",
    "libbenchmark-dev",
]

# What libgrpc.a refers to, beside Abseil, which whoever links it names anyway.
_GRPC_NEEDS = ["-lgpr", "-lupb", "-laddress_sorting", "-lre2", "-lcares", "-lssl", "-lcrypto", "-lz"]

def _system_impl(ctx):
    # Headers under /usr/include are not declared inputs, so an upgraded package would leave
    # stale objects in clones and in the disk cache.  A declared header would not do: Bazel
    # drops it from the inputs of what does not include it, once that is compiled.
    versions = ctx.execute(["bash", "-c", 'set -o pipefail; dpkg-query -W "$@" | sha256sum', "_"] + _CXX_PACKAGES)
    if versions.return_code != 0:
        fail("packages are missing; run deploy/bazel/setup.sh first:\n" + versions.stderr)
    defines = ["SIGHTLINE_PACKAGES=" + versions.stdout[:16]]
    gloo = ctx.execute(["bash", "-c", "set -o pipefail; dpkg-query -W libgloo-dev | sha256sum"])
    if gloo.return_code != 0:
        fail("packages are missing; run deploy/bazel/setup.sh first:\n" + gloo.stderr)

    torch_linkopts = []
    home = ctx.os.environ.get("LIBTORCH_HOME", "")
    if home:
        _check_abi(ctx, home)
        ctx.symlink(home + "/include", "torch_include")
        torch_linkopts = ["-L" + home + "/lib", "-Wl,-rpath," + home + "/lib"]
    else:
        # Debian keeps the C++ front end (torch/torch.h) off the default search path.
        ctx.symlink("/usr/include/torch/csrc/api/include", "torch_api_include")
    has_nccl, nccl_includes = _nccl(ctx, home)

    # What libtorch_cuda.so needs itself is the loader's to find.
    nccl_linkopts = ["-Wl,--allow-shlib-undefined", "-ltorch_cuda", "-lc10_cuda"]
    for i, folder in enumerate(nccl_includes):
        ctx.symlink(folder, "nccl_include/%d" % i)
    ctx.template(
        "BUILD.bazel",
        Label("//deploy/bazel:system.BUILD"),
        substitutions = {
            "%{nccl_defines}": repr(["SIGHTLINE_NCCL"] if has_nccl else []),
            "%{nccl_includes}": repr(["nccl_include/%d" % i for i in range(len(nccl_includes))]),
            "%{nccl_linkopts}": repr(nccl_linkopts if has_nccl else []),
            "%{defines}": repr(defines),
            "%{gloo_defines}": repr(["SIGHTLINE_GLOO_PACKAGE=" + gloo.stdout[:16]]),
            "%{torch_includes}": repr(["torch_include", "torch_include/torch/csrc/api/include"] if home else ["torch_api_include"]),
            "%{torch_linkopts}": repr(torch_linkopts),
            "%{absl_linkopts}": repr(_absl_linkopts(ctx)),
            "%{catch2_linkopts}": repr(_catch2_linkopts(ctx)),
        },
    )
    _add_static_grpc(ctx)
    ctx.file("WORKSPACE", "")

# The folder static_grpc, where a linker that is told to look there first (sl_cc_program) finds
# gRPC's archives instead of its shared libraries.  Empty where the distribution has none.
def _add_static_grpc(ctx):
    found = ctx.execute(["bash", "-c", "ls /usr/lib/*/libgrpc.a"]).stdout.split("\n")
    if not found[0]:
        ctx.file("static_grpc/README", "no archives of gRPC are installed\n")
        return
    folder = found[0][:-len("/libgrpc.a")]
    for name in ["grpc++", "gpr"]:
        ctx.symlink("%s/lib%s.a" % (folder, name), "static_grpc/lib%s.a" % name)
    ctx.file("static_grpc/libgrpc.a", "INPUT(%s %s)\n" % (found[0], " ".join(_GRPC_NEEDS)))

# A constructor of c10::Error that takes a string of the C++11 ABI.  It is the library that is
# asked: TorchConfig.cmake no longer tells the ABI since there is but one to choose from.
_STRING_SYMBOL = "_ZN3c105ErrorC1E[A-Za-z0-9_]*NSt7__cxx1112basic_string"

def _check_abi(ctx, home):
    library = home + "/lib/libc10.so"
    for needed in [library, home + "/include/torch/csrc/api/include/torch/torch.h"]:
        if not ctx.path(needed).exists:
            fail("LIBTORCH_HOME=%s is not a LibTorch with its headers: there is no %s" % (home, needed))
    if ctx.execute(["grep", "-qaE", _STRING_SYMBOL, library]).return_code != 0:
        fail(("LIBTORCH_HOME=%s is not a LibTorch built with the C++11 ABI " % home) +
             ("(no symbol in %s is like %s); " % (library, _STRING_SYMBOL)) +
             "take one of 2.7 or later, or the archive marked cxx11-abi")

# Where CUDA's toolkit may lie.
def _toolkits(ctx):
    homes = [ctx.os.environ.get("CUDA_HOME", ""), "/usr/local/cuda"]
    on_path = ctx.which("nvcc")
    if on_path:
        homes.append(str(on_path.realpath.dirname.dirname))
    return [home for home in homes if home]

# What LibTorch's headers of NCCL include from elsewhere.
_NCCL_HEADERS = ["cuda_runtime_api.h", "cublas_v2.h", "cublasLt.h", "cusparse.h", "cusolverDn.h", "nccl.h"]

# Whether NCCL can be called through LibTorch, and folders of headers for that.
def _nccl(ctx, home):
    library = home + "/lib/libtorch_cuda.so"
    if (not home or not ctx.path(library).exists or
        ctx.execute(["grep", "-qa", "_ZN4c10d16ProcessGroupNCCLC1E", library]).return_code != 0):
        return False, []

    # Beside LibTorch, where a wheel has what it was built with; then as for the rest.
    wheels = ctx.path(home + "/../nvidia")
    folders = [str(part) + "/include" for part in (wheels.readdir() if wheels.exists else [])]
    folders += [folder + "/include" for folder in _toolkits(ctx)] + ["/usr/include"]
    includes = []
    for header in _NCCL_HEADERS:
        found = [folder for folder in folders if ctx.path(folder + "/" + header).exists]
        if not found:
            # buildifier: disable=print
            print(("LIBTORCH_HOME=%s has NCCL, but there is no %s in %s: " % (home, header, ", ".join(folders))) +
                  "processes that learn on GPUs will exchange through their hosts' memory")
            return False, []

        # The compiler looks into /usr/include by itself.
        if found[0] not in includes + ["/usr/include"]:
            includes.append(found[0])
    return True, includes

def _absl_linkopts(ctx):
    found = ctx.execute(["bash", "-c", "ls /usr/lib/*/libabsl_*.so"]).stdout.split("\n")
    names = [path.split("/lib")[-1][:-len(".so")] for path in found if path]

    # Which of them a program needs the linker knows best.  All of them would not do either:
    # Debian 13's absl_log_flags and LibTorch's c10 both define FLAGS_minloglevel, and with
    # both in one process it ends before main().
    return ["-Wl,--push-state,--as-needed"] + ["-l" + name for name in sorted(names)] + ["-Wl,--pop-state"]

def _catch2_linkopts(ctx):
    # Version 2 is a header alone.
    return ["-lCatch2"] if ctx.path("/usr/include/catch2/catch_test_macros.hpp").exists else []

_system = repository_rule(
    implementation = _system_impl,
    local = True,
    environ = ["LIBTORCH_HOME", "CUDA_HOME", "PATH"],
)

def _faiss_impl(ctx):
    # Not http_archive: Debian 13's Bazel dies when it unpacks a tar archive itself, as one of
    # the Java classes for that is missing.
    ctx.download(
        "https://github.com/facebookresearch/faiss/archive/refs/tags/v1.7.3.tar.gz",
        output = "archive.tar.gz",
        sha256 = "3e4fac26d8c9e9008ecea4ae5fc414c658998fce4ba75835058b1a71d3516002",
    )
    unpacked = ctx.execute(["tar", "-xzf", "archive.tar.gz", "--strip-components=1"])
    if unpacked.return_code != 0:
        fail("FAISS's archive could not be unpacked: " + unpacked.stderr)
    ctx.delete("archive.tar.gz")
    ctx.symlink(Label("//deploy/bazel:faiss.BUILD"), "BUILD.bazel")
    ctx.file("WORKSPACE", "")

_faiss = repository_rule(implementation = _faiss_impl)

# The toolkit that --config=cuda compiles with, where there is one.
_CUDA_BUILD = """
package(default_visibility = ["//visibility:public"])

# With what LibTorch's headers for CUDA ask for beside the toolkit's, which a LibTorch without CUDA
# does not bring.
cc_library(
    name = "headers",
    hdrs = glob(
        ["include/**", "of_torch/**"],
        allow_empty = True,
    ),
    includes = ["include", "of_torch"],
)

cc_library(
    name = "runtime",
    linkopts = %s,
)

# Of the machine that the program runs on, too: it is half a gigabyte.
cc_library(
    name = "cublas_lt",
    linkopts = %s,
)

cc_library(
    name = "cublas",
    linkopts = %s,
)
"""

def _cuda_impl(ctx):
    nvcc, version, runtime, cublas_lt, cublas = "", "", [], [], []
    for home in _toolkits(ctx):
        if nvcc or not ctx.path(home + "/bin/nvcc").exists:
            continue
        if home != "/usr":
            ctx.symlink(home + "/include", "include")
        nvcc = home + "/bin/nvcc"
        version = ctx.execute([nvcc, "--version"]).stdout.split("release ")[-1].split(",")[0]
        folder = home + "/lib64"
        runtime = ["-L" + folder, "-lcudart_static", "-ldl", "-lrt", "-lpthread"]
        cublas_lt = ["-L" + folder, "-lcublasLt", "-Wl,-rpath," + folder]
        cublas = ["-L" + folder, "-lcublas", "-Wl,-rpath," + folder]
    ctx.file("of_torch/c10/cuda/impl/cuda_cmake_macros.h", "#define C10_CUDA_BUILD_SHARED_LIBS\n")
    has_nccl = [ctx.path(home + "/nccl.h").exists for home in [str(ctx.path("include")), "/usr/include"]]
    ctx.file("toolkit.bzl", "NVCC = %s\nVERSION = %s\nNCCL = %s\n" % (repr(nvcc), repr(version), any(has_nccl)))
    ctx.file("BUILD.bazel", _CUDA_BUILD % (repr(runtime), repr(cublas_lt), repr(cublas)))
    ctx.file("WORKSPACE", "")

_cuda = repository_rule(
    implementation = _cuda_impl,
    local = True,
    environ = ["CUDA_HOME", "PATH"],
)

def sightline_repositories():
    _cuda(name = "cuda")
    _rules_cc(name = "rules_cc")
    _system(name = "system")
    _faiss(name = "faiss")
    native.local_repository(name = "rules_proto", path = "/usr/share/bazel/rules/proto")
    native.local_repository(name = "rules_java", path = "/usr/share/bazel/rules/java")
    native.local_repository(name = "platforms", path = "/usr/share/bazel/platforms")

    # cc_test wants this to exist even when nobody asks for coverage.
    native.new_local_repository(
        name = "remote_coverage_tools",
        path = "/usr/share/bazel/platforms",
        build_file_content = "filegroup(name = 'coverage_report_generator', visibility = ['//visibility:public'])",
    )
