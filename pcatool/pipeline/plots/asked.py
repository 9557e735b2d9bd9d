"""What is asked of a picture, and what of it can be refused before anything is read."""

from __future__ import annotations

from typing import Any, NamedTuple

from pcatool.errors import DataError, UsageError, show
from pcatool.model.model import Model
from pcatool.options import FitOptions, PictureOptions, PlotOptions
from pcatool.pipeline.loadings import check_columns, check_method, refuse_past
from pcatool.registry import PLOTS
from pcatool.render.figures import check_room, is_picture, picture_form, plain_matplotlib

__all__ = ["Asked"]


class Asked(NamedTuple):
    """One picture, or its numbers."""

    kind: str
    plot: PlotOptions
    look: PictureOptions = PictureOptions()
    output: str | None = None
    no_clobber: bool = False
    form: str = "picture"  # or that of a table

    @property
    def drawer(self) -> Any:
        return PLOTS.load(self.kind)

    @property
    def draws(self) -> bool:
        return self.form == "picture"

    @property
    def of_rows(self) -> bool:
        """Are rows needed? The table of a picture with arrows is of its arrows."""
        return bool(self.drawer.rows and (self.draws or not self.drawer.columns))

    @property
    def color(self) -> str | None:
        return self.plot.color

    def check(self, options: FitOptions) -> None:
        """Refuse before the work what would be refused after it."""
        kind, plot = self.drawer, self.plot
        if self.draws:
            if self.output is None:
                raise UsageError("a picture needs a file", f"name it with -o, such as -o {self.kind}.png")
            picture_form(self.output)
            check_room(self.look)
            with plain_matplotlib():
                pass  # if it is not there, this says so
        else:
            self._check_table()
        for flag, given, good in (
            ("--color", plot.color, kind.rows),
            ("--from", plot.source, kind.rows),
            ("--scaling", plot.scaling, kind.rows and kind.columns),
        ):
            if given is not None and not good:
                raise UsageError(f"{flag} would change nothing in a picture of {self.kind}", f"leave out {flag}")
        if plot.axes is not None and len(plot.axes) > kind.most:
            most = f"{kind.most} components" if kind.most > 1 else "1 component"
            raise UsageError(f"--axes names {len(plot.axes)} components, a picture of {self.kind} has {most} at most")
        if plot.axes is not None and kind.rows and kind.columns and len(plot.axes) < kind.most:
            raise UsageError(f"a {self.kind} needs two components", "name both, such as --axes 1,2")
        if kind.columns:
            check_method(options, ("loadings",))

    def _check_table(self) -> None:
        if is_picture(self.output):
            raise UsageError(
                f"{show(str(self.output))} is named as a picture, and --format {self.form} asks for numbers",
                "leave out --format, or give another name",
            )
        if self.look.given is not None:
            raise UsageError(f"{self.look.given} is for a picture", "leave it out, or leave out --format")
        if not self.drawer.columns and self.form != "csv":
            raise UsageError(
                f"--format {self.form} is for few rows, and scores may be many",
                "give --format csv; pcatool transform writes other formats",
            )

    def wanted(self, model: Model) -> tuple[int, ...]:
        """The components to show of a model."""
        if self.drawer.columns:
            check_columns(model, ("loadings",))
        axes = self.plot.axes
        if axes is None:
            if self.drawer.rows and self.drawer.columns and model.k < 2:
                remedy = "fit with -k 2" if model.d > 1 else "plot scores draws the rows along one"
                raise DataError("a biplot needs two components, there is 1", remedy)
            return tuple(range(1, min(self.drawer.usual, model.k) + 1))
        named = ",".join(map(str, axes))
        refuse_past(f"--axes {named}", max(axes), model.k, model.directions)
        return axes

    def scaling(self, model: Model) -> str:
        """How a biplot is scaled; scores of a whitened model have one variance already."""
        if model.whitening == "none":
            return self.plot.scaling or "rows"
        if self.plot.scaling == "rows":
            raise UsageError(
                "the scores of a whitened model have the same variance in all components: only --scaling columns",
                "leave out --scaling, or fit without --whiten",
            )
        return "columns"

    def refuse_zca(self, model: Model) -> None:
        if self.of_rows and model.whitening == "zca":
            raise UsageError(
                "a ZCA model gives whitened columns, and no scores of components", "fit with --whiten pca, or without"
            )

    def refuse_rows(self, names: list[str]) -> None:
        if names and not self.of_rows:
            what = f"plot {self.kind}" + ("" if self.draws else f" --format {self.form}")
            raise UsageError(f"{what} needs no rows: {show(names[0])} would change nothing", "leave it out")
