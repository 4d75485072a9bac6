"""Validates objects of Kubernetes against the typed models of npm's packages kubernetes-models
and @kubernetes-models/prometheus-operator: their declarations of TypeScript, which are made from
the API's own schemas.  Stricter than a schema of JSON: a field that no model has is an error,
as an API server with strict field validation says.

    for offence in Schemas(folder).validate(document): ...
"""

import os
import re

TOKEN = re.compile(r'"[^"]*"|[A-Za-z_$][\w$.]*|\d+|[{}\[\]()<>|&?:;,=]')

# A model's type is a function of a value and where it stands, which yields what is wrong.


def _kind(value):
    if value is None:
        return "null"
    for name, kinds in (("boolean", bool), ("number", (int, float)), ("string", str),
                        ("a list", list), ("an object", dict)):
        if isinstance(value, kinds):
            return name
    return type(value).__name__


def _anything(_value, _path):
    return ()


def _primitive(name):
    def check(value, path):
        if _kind(value) != name:
            yield f"{path}: is {_kind(value)}, not {name}"
    return check


def _literal(text):
    def check(value, path):
        if value != text:
            yield f"{path}: is {value!r}, not {text!r}"
    return check


def _union(members):
    def check(value, path):
        offences = []
        for member in members:
            found = list(member(value, path))
            if not found:
                return
            offences.append(found)
        # Of several that do not fit, what the closest one says.
        yield from min(offences, key=len) if len(members) < 3 else [
            f"{path}: {value!r} is none of the {len(members)} values that it may have"]
    return check


def _both(members):
    def check(value, path):
        for member in members:
            yield from member(value, path)
    return check


def _array(element):
    def check(value, path):
        if not isinstance(value, list):
            yield f"{path}: is {_kind(value)}, not a list"
            return
        for number, item in enumerate(value):
            yield from element(item, f"{path}[{number}]")
    return check


class _Object:
    """An interface: its fields, those it inherits, and what any other key holds."""

    def __init__(self):
        self.fields = {}  # name -> (required, type)
        self.others = None
        self.parents = []

    def all_fields(self):
        fields = {}
        for parent in self.parents:
            fields.update(parent().all_fields())
        fields.update(self.fields)
        return fields

    def __call__(self, value, path):
        if not isinstance(value, dict):
            yield f"{path}: is {_kind(value)}, not an object"
            return
        fields = self.all_fields()
        for name, (required, _) in fields.items():
            if required and name not in value:
                yield f"{path}: has no {name}"
        for name, item in value.items():
            if name in fields:
                yield from fields[name][1](item, f"{path}.{name}")
            elif self.others:
                yield from self.others(item, f"{path}.{name}")
            elif fields:
                yield f"{path}: has an unknown field {name}"


class _Module:
    """One file of declarations."""

    def __init__(self, schemas, path):
        self.schemas = schemas
        self.path = path
        with open(path, encoding="utf-8") as source:
            text = re.sub(r"/\*.*?\*/", "", source.read(), flags=re.S)
        self.imports = {}
        for names, where in re.findall(r'import \{([^}]*)\} from "([^"]+)"', text):
            for name in names.split(","):
                self.imports[name.strip()] = where
        self.aliases = {}
        for names in re.findall(r"export type \{([^}]*)\}", text):
            for name in names.split(","):
                own, _, full = name.strip().partition(" as ")
                self.aliases[full] = own
        self.text = text
        self.types = {}

    def type_of(self, name):
        name = self.aliases.get(name, name)
        if name not in self.types:
            self.types[name] = self._declared(name)
        return self.types[name]

    def _declared(self, name):
        match = re.search(rf"export interface {re.escape(name)}( extends [^{{]*)?\s*(?=\{{)", self.text)
        if match:
            made = _Parser(self, TOKEN.findall(self.text[match.end():])).object()
            for parent in re.findall(r"[\w$]+", (match[1] or "")[len(" extends "):]):
                # What all kinds have (apiVersion and kind), each declares again.
                if self.imports.get(parent) != "@kubernetes-models/base":
                    made.parents.append(lambda parent=parent: self.reference(parent))
            return made
        match = re.search(rf"export type {re.escape(name)}\s*=", self.text)
        if not match:
            raise KeyError(f"{self.path} declares no {name}")
        return _Parser(self, TOKEN.findall(self.text[match.end():])).type()

    def reference(self, name):
        if name in self.imports:
            return self.schemas.module(self.imports[name], self.path).type_of(name)
        return self.type_of(name)


class _Parser:
    def __init__(self, module, tokens):
        self.module = module
        self.tokens = tokens
        self.at = 0

    def peek(self):
        return self.tokens[self.at]

    def take(self, expected=None):
        token = self.tokens[self.at]
        if expected and token != expected:
            raise ValueError(f"{self.module.path}: {token} instead of {expected}")
        self.at += 1
        return token

    def type(self):
        if self.peek() == "|":
            self.take()
        members = [self._intersection()]
        while self.peek() == "|":
            self.take()
            members.append(self._intersection())
        return members[0] if len(members) == 1 else _union(members)

    def _intersection(self):
        members = [self._single()]
        while self.peek() == "&":
            self.take()
            members.append(self._single())
        return members[0] if len(members) == 1 else _both(members)

    def _single(self):
        token = self.peek()
        if token == "{":
            made = self.object()
        elif token == "(":
            self.take()
            made = self.type()
            self.take(")")
        elif token.startswith('"'):
            made = _literal(self.take()[1:-1])
        elif token == "Array":
            self.take()
            self.take("<")
            made = _array(self.type())
            self.take(">")
        elif token in ("string", "number", "boolean", "null"):
            made = _primitive(self.take())
        elif token in ("any", "unknown", "object"):
            self.take()
            made = _anything
        else:
            name = self.take()
            made = lambda value, path: self.module.reference(name)(value, path)  # noqa: E731
        while self.peek() == "[":
            self.take()
            self.take("]")
            made = _array(made)
        return made

    def object(self):
        made = _Object()
        self.take("{")
        while self.peek() != "}":
            if self.peek() == "[":
                while self.take() != "]":
                    pass
                self.take(":")
                made.others = self.type()
            else:
                name = self.take().strip('"')
                required = self.peek() != "?"
                if not required:
                    self.take()
                self.take(":")
                made.fields[name] = (required, self.type())
            if self.peek() in (";", ","):
                self.take()
        self.take("}")
        return made


class Schemas:
    """`folder` holds the unpacked packages, each under its name."""

    def __init__(self, folder):
        self.folder = folder
        self.modules = {}

    def module(self, where, user=None):
        where = re.sub(r"\.js$", "", where)
        if where.startswith("."):
            path = os.path.normpath(os.path.join(os.path.dirname(user), where))
        else:
            path = os.path.join(self.folder, where)
        if path not in self.modules:
            self.modules[path] = _Module(self, path + ".d.ts")
        return self.modules[path]

    def validate(self, document):
        version, kind = document.get("apiVersion"), document.get("kind")
        name = (document.get("metadata") or {}).get("name")
        package = "kubernetes-models"
        if str(version).startswith("monitoring.coreos.com/"):
            package = "@kubernetes-models/prometheus-operator"
        try:
            model = self.module(f"{package}/{version}/{kind}").type_of("I" + str(kind))
        except FileNotFoundError:
            yield f"{kind}/{name}: the API has no {kind} of {version}"
            return
        yield from model(document, f"{kind}/{name}")
