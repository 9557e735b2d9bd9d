"""The Python interface: everything the command line does, on arrays, DataFrames, Arrow tables and paths.

Begin with `fit` and `transform`; `arguments` turns what callers give into models, data and option records.

    model = pcatool.fit(frame, components=0.95, standardize=True)
    scores = pcatool.transform(model, frame)          # a DataFrame in gives a DataFrame out, with its index

Data are a path or several (files, folders, patterns, URLs), a pandas DataFrame, an Arrow table, record batch or reader,
any other object that exports to Arrow (polars, duckdb), a two-dimensional array, or a list of rows. Keywords are the
fields of the option records in `pcatool.options`, which are also the options of the command line;
`pcatool.api.keywords` lists them. All functions raise subclasses of `PcatoolError`: `UsageError` for settings,
`DataError` for data, `ModelError` for files that are not models, `FileError` for files that cannot be read or written,
`RefusedError` when memory or accuracy would not suffice. Where the command line prints a warning, the functions issue a
`PcatoolWarning`; where it prints a note, they issue a `PcatoolNote`.
"""
