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

def sl_cc_library(name, copts = [], **kwargs):
    cc_library(name = name, copts = _COPTS + copts, **kwargs)

def sl_cc_binary(name, copts = [], **kwargs):
    cc_binary(name = name, copts = _COPTS + copts, **kwargs)

def sl_cc_test(name, deps = [], copts = [], **kwargs):
    """A Catch2 test; its main() reports how many cases passed (tests/support/catch_main.cc)."""
    cc_test(
        name = name,
        copts = _COPTS + copts,
        deps = deps + ["//tests/support:catch_main"],
        **kwargs
    )

def sl_fuzz_target(name, srcs, deps, corpus, **kwargs):
    """A libFuzzer program `name`, and a test `name`_replay of its seeds (tests/fuzz/README.md).

    The program is built and run with --config=fuzz only.
    """
    cc_test(
        name = name + "_replay",
        size = "small",
        srcs = srcs,
        args = ["tests/fuzz/corpus/" + name[:-len("_fuzz")]],
        copts = _COPTS,
        data = corpus,
        deps = deps + ["//tests/fuzz:replay_main"],
        **kwargs
    )
    cc_binary(
        name = name,
        srcs = srcs,
        copts = _COPTS,
        linkopts = ["-fsanitize=fuzzer"],
        data = corpus,
        tags = ["manual"],
        testonly = True,
        deps = deps,
        **kwargs
    )
