"""What a rendered fleet has to be: all checks of the files *_checks.py."""

# Each adds its own to CHECKS.
import health_checks  # noqa: F401
import job_checks  # noqa: F401
import object_store_checks  # noqa: F401
import policy_checks  # noqa: F401
import traffic_checks  # noqa: F401
import workload_checks  # noqa: F401
from rendered import CHECKS, Fleet


def offences(documents, schemas):
    """(check, what is wrong) of everything."""
    found = [("2.schema", text) for document in documents for text in schemas.validate(document)]
    fleet = Fleet(documents)
    for name, function in CHECKS.items():
        try:
            found += [(name, text) for text in function(fleet)]
        except (KeyError, TypeError, AttributeError, IndexError):
            # A document without what every document of its kind has; the models have said so.
            if not any(reported == "2.schema" for reported, _ in found):
                raise
    return found
