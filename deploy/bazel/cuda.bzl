"""What nvcc compiles: for --config=cuda alone, on machines with a toolkit and with or without a GPU."""

load("@rules_cc//cc:defs.bzl", "cc_library")
load("@cuda//:toolkit.bzl", "NCCL", "NVCC", "VERSION")

# Of what is compiled with NCCL's headers, which a toolkit may lack, for target_compatible_with.
WITH_NCCL = select({
    "@//deploy/bazel:cuda": [] if NCCL else ["@//deploy/bazel:without_cuda"],
    "//conditions:default": ["@//deploy/bazel:without_cuda"],
})

_COPTS = ["-std=c++17", "-O3", "-Xcompiler=-march=x86-64-v3,-fPIC"]

# Abseil's status is looked at where this says that it is not.
_WARNINGS = ["-diag-suppress=2810", "-Werror=all-warnings"]

def _cuda_object_impl(ctx):
    if not NVCC:
        fail("--config=cuda needs nvcc of CUDA 12 or 13: there is none in $CUDA_HOME/bin, " +
             "/usr/local/cuda/bin or $PATH (Debian 12: nvidia-cuda-toolkit of non-free is 11.8)")
    context = cc_common.merge_cc_infos(cc_infos = [dep[CcInfo] for dep in ctx.attr.deps]).compilation_context
    object = ctx.actions.declare_file(ctx.label.name + ".o")
    architectures = ctx.var.get("cuda_architectures", "90").split(",")
    arguments = ctx.actions.args()
    arguments.add_all(_COPTS + ctx.attr.copts)
    for architecture in architectures:
        arguments.add("-gencode=arch=compute_%s,code=sm_%s" % (architecture, architecture))
    if ctx.var.get("cuda_ptx", ""):
        arguments.add("-gencode=arch=compute_%s,code=compute_%s" % (architectures[-1], architectures[-1]))
    arguments.add("-I.")
    arguments.add("-I" + ctx.genfiles_dir.path)
    arguments.add_all(depset(transitive = [context.includes, context.system_includes, context.quote_includes]), before_each = "-I")
    arguments.add_all(context.defines, before_each = "-D")
    arguments.add("-c", ctx.file.src)
    arguments.add("-o", object)
    ctx.actions.run(
        executable = NVCC,
        arguments = [arguments],
        inputs = depset([ctx.file.src], transitive = [context.headers]),
        outputs = [object],
        mnemonic = "CudaCompile",
        # As .bazelrc has it; and what another toolkit has compiled is not taken.
        env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "SIGHTLINE_NVCC": VERSION},
    )
    return [DefaultInfo(files = depset([object]))]

_cuda_object = rule(
    implementation = _cuda_object_impl,
    attrs = {
        "src": attr.label(allow_single_file = [".cu", ".cpp"]),
        "copts": attr.string_list(),
        "deps": attr.label_list(providers = [CcInfo]),
    },
)

def sl_cuda_library(name, srcs, deps = [], copts = _WARNINGS, tags = [], **kwargs):
    """Files of CUDA, for --define=cuda=1; without it the target is left out of //... ."""
    only = select({
        "@//deploy/bazel:cuda": [],
        "//conditions:default": ["@//deploy/bazel:without_cuda"],
    })
    objects = []
    for src in srcs:
        objects.append(src.rsplit(".", 1)[0] + "_cuda")
        _cuda_object(
            name = objects[-1],
            src = src,
            copts = copts,
            deps = deps,
            tags = ["cuda"] + tags,
            target_compatible_with = only,
            visibility = ["//visibility:private"],
        )
    cc_library(
        name = name,
        srcs = objects,
        tags = ["cuda"] + tags,
        deps = deps + ["@cuda//:runtime"],
        target_compatible_with = only,
        **kwargs
    )
