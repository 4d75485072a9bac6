"""Texts and bytes that programs carry."""

def sl_text_literal(name, src, out):
    """`out` has the text of `src` as a C++ string literal, to be included where one can stand.

    Args:
      name: of the rule.
      src: a file; `)text"` does not occur in it.
      out: a name that ends in .inc.
    """
    native.genrule(
        name = name,
        srcs = [src],
        outs = [out],
        cmd = "(printf 'R\"text('; cat $<; printf ')text\"\\n') > $@",
    )

def sl_bytes_literal(name, src, out):
    """`out` has the bytes of `src` as a C++ string literal, to be included where one can stand.

    Args:
      name: of the rule.
      src: a file of any bytes.
      out: a name that ends in .inc.
    """
    native.genrule(
        name = name,
        srcs = [src],
        outs = [out],
        # Octal escapes of three digits end by themselves.
        cmd = "od -An -v -to1 -w64 $< | sed -e 's/ /\\\\/g' -e 's/^/\"/' -e 's/$$/\"/' > $@",
    )
