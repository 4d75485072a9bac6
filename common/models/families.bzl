"""The families of models: one line each.

A family is the folder of that name, with the targets :manifest and :model and, if a bundle of
it is made of checkpoints, :conversion.  What each defines is said in family_manifests.h,
family_models.h and convert/family_conversions.h; that is all there is to register.
"""

load("//deploy/bazel:cc.bzl", "sl_cc_library")

# Name: what a bundle of it is made of.
FAMILIES = {
    "ensemble": "bundles",
    "lightningdot": "checkpoints",
    "m3p": "checkpoints",
    "oscar": "checkpoints",
    "sgraf": "checkpoints",
    "torchscript": "scripts",
    "uniter": "checkpoints",
    "vldeformer": "checkpoints",
}

CONVERTED_FAMILIES = [name for name, made_of in FAMILIES.items() if made_of == "checkpoints"]

def family_list(name, families):
    """A library of NAME.inc: SIGHTLINE_FAMILY(family) for each, for those who define that macro."""
    native.genrule(
        name = name + "_inc",
        outs = [name + ".inc"],
        cmd = "printf 'SIGHTLINE_FAMILY(%s)\\n' " + " ".join(families) + " > $@",
    )
    sl_cc_library(
        name = name,
        textual_hdrs = [name + ".inc"],
    )
