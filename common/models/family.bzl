"""The parts of a family, with what all families' parts stand on; `deps` is what this one adds.

    family_manifest()
    family_net(visibility = ["//tests/parity:__pkg__"])
    family_model([":net"])
    family_conversion()
"""

load("//deploy/bazel:cc.bzl", "sl_cc_library")

def _part(name, usual, deps, **kwargs):
    sl_cc_library(
        name = name,
        srcs = [name + ".cc"],
        deps = usual + [dep for dep in deps if dep not in usual],
        **kwargs
    )

def family_manifest(deps = [], **kwargs):
    """What a manifest of the family must say, without torch; and all its :sources by name."""
    native.filegroup(
        name = "sources",
        srcs = native.glob([
            "*.cc",
            "*.h",
        ]),
    )
    _part("manifest", [
        "//common/base:limits",
        "//common/embedding:score",
        "//common/models:family_manifests",
        "//common/models/inputs:manifest_checks",
        "//common/models/inputs:region_input",
        "@system//:absl",
    ], deps, **kwargs)

def family_net(deps = [], visibility = ["//visibility:private"]):
    """Its torch modules, as training too may take them."""
    _part("net", [
        "//common/bundle:model_bundle",
        "//common/models/network:region_linear",
        "//common/models/network:transformer",
        "@system//:torch",
    ], deps, hdrs = ["net.h"], visibility = visibility)

def family_model(deps = []):
    """Its network, put into a model."""
    _part("model", [
        ":manifest",
        "//common/base:status_macros",
        "//common/models:family_manifests",
        "//common/models:family_models",
        "//common/models/network:executor",
        "//common/models/network:network_host",
        "//common/models/network:network_model",
        "//common/models/network:packing",
        "//common/models/network:tensor_gate",
    ], deps)

def family_conversion(deps = []):
    """A bundle of it from checkpoints.  No torch."""
    _part("conversion", [
        "//common/base:limits",
        "//common/base:status_macros",
        "//common/models/convert:family_conversions",
        "//common/models/convert:kept_heads",
        "//common/models/convert:manifest_parts",
        "//common/models/convert:tensor_plan",
        "@system//:absl",
    ], deps)
