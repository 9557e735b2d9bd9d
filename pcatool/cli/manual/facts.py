"""What holds for every subcommand: how a run ends, and what it heeds beside its options."""

from __future__ import annotations

__all__ = ["ENVIRONMENT", "EXIT_STATUS", "FILES"]

EXIT_STATUS = {
    "0": "Done, also when the reader of a pipe went away.",
    "2": "Wrong usage.",
    "3": "Bad data, a missing column included.",
    "4": "Not a usable model.",
    "5": "Could not read or write, a missing file included.",
    "6": "Refused: memory or accuracy.",
    "129, 130, 143": "Stopped by SIGHUP, SIGINT or SIGTERM.",
}

ENVIRONMENT = {
    "NO_COLOR": "Set to anything, it takes the colours from what is drawn on a terminal.",
    "TERM": "If it is dumb there are no colours, and no line that says how far a run is.",
    "COLUMNS": "How wide help, tables and drawings are, instead of as wide as the terminal.",
    "OPENBLAS_CORETYPE": (
        "The processor that BLAS computes for, instead of the one that is there. With Haswell, all x86-64 processors "
        "that have AVX2 give the same bytes."
    ),
    "TMPDIR": "Where temporary files go, which are gone when the program ends.",
    "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_PROFILE, AWS_REGION, AWS_ENDPOINT_URL": (
        "For paths that begin with s3://, as for Amazon's own tools."
    ),
    "GOOGLE_APPLICATION_CREDENTIALS": "For gs://, as for Google's own tools.",
    "AZURE_STORAGE_ACCOUNT_KEY, AZURE_STORAGE_SAS_TOKEN": "For abfs://, beside what Azure's library finds.",
}

FILES = {
    "*.npz": (
        "Models: arrays of numbers and text without Python objects, which numpy.load reads. README.md has the table of "
        "them."
    ),
    ".NAME.*.pcatool-tmp": (
        "Beside an output that is being written; it takes the output's name in one step when all of it is there. After "
        "a power cut one may be left, and can be removed."
    ),
}
