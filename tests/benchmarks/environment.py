"""The programs measured: where they are, made if need be; which peers there are, in which versions, and which not."""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# Module -> what it is installed as.
DISTRIBUTIONS = {
    "pandas": "pandas",
    "pyarrow": "pyarrow",
    "polars": "polars",
    "duckdb": "duckdb",
    "sklearn": "scikit-learn",
    "sklearnex": "scikit-learn-intelex",
    "mlpack": "mlpack",
    "scipy": "scipy",
    "numpy": "numpy",
}
READY = "ready"  # a file in an environment: everything that could be installed is
R_FACTS = 'cat(paste0(R.version$major, ".", R.version$minor), "with BLAS", basename(extSoftVersion()["BLAS"]))'


class Unusable(Exception):
    """The benchmarks cannot be run at all."""


@dataclass
class Programs:
    """How to call each, and what was found of the peers: their versions, or why they are absent."""

    pcatool: list[str]
    python: str
    rscript: str | None
    versions: dict[str, str] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)

    def look_for(self, needs: Iterable[str]) -> None:
        """Imports each peer in a process of its own, since one that is broken may take the process with it."""
        for need in needs:
            if need.startswith("R ") and not self.rscript:
                self.absent[need] = "no Rscript on the PATH"
                continue
            done = _run(self._probe(need))
            if done.returncode:
                self.absent[need] = _last_line(done.stderr)
            else:
                self.versions[need] = done.stdout.strip()

    def _probe(self, need: str) -> list[str]:
        if need.startswith("R "):
            package = need.removeprefix("R ")
            code = f'invisible(loadNamespace("{package}")); cat(as.character(packageVersion("{package}")))'
            return [str(self.rscript), "-e", code]
        code = f"import {need}; from importlib.metadata import version; print(version('{DISTRIBUTIONS[need]}'))"
        return [self.python, "-c", code]

    def machine(self) -> dict[str, str]:
        """What the figures depend on."""
        python = _run([self.python, "-c", "import platform; print(platform.python_version())"]).stdout.strip()
        versions = {DISTRIBUTIONS.get(need, need): version for need, version in self.versions.items()}
        if self.rscript and any(need.startswith("R ") for need in versions):
            versions["R"] = _run([self.rscript, "-e", R_FACTS]).stdout.strip()
        return {
            "processor": f"{_cores()} x {_model()}",
            "memory": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 1e9:.0f} GB",
            "system": platform.system(),
            "pcatool": _run([*self.pcatool, "--version"]).stdout.removeprefix("pcatool").strip(),
            "Python": python,
            **versions,
        }


def find(work: Path, pcatool: str | None, peers: str | None, fresh: bool) -> Programs:
    """Programs named by the user, or those of environments in the work folder, made when they are not there."""
    ours = shlex.split(pcatool) if pcatool else [str(_environment_of_pcatool(work / "pcatool", fresh) / "pcatool")]
    python = peers or str(_environment_of_peers(work / "peers", fresh) / "python")
    for program in (ours[0], python):
        if shutil.which(program) is None:
            raise Unusable(f"{program}: no such program")
    return Programs(ours, python, shutil.which("Rscript"))


def _environment_of_pcatool(folder: Path, fresh: bool) -> Path:
    """Installed anew each time, so that what is measured is this tree."""
    again = [] if _new_environment(folder, fresh) else ["--no-deps", "--force-reinstall"]
    done = _pip(folder, *again, str(ROOT))
    if done.returncode:
        raise Unusable(f"pcatool cannot be installed: {_last_line(done.stderr)}")
    (folder / READY).touch()
    return folder / "bin"


def _environment_of_peers(folder: Path, fresh: bool) -> Path:
    """All at once, or, when that fails, each by itself: one that does not go here must not stop the others."""
    peers = list(DISTRIBUTIONS.values())
    if _new_environment(folder, fresh) and _pip(folder, *peers).returncode:
        for peer in peers:
            done = _pip(folder, peer)
            if done.returncode:
                say(f"{peer} cannot be installed: {_last_line(done.stderr)}")
    (folder / READY).touch()
    return folder / "bin"


def _new_environment(folder: Path, fresh: bool) -> bool:
    """Makes one unless there is one that was filled to the end; True when it was made."""
    if (folder / READY).exists() and not fresh:
        return False
    say(f"making {folder}")
    done = _run([sys.executable, "-m", "venv", "--clear", str(folder)])
    if done.returncode:
        raise Unusable(f"no environment can be made: {_last_line(done.stderr or done.stdout)}")
    return True


def _pip(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    return _run([*pip, *arguments])


def _run(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or ["it says nothing"])[-1]


def _cores() -> int:
    """Those this process may use, where the system tells."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def _model() -> str:
    """Name of the processor, where the system tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor() or platform.machine())


def say(text: str) -> None:
    """What goes on, beside the results."""
    print(text, file=sys.stderr, flush=True)
