"""Headers that are parsed once for all files that include them, instead of once for each."""

load("@bazel_tools//tools/build_defs/cc:action_names.bzl", "ACTION_NAMES")
load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")

def _precompiled_header_impl(ctx):
    toolchain = find_cpp_toolchain(ctx)
    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = toolchain,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )
    context = cc_common.merge_cc_infos(cc_infos = [dep[CcInfo] for dep in ctx.attr.deps]).compilation_context
    header = ctx.actions.declare_file(ctx.label.name + ".h")
    ctx.actions.write(header, "".join(["#include %s\n" % name for name in ctx.attr.includes]))

    # Where gcc finds X.h.gch, it takes it in the place of X.h, if it was compiled with the
    # same options; -Winvalid-pch says so where it was not.
    compiled = ctx.actions.declare_file(ctx.label.name + ".h.gch")
    variables = cc_common.create_compile_variables(
        feature_configuration = features,
        cc_toolchain = toolchain,
        source_file = header.path,
        output_file = compiled.path,
        user_compile_flags = ctx.fragments.cpp.copts + ctx.fragments.cpp.cxxopts + ctx.attr.copts + ["-x", "c++-header"],
        include_directories = context.includes,
        quote_include_directories = context.quote_includes,
        system_include_directories = context.system_includes,
        preprocessor_defines = context.defines,
        use_pic = True,
    )
    arguments = {
        "feature_configuration": features,
        "action_name": ACTION_NAMES.cpp_compile,
    }
    ctx.actions.run(
        executable = cc_common.get_tool_for_action(**arguments),
        arguments = cc_common.get_memory_inefficient_command_line(variables = variables, **arguments),
        env = cc_common.get_environment_variables(variables = variables, **arguments),
        inputs = depset([header], transitive = [context.headers, toolchain.all_files]),
        outputs = [compiled],
        mnemonic = "CppPrecompile",
        progress_message = "Precompiling %{output}",
    )

    # gcc refuses it where a macro is missing that was defined when it was compiled.
    return [CcInfo(compilation_context = cc_common.create_compilation_context(
        defines = context.defines,
        headers = depset([header, compiled]),
    ))]

precompiled_header = rule(
    implementation = _precompiled_header_impl,
    doc = "NAME.h, which includes `includes`, and NAME.h.gch.  Of `deps` only defines are passed on.",
    attrs = {
        "copts": attr.string_list(doc = "what its users are compiled with beyond the settings of the build"),
        "deps": attr.label_list(providers = [CcInfo]),
        "includes": attr.string_list(mandatory = True, doc = "as after #include"),
        "_cc_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
    },
    fragments = ["cpp"],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)
