"""The tests of a family, with what all families' tests stand on; `deps` is what this one adds."""

load("//deploy/bazel:cc.bzl", "sl_cc_library", "sl_cc_test")

def tiny_family(deps = []):
    """The family's small model for tests that look at every family."""
    sl_cc_library(
        name = "tiny",
        srcs = ["tiny.cc"],
        hdrs = ["tiny.h"],
        testonly = True,
        visibility = ["//tests:__subpackages__"],
        deps = ["//tests/common/models:tiny_family"] + deps,
    )

def family_model_test(deps = []):
    sl_cc_test(
        name = "model_test",
        size = "small",
        srcs = ["model_test.cc"],
        tags = ["numeric"],
        deps = [
            ":tiny",
            "//common/models",
            "//common/models:model",
            "//tests/common/models:family_results",
            "//tests/support:temp_dir",
            "@system//:absl",
        ] + deps,
    )

def family_conversion_test(deps = []):
    sl_cc_test(
        name = "conversion_test",
        size = "small",
        srcs = ["conversion_test.cc"],
        deps = [
            "//common/models/convert",
            "//tests/common/models/convert:checkpoints",
            "@system//:absl",
        ] + deps,
    )
