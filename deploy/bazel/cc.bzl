"""How Sightline's own C++ is compiled: warnings are errors, everywhere."""

load("@rules_cc//cc:defs.bzl", "cc_binary", "cc_library", "cc_test")

_COPTS = [
    "-Wall",
    "-Wextra",
    "-Wno-sign-compare",
    "-Wno-missing-field-initializers",
    # gcc 12 sees ghosts in moved-from absl::StatusOr and absl::optional.
    "-Wno-maybe-uninitialized",
    "-Werror",
]

def _compiled(rule, name, deps = [], copts = [], precompiled = True, **kwargs):
    """A C++ target whose files are compiled with one of :precompiled* before them.

    Without `precompiled` they are not: for other flags, or macros that headers look at.
    """
    copts = _COPTS + copts
    if precompiled and kwargs.get("srcs"):
        header = "precompiled" + ("_torch" if "@system//:torch" in deps else "")
        if native.package_name().split("/")[0] == "tests":
            header += "_test"

        # clang, which fuzzing takes, has another format.
        copts = copts + select({
            "//deploy/bazel:fuzz": [],
            "//conditions:default": ["-include", "deploy/bazel/%s.h" % header, "-Winvalid-pch"],
        })
        deps = deps + select({
            "//deploy/bazel:fuzz": [],
            "//conditions:default": ["//deploy/bazel:" + header],
        })
    rule(name = name, copts = copts, deps = deps, **kwargs)

def sl_cc_library(name, **kwargs):
    _compiled(cc_library, name, **kwargs)

def sl_cc_binary(name, **kwargs):
    _compiled(cc_binary, name, **kwargs)

def sl_cc_program(name, **kwargs):
    """A program of an image, with what it takes of gRPC linked into it.

    Calls within gRPC are many and short, and through shared libraries' tables a request takes
    about a tenth more of the processor.
    """
    sl_cc_binary(
        name,
        linkopts = ["-Lexternal/system/static_grpc"],
        additional_linker_inputs = ["@system//:static_grpc"],
        **kwargs
    )

def sl_cc_test(name, deps = [], **kwargs):
    """A Catch2 test; its main() reports how many cases passed (tests/support/catch_main.cc)."""
    _compiled(cc_test, name, deps = deps + ["//tests/support:catch_main"], **kwargs)

def sl_fuzz_target(name, srcs, deps, corpus, **kwargs):
    """A libFuzzer program `name`, and a test `name`_replay of its seeds (tests/fuzz/README.md).

    The program is built and run with --config=fuzz only.
    """
    _compiled(
        cc_test,
        name = name + "_replay",
        size = "small",
        srcs = srcs,
        args = ["tests/fuzz/corpus/" + name[:-len("_fuzz")]],
        data = corpus,
        deps = deps + ["//tests/fuzz:replay_main"],
        **kwargs
    )
    _compiled(
        cc_binary,
        name = name,
        srcs = srcs,
        linkopts = ["-fsanitize=fuzzer"],
        data = corpus,
        tags = ["manual"],
        testonly = True,
        deps = deps,
        **kwargs
    )
