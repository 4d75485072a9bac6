"""Mistakes to plant in rendered documents: what each is, which check has to say so, and how it is
made.
"""

POD = ("spec", "template", "spec")
FIRST = (*POD, "containers", 0)
JOB = ("spec", "jobTemplate", "spec")


def of(documents, kind, name):
    return next(d for d in documents if d["kind"] == kind and d["metadata"]["name"].startswith(name))


def edit(documents, config_map, file, old, new):
    data = of(documents, "ConfigMap", config_map + "-")["data"]
    if old not in data[file]:
        raise KeyError(f"{file} has no {old}")
    data[file] = data[file].replace(old, new)


class Mistakes(list):
    """Of (what, the check that has to say so, a function of the documents that makes it)."""

    def made_by(self, what, reported_by):
        def add(function):
            self.append((what, reported_by, function))
            return function
        return add

    def plant(self, what, reported_by, *edits):
        """A mistake of one assignment each: (kind, name, path, value); a value of None removes."""
        def make(documents):
            for kind, name, path, value in edits:
                at = of(documents, kind, name)
                for key in path[:-1]:
                    at = at[key]
                if value is None:
                    del at[path[-1]]
                else:
                    at[path[-1]] = value
        self.append((what, reported_by, make))
