"""The Python interface: everything the command line does, on arrays, DataFrames, Arrow tables and paths.

Begin with `fit` and `transform`; `arguments` is what callers may give.

    model = pcatool.fit(frame, components=0.95, standardize=True)
    scores = pcatool.transform(model, frame)          # a DataFrame in gives a DataFrame out, with its index

Data are a path or several (files, folders, patterns, URLs), a DataFrame of pandas, a table, record batch or reader of
Arrow, anything else that gives itself to Arrow (polars, duckdb), a two-dimensional array, or a list of rows. Keywords
are the fields of the option records in `pcatool.options`, which are the options of the command line;
`pcatool.api.keywords` spells them out. All functions raise `PcatoolError`: `UsageError` for settings, `DataError` for
data, `ModelError` for files that are no models, `FileError` for what cannot be read or written, `RefusedError` for want
of memory or accuracy. Where the command line warns, they issue a `PcatoolWarning`, and a `PcatoolNote` where it prints
a note.
"""
