# Completion of pcatool for PowerShell, made from the program's own table of options; it needs no Python.
# Put this line into your profile (its place is in $PROFILE):
#   pcatool completion powershell | Out-String | Invoke-Expression
# Where nothing fits, PowerShell itself goes on to offer files.

Register-ArgumentCompleter -Native -CommandName 'pcatool', 'pcatool.exe' -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)

    $commands = @(
        @{ Word = 'fit'; About = 'Fit a model to the rows of a table and save it' },
        @{ Word = 'transform'; About = 'Compute the scores PC1, PC2, ... of rows' },
        @{ Word = 'reconstruct'; About = 'Turn scores back into rows in original units' },
        @{ Word = 'explain-variance'; About = 'Print the share of the variance that the first 1, 2, 3, ... components keep' },
        @{ Word = 'scree'; About = 'Draw the eigenvalues and their cumulative shares' },
        @{ Word = 'components'; About = 'Print or draw the loadings of the components' },
        @{ Word = 'plot'; About = 'Draw scores of rows, loadings of columns, or both' },
        @{ Word = 'report'; About = 'Write an HTML page about a model and its rows' },
        @{ Word = 'inspect'; About = 'Describe a model file in plain words' },
        @{ Word = 'diff'; About = 'Compare two models' },
        @{ Word = 'update'; About = 'Add new rows to a model, without the old rows' },
        @{ Word = 'merge'; About = 'Merge models into one model' },
        @{ Word = 'subtract'; About = 'Remove rows from a model, as for a sliding window' },
        @{ Word = 'refit'; About = 'Change the settings of a model, without the rows' },
        @{ Word = 'completion'; About = 'Print a script for tab completion of pcatool in a shell' },
        @{ Word = 'help'; About = 'Show a help topic, or list the topics' }
    )

    # What a subcommand takes. An option is its names, = when it has a value, and what that can be: words; some of
    # them, after a +; files, after @; nothing that could be told. A * before it: it can be given again.
    $takes = @{
        '' = @{
            Options = @(
                @{ Word = '-V|--version'; About = 'Print the version' },
                @{ Word = '-h|--help'; About = 'Show the usual options (-h) or all options (--help)' }
            )
            Arguments = @()
        }
        'fit' = @{
            Options = @(
                @{ Word = '-o|--output=@any'; About = 'File for the model' },
                @{ Word = '--no-clobber'; About = 'Refuse to replace a file that exists' },
                @{ Word = '--plan'; About = 'Do not fit, but print a plan: the solver and the reason for it, the number of passes over the rows, where the rows would be stored between passes, and the memory that the fit would need' },
                @{ Word = '--scores=@any'; About = 'Also write the scores of the fitted rows to this file, as transform does; - is standard output' },
                @{ Word = '*--keep='; About = 'With --scores: copy these input columns to the output, before the scores' },
                @{ Word = '--keep-all'; About = 'With --scores: copy all input columns to the output' },
                @{ Word = '*-c|--columns='; About = 'Use only these columns' },
                @{ Word = '*-x|--exclude='; About = 'Leave out these columns, such as ids' },
                @{ Word = '--input-format=parquet tsv csv'; About = 'Format of the input' },
                @{ Word = '-d|--delimiter=tab comma semicolon pipe space blanks'; About = 'Field separator: one character, or one of the words tab, comma, semicolon, pipe, space and blanks (any number of spaces or tabs)' },
                @{ Word = '--header|--no-header'; About = '--header: the first line contains the column names' },
                @{ Word = '--row-names'; About = 'The first field of each line is the name of the row, not a feature, as in tables of R and pandas' },
                @{ Word = '*--null-value='; About = 'Cells with this text count as missing, too; repeatable' },
                @{ Word = '--encoding=utf-8 latin-1 cp1252 utf-16'; About = 'Character encoding of text' },
                @{ Word = '--comment='; About = 'Ignore this character and the rest of its line, except inside quotes' },
                @{ Word = '--decimal=. ,'; About = 'Decimal mark' },
                @{ Word = '--thousands='; About = 'Thousands mark inside numbers' },
                @{ Word = '--strip='; About = 'Remove these characters before and after numbers, such as ''$'' or ''%''; the numbers are not rescaled' },
                @{ Word = '--skip-lines='; About = 'Skip the first N lines of each input' },
                @{ Word = '--skip-bad'; About = 'Skip each file that cannot be read, is damaged, lacks a column or has a bad cell' },
                @{ Word = '--triples='; About = 'Read an input that has one line for each cell' },
                @{ Word = '--absent=missing zero'; About = 'With --triples: value of the cells that have no line. missing: no value; zero: 0, for counts such as words of documents' },
                @{ Word = '*--label='; About = 'Label columns; excluded from the features' },
                @{ Word = '--label-kernel=delta linear rbf'; About = 'Similarity of two labels. delta: 1 if they are equal, else 0; linear: their product; rbf: exp(-gamma |y - y''|^2) for labels y and y''' },
                @{ Word = '--label-gamma='; About = 'Coefficient gamma of --label-kernel rbf' },
                @{ Word = '--kernel=rbf linear polynomial sigmoid laplacian cosine precomputed mds isomap lle laplacian-eigenmap'; About = 'Kernel, the similarity of two rows: rbf, linear, polynomial, sigmoid, laplacian, cosine, precomputed, mds, isomap, lle, laplacian-eigenmap' },
                @{ Word = '--gamma='; About = 'Coefficient gamma of the rbf, polynomial, sigmoid and laplacian kernels' },
                @{ Word = '--degree='; About = 'Degree of the polynomial kernel' },
                @{ Word = '--coef0='; About = 'Constant term of the polynomial and sigmoid kernels' },
                @{ Word = '--neighbors|--neighbours='; About = 'Number of neighbours of each row in the isomap, lle and laplacian-eigenmap kernels' },
                @{ Word = '--landmarks='; About = 'Approximate the kernel from M random rows (Nystroem)' },
                @{ Word = '-k|--components=all ratio eigenvalue kaiser broken-stick elbow parallel parallel-95 mle gavish-donoho marchenko-pastur cross-validation'; About = 'Number of components: a whole number such as 10, all, a share of the variance such as 0.95 (the fewest components that keep this share), or a rule: ratio, eigenvalue, kaiser, broken-stick, elbow, parallel, parallel-95, mle, gavish-donoho, marchenko-pastur, cross-validation' },
                @{ Word = '-s|--standardize'; About = 'Divide each column by its standard deviation' },
                @{ Word = '--center|--no-center'; About = 'Whether to subtract the column means' },
                @{ Word = '--center-rows'; About = 'Subtract the mean of each row from the row, before anything else; for images' },
                @{ Word = '--ddof=0 1'; About = 'Divisor of variances. 0: n; 1: n - 1, as in scikit-learn and R' },
                @{ Word = '--method=pca kernel supervised'; About = 'Method of the fit. pca: linear PCA; kernel: kernel PCA; supervised: directions that depend most on labels' },
                @{ Word = '--solver=auto covariance tsqr svd dual randomized'; About = 'Algorithm for the eigenvalues; -v prints which solver was used, and why' },
                @{ Word = '--eigenvalues=auto all kept'; About = 'Eigenvalues to compute and to store. auto: all of them if there are at most 1,000, else as many as -k needs. all: all of them; scree --rules needs this. kept: store only those of the kept components' },
                @{ Word = '--whiten=none pca zca'; About = 'Whitening. pca: scale the scores to variance 1; zca: also rotate them back to the original columns' },
                @{ Word = '--epsilon='; About = 'With --whiten: divide each score by sqrt(eigenvalue + E); E may be 0' },
                @{ Word = '--missing=error drop mean em'; About = 'Treatment of rows with missing cells. error: end with an error; drop: leave these rows out, with a warning; mean: fill the cells with the column means; em: fit the observed cells (probabilistic PCA)' },
                @{ Word = '--weights='; About = 'Column of row weights; excluded from the features' },
                @{ Word = '--weights-kind=frequency reliability'; About = 'Meaning of a weight. frequency: how often the row occurs; reliability: how precise the row is' },
                @{ Word = '--updatable|--no-updatable'; About = 'Whether to store sums over the rows in the model' },
                @{ Word = '--seed='; About = 'Random seed' },
                @{ Word = '--memory='; About = 'Memory that a fit may use, such as 2GB; every fit needs about 100 MB or more' },
                @{ Word = '--align-to=@model'; About = 'Older model, such as last night''s' },
                @{ Word = '--threads='; About = 'Number of threads that read, compute and format; the results are the same for every N' },
                @{ Word = '--engine=threads dask spark'; About = 'Where the work runs. threads: on this machine; dask, spark: on a cluster' },
                @{ Word = '--scheduler='; About = 'Address of the cluster. dask: the scheduler, such as tcp://host:8786; spark: the master, such as spark://host:7077 or local[4]' },
                @{ Word = '-q|--quiet'; About = 'Hide notes and warnings; errors are still printed' },
                @{ Word = '-v|--verbose'; About = 'Print a summary of the run, also if standard error is not a terminal' },
                @{ Word = '--json'; About = 'Print the summary as one JSON object: on standard output if no results go there, else on standard error' },
                @{ Word = '--debug'; About = 'Show the traceback of an error' },
                @{ Word = '-h|--help'; About = 'Show the usual options (-h) or all options (--help)' }
            )
            Arguments = @('*@data')
        }
        'transform' = @{
            Options = @(
                @{ Word = '--input-format=parquet tsv csv'; About = 'Format of the input' },
                @{ Word = '-d|--delimiter=tab comma semicolon pipe space blanks'; About = 'Field separator: one character, or one of the words tab, comma, semicolon, pipe, space and blanks (any number of spaces or tabs)' },
                @{ Word = '--header|--no-header'; About = '--header: the first line contains the column names' },
                @{ Word = '--row-names'; About = 'The first field of each line is the name of the row, not a feature, as in tables of R and pandas' },
                @{ Word = '*--null-value='; About = 'Cells with this text count as missing, too; repeatable' },
                @{ Word = '--encoding=utf-8 latin-1 cp1252 utf-16'; About = 'Character encoding of text' },
                @{ Word = '--comment='; About = 'Ignore this character and the rest of its line, except inside quotes' },
                @{ Word = '--decimal=. ,'; About = 'Decimal mark' },
                @{ Word = '--thousands='; About = 'Thousands mark inside numbers' },
                @{ Word = '--strip='; About = 'Remove these characters before and after numbers, such as ''$'' or ''%''; the numbers are not rescaled' },
                @{ Word = '--skip-lines='; About = 'Skip the first N lines of each input' },
                @{ Word = '--skip-bad'; About = 'Skip each file that cannot be read, is damaged, lacks a column or has a bad cell' },
                @{ Word = '--triples='; About = 'Read an input that has one line for each cell' },
                @{ Word = '--absent=missing zero'; About = 'With --triples: value of the cells that have no line. missing: no value; zero: 0, for counts such as words of documents' },
                @{ Word = '-k|--components='; About = 'Use only the first K components' },
                @{ Word = '--missing=error mean project em keep'; About = 'Treatment of rows with missing cells. error: end with an error; mean: fill the cells with the column means; project: least-squares scores of the observed cells; em: expected scores, given the observed cells; keep: leave the results of these rows empty' },
                @{ Word = '*--keep='; About = 'Copy these input columns to the output, before the results' },
                @{ Word = '--keep-all'; About = 'Copy all input columns to the output' },
                @{ Word = '--with-error'; About = 'Add a column squared_error: the squared differences between the observed cells of the row and their reconstruction, added up' },
                @{ Word = '--with-coverage'; About = 'Add a column coverage: the share of the components'' variance that lies in the observed cells of the row' },
                @{ Word = '-o|--output=@any'; About = 'Output file' },
                @{ Word = '--output-format=csv tsv parquet jsonl'; About = 'Format of the output' },
                @{ Word = '--output-header|--no-output-header'; About = 'Whether to write a header line with the column names' },
                @{ Word = '--float-format='; About = 'Format of numbers in text, such as .6g or %.3f' },
                @{ Word = '--no-clobber'; About = 'Refuse to replace a file that exists' },
                @{ Word = '--resume'; About = 'With -o DIR/: skip inputs whose output exists and is not older than the input and the model' },
                @{ Word = '--threads='; About = 'Number of threads that read, compute and format; the results are the same for every N' },
                @{ Word = '--engine=threads dask spark'; About = 'Where the work runs. threads: on this machine; dask, spark: on a cluster' },
                @{ Word = '--scheduler='; About = 'Address of the cluster. dask: the scheduler, such as tcp://host:8786; spark: the master, such as spark://host:7077 or local[4]' },
                @{ Word = '-q|--quiet'; About = 'Hide notes and warnings; errors are still printed' },
                @{ Word = '-v|--verbose'; About = 'Print a summary of the run, also if standard error is not a terminal' },
                @{ Word = '--json'; About = 'Print the summary as one JSON object: on standard output if no results go there, else on standard error' },
                @{ Word = '--debug'; About = 'Show the traceback of an error' },
                @{ Word = '-h|--help'; About = 'Show the usual options (-h) or all options (--help)' }
            )
            Arguments = @('@model', '*@data')
        }
        'reconstruct' = @{
            Options = @(
                @{ Word = '--from=scores rows'; About = 'Content of the input' },
                @{ Word = '--preimage'; About = 'For a kernel model: approximate the rows from the scores, by a kernel ridge regression fitted to the training rows' },
                @{ Word = '--fill'; About = 'Write the original rows; replace only their missing cells' },
                @{ Word = '--input-format=parquet tsv csv'; About = 'Format of the input' },
                @{ Word = '-d|--delimiter=tab comma semicolon pipe space blanks'; About = 'Field separator: one character, or one of the words tab, comma, semicolon, pipe, space and blanks (any number of spaces or tabs)' },
                @{ Word = '--header|--no-header'; About = '--header: the first line contains the column names' },
                @{ Word = '--row-names'; About = 'The first field of each line is the name of the row, not a feature, as in tables of R and pandas' },
                @{ Word = '*--null-value='; About = 'Cells with this text count as missing, too; repeatable' },
                @{ Word = '--encoding=utf-8 latin-1 cp1252 utf-16'; About = 'Character encoding of text' },
                @{ Word = '--comment='; About = 'Ignore this character and the rest of its line, except inside quotes' },
                @{ Word = '--decimal=. ,'; About = 'Decimal mark' },
                @{ Word = '--thousands='; About = 'Thousands mark inside numbers' },
                @{ Word = '--strip='; About = 'Remove these characters before and after numbers, such as ''$'' or ''%''; the numbers are not rescaled' },
                @{ Word = '--skip-lines='; About = 'Skip the first N lines of each input' },
                @{ Word = '--skip-bad'; About = 'Skip each file that cannot be read, is damaged, lacks a column or has a bad cell' },
                @{ Word = '--triples='; About = 'Read an input that has one line for each cell' },
                @{ Word = '--absent=missing zero'; About = 'With --triples: value of the cells that have no line. missing: no value; zero: 0, for counts such as words of documents' },
                @{ Word = '-k|--components='; About = 'Use only the first K components' },
                @{ Word = '--missing=error mean project em keep'; About = 'Treatment of rows with missing cells. error: end with an error; mean: fill the cells with the column means; project: least-squares scores of the observed cells; em: expected scores, given the observed cells; keep: leave the results of these rows empty' },
                @{ Word = '*--keep='; About = 'Copy these input columns to the output, before the results' },
                @{ Word = '--keep-all'; About = 'Copy all input columns to the output' },
                @{ Word = '--with-error'; About = 'Add a column squared_error: the squared differences between the observed cells of the row and their reconstruction, added up' },
                @{ Word = '--with-coverage'; About = 'Add a column coverage: the share of the components'' variance that lies in the observed cells of the row' },
                @{ Word = '-o|--output=@any'; About = 'Output file' },
                @{ Word = '--output-format=csv tsv parquet jsonl'; About = 'Format of the output' },
                @{ Word = '--output-header|--no-output-header'; About = 'Whether to write a header line with the column names' },
                @{ Word = '--float-format='; About = 'Format of numbers in text, such as .6g or %.3f' },
                @{ Word = '--no-clobber'; About = 'Refuse to replace a file that exists' },
                @{ Word = '--resume'; About = 'With -o DIR/: skip inputs whose output exists and is not older than the input and the model' },
                @{ Word = '--threads='; About = 'Number of threads that read, compute and format; the results are the same for every N' },
                @{ Word = '--engine=threads dask spark'; About = 'Where the work runs. threads: on this machine; dask, spark: on a cluster' },
                @{ Word = '--scheduler='; About = 'Address of the cluster. dask: the scheduler, such as tcp://host:8786; spark: the master, such as spark://host:7077 or local[4]' },
                @{ Word = '-q|--quiet'; About = 'Hide notes and warnings; errors are still printed' },
                @{ Word = '-v|--verbose'; About = 'Print a summary of the run, also if standard error is not a terminal' },
                @{ Word = '--json'; About = 'Print the summary as one JSON object: on standard output if no results go there, else on standard error' },
                @{ Word = '--debug'; About = 'Show the traceback of an error' },
                @{ Word = '-h|--help'; About = 'Show the usual options (-h) or all options (--help)' }
            )
            Arguments = @('@model', '*@data')
        }
        'explain-variance' = @{
            Options = @(
                @{ Word = '--format=table csv json markdown'; About = 'Format of the report' },
                @{ Word = '--threshold='; About = 'Print only the smallest number of components that keep this share of the variance' },
                @{ Word = '*-c|--columns='; About = 'Use only these columns' },
                @{ Word = '*-x|--exclude='; About = 'Leave out these columns, such as ids' },
                @{ Word = '--input-format=parquet tsv csv'; About = 'Format of the input' },
                @{ Word = '-d|--delimiter=tab comma semicolon pipe space blanks'; About = 'Field separator: one character, or one of the words tab, comma, semicolon, pipe, space and blanks (any number of spaces or tabs)' },
                @{ Word = '--header|--no-header'; About = '--header: the first line contains the column names' },
                @{ Word = '--row-names'; About = 'The first field of each line is the name of the row, not a feature, as in tables of R and pandas' },
                @{ Word = '*--null-value='; About = 'Cells with this text count as missing, too; repeatable' },
                @{ Word = '--encoding=utf-8 latin-1 cp1252 utf-16'; About = 'Character encoding of text' },
                @{ Word = '--comment='; About = 'Ignore this character and the rest of its line, except inside quotes' },
                @{ Word = '--decimal=. ,'; About = 'Decimal mark' },
                @{ Word = '--thousands='; About = 'Thousands mark inside numbers' },
                @{ Word = '--strip='; About = 'Remove these characters before and after numbers, such as ''$'' or ''%''; the numbers are not rescaled' },
                @{ Word = '--skip-lines='; About = 'Skip the first N lines of each input' },
                @{ Word = '--skip-bad'; About = 'Skip each file that cannot be read, is damaged, lacks a column or has a bad cell' },
                @{ Word = '--triples='; About = 'Read an input that has one line for each cell' },
                @{ Word = '--absent=missing zero'; About = 'With --triples: value of the cells that have no line. missing: no value; zero: 0, for counts such as words of documents' },
                @{ Word = '*--label='; About = 'Label columns; excluded from the features' },
                @{ Word = '--label-kernel=delta linear rbf'; About = 'Similarity of two labels. delta: 1 if they are equal, else 0; linear: their product; rbf: exp(-gamma |y - y''|^2) for labels y and y''' },
                @{ Word = '--label-gamma='; About = 'Coefficient gamma of --label-kernel rbf' },
                @{ Word = '--kernel=rbf linear polynomial sigmoid laplacian cosine precomputed mds isomap lle laplacian-eigenmap'; About = 'Kernel, the similarity of two rows: rbf, linear, polynomial, sigmoid, laplacian, cosine, precomputed, mds, isomap, lle, laplacian-eigenmap' },
                @{ Word = '--gamma='; About = 'Coefficient gamma of the rbf, polynomial, sigmoid and laplacian kernels' },
                @{ Word = '--degree='; About = 'Degree of the polynomial kernel' },
                @{ Word = '--coef0='; About = 'Constant term of the polynomial and sigmoid kernels' },
                @{ Word = '--neighbors|--neighbours='; About = 'Number of neighbours of each row in the isomap, lle and laplacian-eigenmap kernels' },
                @{ Word = '--landmarks='; About = 'Approximate the kernel from M random rows (Nystroem)' },
                @{ Word = '-k|--components=all ratio eigenvalue kaiser broken-stick elbow parallel parallel-95 mle gavish-donoho marchenko-pastur cross-validation'; About = 'Number of components: a whole number such as 10, all, a share of the variance such as 0.95 (the fewest components that keep this share), or a rule: ratio, eigenvalue, kaiser, broken-stick, elbow, parallel, parallel-95, mle, gavish-donoho, marchenko-pastur, cross-validation' },
                @{ Word = '-s|--standardize'; About = 'Divide each column by its standard deviation' },
                @{ Word = '--center|--no-center'; About = 'Whether to subtract the column means' },
                @{ Word = '--center-rows'; About = 'Subtract the mean of each row from the row, before anything else; for images' },
                @{ Word = '--ddof=0 1'; About = 'Divisor of variances. 0: n; 1: n - 1, as in scikit-learn and R' },
                @{ Word = '--method=pca kernel supervised'; About = 'Method of the fit. pca: linear PCA; kernel: kernel PCA; supervised: directions that depend most on labels' },
                @{ Word = '--solver=auto covariance tsqr svd dual randomized'; About = 'Algorithm for the eigenvalues; -v prints which solver was used, and why' },
                @{ Word = '--eigenvalues=auto all kept'; About = 'Eigenvalues to compute and to store. auto: all of them if there are at most 1,000, else as many as -k needs. all: all of them; scree --rules needs this. kept: store only those of the kept components' },
                @{ Word = '--whiten=none pca zca'; About = 'Whitening. pca: scale the scores to variance 1; zca: also rotate them back to the original columns' },
                @{ Word = '--epsilon='; About = 'With --whiten: divide each score by sqrt(eigenvalue + E); E may be 0' },
                @{ Word = '--missing=error drop mean em'; About = 'Treatment of rows with missing cells. error: end with an error; drop: leave these rows out, with a warning; mean: fill the cells with the column means; em: fit the observed cells (probabilistic PCA)' },
                @{ Word = '--weights='; About = 'Column of row weights; excluded from the features' },
                @{ Word = '--weights-kind=frequency reliability'; About = 'Meaning of a weight. frequency: how often the row occurs; reliability: how precise the row is' },
                @{ Word = '--updatable|--no-updatable'; About = 'Whether to store sums over the rows in the model' },
                @{ Word = '--seed='; About = 'Random seed' },
                @{ Word = '--memory='; About = 'Memory that a fit may use, such as 2GB; every fit needs about 100 MB or more' },
                @{ Word = '--align-to=@model'; About = 'Older model, such as last night''s' },
                @{ Word = '--threads='; About = 'Number of threads that read, compute and format; the results are the same for every N' },
                @{ Word = '--engine=threads dask spark'; About = 'Where the work runs. threads: on this machine; dask, spark: on a cluster' },
                @{ Word = '--scheduler='; About = 'Address of the cluster. dask: the scheduler, such as tcp://host:8786; spark: the master, such as spark://host:7077 or local[4]' },
                @{ Word = '-q|--quiet'; About = 'Hide notes and warnings; errors are still printed' },
                @{ Word = '-v|--verbose'; About = 'Print a summary of the run, also if standard error is not a terminal' },
                @{ Word = '--json'; About = 'Print the summary as one JSON object: on standard output if no results go there, else on standard error' },
                @{ Word = '--debug'; About = 'Show the traceback of an error' },
                @{ Word = '-h|--help'; About = 'Show the usual options (-h) or all options (--help)' }
            )
            Arguments = @('*@model@data')
        }
        'scree' = @{
            Options = @(
                @{ Word = '-o|--output=@any'; About = 'Write a picture to this file: .png, .svg or .pdf (needs matplotlib, the extra ''plot'')' },
                @{ Word = '--no-clobber'; About = 'Refuse to replace a file that exists' },
                @{ Word = '--format=chart table csv json markdown'; About = 'Print the chart, or its numbers' },
                @{ Word = '--rules=+all ratio eigenvalue kaiser broken-stick elbow parallel parallel-95 mle gavish-donoho marchenko-pastur cross-validation'; About = 'Print the number of components that each rule for -k chooses, and the number on which most rules agree; with -o, mark these numbers in the picture' },
                @{ Word = '--log'; About = 'With -o: make the axis of the eigenvalues logarithmic' },
                @{ Word = '--log-components'; About = 'With -o: make the horizontal axis, the number of the component, logarithmic' },
                @{ Word = '--all-components'; About = 'With -o: draw all components, not only the first 30' },
                @{ Word = '--size='; About = 'Width and height of the picture in inches' },
                @{ Word = '--dpi='; About = 'Pixels per inch, also for raster parts of .svg and .pdf' },
                @{ Word = '*-c|--columns='; About = 'Use only these columns' },
                @{ Word = '*-x|--exclude='; About = 'Leave out these columns, such as ids' },
                @{ Word = '--input-format=parquet tsv csv'; About = 'Format of the input' },
                @{ Word = '-d|--delimiter=tab comma semicolon pipe space blanks'; About = 'Field separator: one character, or one of the words tab, comma, semicolon, pipe, space and blanks (any number of spaces or tabs)' },
                @{ Word = '--header|--no-header'; About = '--header: the first line contains the column names' },
                @{ Word = '--row-names'; About = 'The first field of each line is the name of the row, not a feature, as in tables of R and pandas' },
                @{ Word = '*--null-value='; About = 'Cells with this text count as missing, too; repeatable' },
                @{ Word = '--encoding=utf-8 latin-1 cp1252 utf-16'; About = 'Character encoding of text' },
                @{ Word = '--comment='; About = 'Ignore this character and the rest of its line, except inside quotes' },
                @{ Word = '--decimal=. ,'; About = 'Decimal mark' },
                @{ Word = '--thousands='; About = 'Thousands mark inside numbers' },
                @{ Word = '--strip='; About = 'Remove these characters before and after numbers, such as ''$'' or ''%''; the numbers are not rescaled' },
                @{ Word = '--skip-lines='; About = 'Skip the first N lines of each input' },
                @{ Word = '--skip-bad'; About = 'Skip each file that cannot be read, is damaged, lacks a column or has a bad cell' },
                @{ Word = '--triples='; About = 'Read an input that has one line for each cell' },
                @{ Word = '--absent=missing zero'; About = 'With --triples: value of the cells that have no line. missing: no value; zero: 0, for counts such as words of documents' },
                @{ Word = '*--label='; About = 'Label columns; excluded from the features' },
                @{ Word = '--label-kernel=delta linear rbf'; About = 'Similarity of two labels. delta: 1 if they are equal, else 0; linear: their product; rbf: exp(-gamma |y - y''|^2) for labels y and y''' },
                @{ Word = '--label-gamma='; About = 'Coefficient gamma of --label-kernel rbf' },
                @{ Word = '--kernel=rbf linear polynomial sigmoid laplacian cosine precomputed mds isomap lle laplacian-eigenmap'; About = 'Kernel, the similarity of two rows: rbf, linear, polynomial, sigmoid, laplacian, cosine, precomputed, mds, isomap, lle, laplacian-eigenmap' },
                @{ Word = '--gamma='; About = 'Coefficient gamma of the rbf, polynomial, sigmoid and laplacian kernels' },
                @{ Word = '--degree='; About = 'Degree of the polynomial kernel' },
                @{ Word = '--coef0='; About = 'Constant term of the polynomial and sigmoid kernels' },
                @{ Word = '--neighbors|--neighbours='; About = 'Number of neighbours of each row in the isomap, lle and laplacian-eigenmap kernels' },
                @{ Word = '--landmarks='; About = 'Approximate the kernel from M random rows (Nystroem)' },
                @{ Word = '-k|--components=all ratio eigenvalue kaiser broken-stick elbow parallel parallel-95 mle gavish-donoho marchenko-pastur cross-validation'; About = 'Number of components: a whole number such as 10, all, a share of the variance such as 0.95 (the fewest components that keep this share), or a rule: ratio, eigenvalue, kaiser, broken-stick, elbow, parallel, parallel-95, mle, gavish-donoho, marchenko-pastur, cross-validation' },
                @{ Word = '-s|--standardize'; About = 'Divide each column by its standard deviation' },
                @{ Word = '--center|--no-center'; About = 'Whether to subtract the column means' },
                @{ Word = '--center-rows'; About = 'Subtract the mean of each row from the row, before anything else; for images' },
                @{ Word = '--ddof=0 1'; About = 'Divisor of variances. 0: n; 1: n - 1, as in scikit-learn and R' },
                @{ Word = '--method=pca kernel supervised'; About = 'Method of the fit. pca: linear PCA; kernel: kernel PCA; supervised: directions that depend most on labels' },
                @{ Word = '--solver=auto covariance tsqr svd dual randomized'; About = 'Algorithm for the eigenvalues; -v prints which solver was used, and why' },
                @{ Word = '--eigenvalues=auto all kept'; About = 'Eigenvalues to compute and to store. auto: all of them if there are at most 1,000, else as many as -k needs. all: all of them; scree --rules needs this. kept: store only those of the kept components' },
                @{ Word = '--whiten=none pca zca'; About = 'Whitening. pca: scale the scores to variance 1; zca: also rotate them back to the original columns' },
                @{ Word = '--epsilon='; About = 'With --whiten: divide each score by sqrt(eigenvalue + E); E may be 0' },
                @{ Word = '--missing=error drop mean em'; About = 'Treatment of rows with missing cells. error: end with an error; drop: leave these rows out, with a warning; mean: fill the cells with the column means; em: fit the observed cells (probabilistic PCA)' },
                @{ Word = '--weights='; About = 'Column of row weights; excluded from the features' },
                @{ Word = '--weights-kind=frequency reliability'; About = 'Meaning of a weight. frequency: how often the row occurs; reliability: how precise the row is' },
                @{ Word = '--updatable|--no-updatable'; About = 'Whether to store sums over the rows in the model' },
                @{ Word = '--seed='; About = 'Random seed' },
                @{ Word = '--memory='; About = 'Memory that a fit may use, such as 2GB; every fit needs about 100 MB or more' },
                @{ Word = '--align-to=@model'; About = 'Older model, such as last night''s' },
                @{ Word = '--threads='; About = 'Number of threads that read, compute and format; the results are the same for every N' },
                @{ Word = '--engine=threads dask spark'; About = 'Where the work runs. threads: on this machine; dask, spark: on a cluster' },
                @{ Word = '--scheduler='; About = 'Address of the cluster. dask: the scheduler, such as tcp://host:8786; spark: the master, such as spark://host:7077 or local[4]' },
                @{ Word = '-q|--quiet'; About = 'Hide notes and warnings; errors are still printed' },
                @{ Word = '-v|--verbose'; About = 'Print a summary of the run, also if standard error is not a terminal' },
                @{ Word = '--json'; About = 'Print the summary as one JSON object: on standard output if no results go there, else on standard error' },
                @{ Word = '--debug'; About = 'Show the traceback of an error' },
                @{ Word = '-h|--help'; About = 'Show the usual options (-h) or all options (--help)' }
            )
            Arguments = @('*@model@data')
        }
        'components' = @{
            Options = @(
                @{ Word = '-o|--output=@any'; About = 'File for the numbers; with --image, file for the picture: .png, .svg or .pdf (needs matplotlib, the extra ''plot'')' },
                @{ Word = '--no-clobber'; About = 'Refuse to replace a file that exists' },
                @{ Word = '--values=+loadings correlations contributions cos2'; About = 'Values to show for each column and component, separated by commas. loadings: weight of the column; correlations: correlation of the column with the scores; contributions: share of the column in the component, in per cent; cos2: share of the component in the column''s variance' },
                @{ Word = '--first='; About = 'Show only the first K components' },
                @{ Word = '--image='; About = 'With -o: draw the mean and the components as images' },
                @{ Word = '--format=table csv json markdown'; About = 'Format of the numbers' },
                @{ Word = '--size='; About = 'Width and height of the picture in inches' },
                @{ Word = '--dpi='; About = 'Pixels per inch, also for raster parts of .svg and .pdf' },
                @{ Word = '*-c|--columns='; About = 'Use only these columns' },
                @{ Word = '*-x|--exclude='; About = 'Leave out these columns, such as ids' },
                @{ Word = '--input-format=parquet tsv csv'; About = 'Format of the input' },
                @{ Word = '-d|--delimiter=tab comma semicolon pipe space blanks'; About = 'Field separator: one character, or one of the words tab, comma, semicolon, pipe, space and blanks (any number of spaces or tabs)' },
                @{ Word = '--header|--no-header'; About = '--header: the first line contains the column names' },
                @{ Word = '--row-names'; About = 'The first field of each line is the name of the row, not a feature, as in tables of R and pandas' },
                @{ Word = '*--null-value='; About = 'Cells with this text count as missing, too; repeatable' },
                @{ Word = '--encoding=utf-8 latin-1 cp1252 utf-16'; About = 'Character encoding of text' },
                @{ Word = '--comment='; About = 'Ignore this character and the rest of its line, except inside quotes' },
                @{ Word = '--decimal=. ,'; About = 'Decimal mark' },
                @{ Word = '--thousands='; About = 'Thousands mark inside numbers' },
                @{ Word = '--strip='; About = 'Remove these characters before and after numbers, such as ''$'' or ''%''; the numbers are not rescaled' },
                @{ Word = '--skip-lines='; About = 'Skip the first N lines of each input' },
                @{ Word = '--skip-bad'; About = 'Skip each file that cannot be read, is damaged, lacks a column or has a bad cell' },
                @{ Word = '--triples='; About = 'Read an input that has one line for each cell' },
                @{ Word = '--absent=missing zero'; About = 'With --triples: value of the cells that have no line. missing: no value; zero: 0, for counts such as words of documents' },
                @{ Word = '*--label='; About = 'Label columns; excluded from the features' },
                @{ Word = '--label-kernel=delta linear rbf'; About = 'Similarity of two labels. delta: 1 if they are equal, else 0; linear: their product; rbf: exp(-gamma |y - y''|^2) for labels y and y''' },
                @{ Word = '--label-gamma='; About = 'Coefficient gamma of --label-kernel rbf' },
                @{ Word = '--kernel=rbf linear polynomial sigmoid laplacian cosine precomputed mds isomap lle laplacian-eigenmap'; About = 'Kernel, the similarity of two rows: rbf, linear, polynomial, sigmoid, laplacian, cosine, precomputed, mds, isomap, lle, laplacian-eigenmap' },
                @{ Word = '--gamma='; About = 'Coefficient gamma of the rbf, polynomial, sigmoid and laplacian kernels' },
                @{ Word = '--degree='; About = 'Degree of the polynomial kernel' },
                @{ Word = '--coef0='; About = 'Constant term of the polynomial and sigmoid kernels' },
                @{ Word = '--neighbors|--neighbours='; About = 'Number of neighbours of each row in the isomap, lle and laplacian-eigenmap kernels' },
                @{ Word = '--landmarks='; About = 'Approximate the kernel from M random rows (Nystroem)' },
                @{ Word = '-k|--components=all ratio eigenvalue kaiser broken-stick elbow parallel parallel-95 mle gavish-donoho marchenko-pastur cross-validation'; About = 'Number of components: a whole number such as 10, all, a share of the variance such as 0.95 (the fewest components that keep this share), or a rule: ratio, eigenvalue, kaiser, broken-stick, elbow, parallel, parallel-95, mle, gavish-donoho, marchenko-pastur, cross-validation' },
                @{ Word = '-s|--standardize'; About = 'Divide each column by its standard deviation' },
                @{ Word = '--center|--no-center'; About = 'Whether to subtract the column means' },
                @{ Word = '--center-rows'; About = 'Subtract the mean of each row from the row, before anything else; for images' },
                @{ Word = '--ddof=0 1'; About = 'Divisor of variances. 0: n; 1: n - 1, as in scikit-learn and R' },
                @{ Word = '--method=pca kernel supervised'; About = 'Method of the fit. pca: linear PCA; kernel: kernel PCA; supervised: directions that depend most on labels' },
                @{ Word = '--solver=auto covariance tsqr svd dual randomized'; About = 'Algorithm for the eigenvalues; -v prints which solver was used, and why' },
                @{ Word = '--eigenvalues=auto all kept'; About = 'Eigenvalues to compute and to store. auto: all of them if there are at most 1,000, else as many as -k needs. all: all of them; scree --rules needs this. kept: store only those of the kept components' },
                @{ Word = '--whiten=none pca zca'; About = 'Whitening. pca: scale the scores to variance 1; zca: also rotate them back to the original columns' },
                @{ Word = '--epsilon='; About = 'With --whiten: divide each score by sqrt(eigenvalue + E); E may be 0' },
                @{ Word = '--missing=error drop mean em'; About = 'Treatment of rows with missing cells. error: end with an error; drop: leave these rows out, with a warning; mean: fill the cells with the column means; em: fit the observed cells (probabilistic PCA)' },
                @{ Word = '--weights='; About = 'Column of row weights; excluded from the features' },
                @{ Word = '--weights-kind=frequency reliability'; About = 'Meaning of a weight. frequency: how often the row occurs; reliability: how precise the row is' },
                @{ Word = '--updatable|--no-updatable'; About = 'Whether to store sums over the rows in the model' },
                @{ Word = '--seed='; About = 'Random seed' },
                @{ Word = '--memory='; About = 'Memory that a fit may use, such as 2GB; every fit needs about 100 MB or more' },
                @{ Word = '--align-to=@model'; About = 'Older model, such as last night''s' },
                @{ Word = '--threads='; About = 'Number of threads that read, compute and format; the results are the same for every N' },
                @{ Word = '--engine=threads dask spark'; About = 'Where the work runs. threads: on this machine; dask, spark: on a cluster' },
                @{ Word = '--scheduler='; About = 'Address of the cluster. dask: the scheduler, such as tcp://host:8786; spark: the master, such as spark://host:7077 or local[4]' },
                @{ Word = '-q|--quiet'; About = 'Hide notes and warnings; errors are still printed' },
                @{ Word = '-v|--verbose'; About = 'Print a summary of the run, also if standard error is not a terminal' },
                @{ Word = '--json'; About = 'Print the summary as one JSON object: on standard output if no results go there, else on standard error' },
                @{ Word = '--debug'; About = 'Show the traceback of an error' },
                @{ Word = '-h|--help'; About = 'Show the usual options (-h) or all options (--help)' }
            )
            Arguments = @('*@model@data')
        }
        'plot' = @{
            Options = @(
                @{ Word = '-o|--output=@any'; About = 'File for the picture (.png, .svg or .pdf; needs matplotlib, the extra ''plot''), or for the table of --format' },
                @{ Word = '--no-clobber'; About = 'Refuse to replace a file that exists' },
                @{ Word = '--format=picture table csv json markdown'; About = 'Draw the picture, or write its numbers as a table' },
                @{ Word = '--axes='; About = 'Components to draw: one or two for scores, two for biplot, any number for loadings' },
                @{ Word = '--color='; About = 'Colour the rows by this column' },
                @{ Word = '--scaling=rows columns'; About = 'Scaling of a biplot. rows: distances between points show distances between rows; columns: angles between arrows show correlations of columns' },
                @{ Word = '--from=scores rows'; About = 'Content of the input' },
                @{ Word = '--size='; About = 'Width and height of the picture in inches' },
                @{ Word = '--dpi='; About = 'Pixels per inch, also for raster parts of .svg and .pdf' },
                @{ Word = '*-c|--columns='; About = 'Use only these columns' },
                @{ Word = '*-x|--exclude='; About = 'Leave out these columns, such as ids' },
                @{ Word = '--input-format=parquet tsv csv'; About = 'Format of the input' },
                @{ Word = '-d|--delimiter=tab comma semicolon pipe space blanks'; About = 'Field separator: one character, or one of the words tab, comma, semicolon, pipe, space and blanks (any number of spaces or tabs)' },
                @{ Word = '--header|--no-header'; About = '--header: the first line contains the column names' },
                @{ Word = '--row-names'; About = 'The first field of each line is the name of the row, not a feature, as in tables of R and pandas' },
                @{ Word = '*--null-value='; About = 'Cells with this text count as missing, too; repeatable' },
                @{ Word = '--encoding=utf-8 latin-1 cp1252 utf-16'; About = 'Character encoding of text' },
                @{ Word = '--comment='; About = 'Ignore this character and the rest of its line, except inside quotes' },
                @{ Word = '--decimal=. ,'; About = 'Decimal mark' },
                @{ Word = '--thousands='; About = 'Thousands mark inside numbers' },
                @{ Word = '--strip='; About = 'Remove these characters before and after numbers, such as ''$'' or ''%''; the numbers are not rescaled' },
                @{ Word = '--skip-lines='; About = 'Skip the first N lines of each input' },
                @{ Word = '--skip-bad'; About = 'Skip each file that cannot be read, is damaged, lacks a column or has a bad cell' },
                @{ Word = '--triples='; About = 'Read an input that has one line for each cell' },
                @{ Word = '--absent=missing zero'; About = 'With --triples: value of the cells that have no line. missing: no value; zero: 0, for counts such as words of documents' },
                @{ Word = '*--label='; About = 'Label columns; excluded from the features' },
                @{ Word = '--label-kernel=delta linear rbf'; About = 'Similarity of two labels. delta: 1 if they are equal, else 0; linear: their product; rbf: exp(-gamma |y - y''|^2) for labels y and y''' },
                @{ Word = '--label-gamma='; About = 'Coefficient gamma of --label-kernel rbf' },
                @{ Word = '--kernel=rbf linear polynomial sigmoid laplacian cosine precomputed mds isomap lle laplacian-eigenmap'; About = 'Kernel, the similarity of two rows: rbf, linear, polynomial, sigmoid, laplacian, cosine, precomputed, mds, isomap, lle, laplacian-eigenmap' },
                @{ Word = '--gamma='; About = 'Coefficient gamma of the rbf, polynomial, sigmoid and laplacian kernels' },
                @{ Word = '--degree='; About = 'Degree of the polynomial kernel' },
                @{ Word = '--coef0='; About = 'Constant term of the polynomial and sigmoid kernels' },
                @{ Word = '--neighbors|--neighbours='; About = 'Number of neighbours of each row in the isomap, lle and laplacian-eigenmap kernels' },
                @{ Word = '--landmarks='; About = 'Approximate the kernel from M random rows (Nystroem)' },
                @{ Word = '-k|--components=all ratio eigenvalue kaiser broken-stick elbow parallel parallel-95 mle gavish-donoho marchenko-pastur cross-validation'; About = 'Number of components: a whole number such as 10, all, a share of the variance such as 0.95 (the fewest components that keep this share), or a rule: ratio, eigenvalue, kaiser, broken-stick, elbow, parallel, parallel-95, mle, gavish-donoho, marchenko-pastur, cross-validation' },
                @{ Word = '-s|--standardize'; About = 'Divide each column by its standard deviation' },
                @{ Word = '--center|--no-center'; About = 'Whether to subtract the column means' },
                @{ Word = '--center-rows'; About = 'Subtract the mean of each row from the row, before anything else; for images' },
                @{ Word = '--ddof=0 1'; About = 'Divisor of variances. 0: n; 1: n - 1, as in scikit-learn and R' },
                @{ Word = '--method=pca kernel supervised'; About = 'Method of the fit. pca: linear PCA; kernel: kernel PCA; supervised: directions that depend most on labels' },
                @{ Word = '--solver=auto covariance tsqr svd dual randomized'; About = 'Algorithm for the eigenvalues; -v prints which solver was used, and why' },
                @{ Word = '--eigenvalues=auto all kept'; About = 'Eigenvalues to compute and to store. auto: all of them if there are at most 1,000, else as many as -k needs. all: all of them; scree --rules needs this. kept: store only those of the kept components' },
                @{ Word = '--whiten=none pca zca'; About = 'Whitening. pca: scale the scores to variance 1; zca: also rotate them back to the original columns' },
                @{ Word = '--epsilon='; About = 'With --whiten: divide each score by sqrt(eigenvalue + E); E may be 0' },
                @{ Word = '--missing=error drop mean em'; About = 'Treatment of rows with missing cells. error: end with an error; drop: leave these rows out, with a warning; mean: fill the cells with the column means; em: fit the observed cells (probabilistic PCA)' },
                @{ Word = '--weights='; About = 'Column of row weights; excluded from the features' },
                @{ Word = '--weights-kind=frequency reliability'; About = 'Meaning of a weight. frequency: how often the row occurs; reliability: how precise the row is' },
                @{ Word = '--updatable|--no-updatable'; About = 'Whether to store sums over the rows in the model' },
                @{ Word = '--seed='; About = 'Random seed' },
                @{ Word = '--memory='; About = 'Memory that a fit may use, such as 2GB; every fit needs about 100 MB or more' },
                @{ Word = '--align-to=@model'; About = 'Older model, such as last night''s' },
                @{ Word = '--threads='; About = 'Number of threads that read, compute and format; the results are the same for every N' },
                @{ Word = '--engine=threads dask spark'; About = 'Where the work runs. threads: on this machine; dask, spark: on a cluster' },
                @{ Word = '--scheduler='; About = 'Address of the cluster. dask: the scheduler, such as tcp://host:8786; spark: the master, such as spark://host:7077 or local[4]' },
                @{ Word = '-q|--quiet'; About = 'Hide notes and warnings; errors are still printed' },
                @{ Word = '-v|--verbose'; About = 'Print a summary of the run, also if standard error is not a terminal' },
                @{ Word = '--json'; About = 'Print the summary as one JSON object: on standard output if no results go there, else on standard error' },
                @{ Word = '--debug'; About = 'Show the traceback of an error' },
                @{ Word = '-h|--help'; About = 'Show the usual options (-h) or all options (--help)' }
            )
            Arguments = @('scores loadings biplot', '*@model@data')
        }
        'report' = @{
            Options = @(
                @{ Word = '-o|--output=@any'; About = 'File for the page' },
                @{ Word = '--no-clobber'; About = 'Refuse to replace a file that exists' },
                @{ Word = '--color='; About = 'Colour the scores by this input column' },
                @{ Word = '--axes='; About = 'Components whose scores are drawn at first, such as 1,3; the page can also show other components' },
                @{ Word = '--image='; About = 'Also show the mean and the components as images' },
                @{ Word = '--first='; About = 'Show only the first K components in loadings, scores and images' },
                @{ Word = '--input-format=parquet tsv csv'; About = 'Format of the input' },
                @{ Word = '-d|--delimiter=tab comma semicolon pipe space blanks'; About = 'Field separator: one character, or one of the words tab, comma, semicolon, pipe, space and blanks (any number of spaces or tabs)' },
                @{ Word = '--header|--no-header'; About = '--header: the first line contains the column names' },
                @{ Word = '--row-names'; About = 'The first field of each line is the name of the row, not a feature, as in tables of R and pandas' },
                @{ Word = '*--null-value='; About = 'Cells with this text count as missing, too; repeatable' },
                @{ Word = '--encoding=utf-8 latin-1 cp1252 utf-16'; About = 'Character encoding of text' },
                @{ Word = '--comment='; About = 'Ignore this character and the rest of its line, except inside quotes' },
                @{ Word = '--decimal=. ,'; About = 'Decimal mark' },
                @{ Word = '--thousands='; About = 'Thousands mark inside numbers' },
                @{ Word = '--strip='; About = 'Remove these characters before and after numbers, such as ''$'' or ''%''; the numbers are not rescaled' },
                @{ Word = '--skip-lines='; About = 'Skip the first N lines of each input' },
                @{ Word = '--skip-bad'; About = 'Skip each file that cannot be read, is damaged, lacks a column or has a bad cell' },
                @{ Word = '--triples='; About = 'Read an input that has one line for each cell' },
                @{ Word = '--absent=missing zero'; About = 'With --triples: value of the cells that have no line. missing: no value; zero: 0, for counts such as words of documents' },
                @{ Word = '-k|--components='; About = 'Use only the first K components' },
                @{ Word = '--missing=error mean project em keep'; About = 'Treatment of rows with missing cells. error: end with an error; mean: fill the cells with the column means; project: least-squares scores of the observed cells; em: expected scores, given the observed cells; keep: leave the results of these rows empty' },
                @{ Word = '*--keep='; About = 'Copy these input columns to the output, before the results' },
                @{ Word = '--keep-all'; About = 'Copy all input columns to the output' },
                @{ Word = '--with-error'; About = 'Add a column squared_error: the squared differences between the observed cells of the row and their reconstruction, added up' },
                @{ Word = '--with-coverage'; About = 'Add a column coverage: the share of the components'' variance that lies in the observed cells of the row' },
                @{ Word = '--threads='; About = 'Number of threads that read, compute and format; the results are the same for every N' },
                @{ Word = '-q|--quiet'; About = 'Hide notes and warnings; errors are still printed' },
                @{ Word = '-v|--verbose'; About = 'Print a summary of the run, also if standard error is not a terminal' },
                @{ Word = '--json'; About = 'Print the summary as one JSON object: on standard output if no results go there, else on standard error' },
                @{ Word = '--debug'; About = 'Show the traceback of an error' },
                @{ Word = '-h|--help'; About = 'Show the usual options (-h) or all options (--help)' }
            )
            Arguments = @('@model', '*@data')
        }
        'inspect' = @{
            Options = @(
                @{ Word = '-q|--quiet'; About = 'Hide notes and warnings; errors are still printed' },
                @{ Word = '-v|--verbose'; About = 'Print every column and every component' },
                @{ Word = '--json'; About = 'Print the summary as one JSON object: on standard output if no results go there, else on standard error' },
                @{ Word = '--debug'; About = 'Show the traceback of an error' },
                @{ Word = '-h|--help'; About = 'Show the usual options (-h) or all options (--help)' }
            )
            Arguments = @('@model')
        }
        'diff' = @{
            Options = @(
                @{ Word = '--format=text csv json markdown'; About = 'Format of the report. text: sentences and tables; csv, json, markdown: one table with a row for each comparison and the columns what, name, a, b, change' },
                @{ Word = '-q|--quiet'; About = 'Hide notes and warnings; errors are still printed' },
                @{ Word = '-v|--verbose'; About = 'Print all columns, also those that changed least' },
                @{ Word = '--json'; About = 'Print the summary as one JSON object: on standard output if no results go there, else on standard error' },
                @{ Word = '--debug'; About = 'Show the traceback of an error' },
                @{ Word = '-h|--help'; About = 'Show the usual options (-h) or all options (--help)' }
            )
            Arguments = @('@model', '@model')
        }
        'update' = @{
            Options = @(
                @{ Word = '-o|--output=@any'; About = 'File for the model' },
                @{ Word = '--no-clobber'; About = 'Refuse to replace a file that exists' },
                @{ Word = '--input-format=parquet tsv csv'; About = 'Format of the input' },
                @{ Word = '-d|--delimiter=tab comma semicolon pipe space blanks'; About = 'Field separator: one character, or one of the words tab, comma, semicolon, pipe, space and blanks (any number of spaces or tabs)' },
                @{ Word = '--header|--no-header'; About = '--header: the first line contains the column names' },
                @{ Word = '--row-names'; About = 'The first field of each line is the name of the row, not a feature, as in tables of R and pandas' },
                @{ Word = '*--null-value='; About = 'Cells with this text count as missing, too; repeatable' },
                @{ Word = '--encoding=utf-8 latin-1 cp1252 utf-16'; About = 'Character encoding of text' },
                @{ Word = '--comment='; About = 'Ignore this character and the rest of its line, except inside quotes' },
                @{ Word = '--decimal=. ,'; About = 'Decimal mark' },
                @{ Word = '--thousands='; About = 'Thousands mark inside numbers' },
                @{ Word = '--strip='; About = 'Remove these characters before and after numbers, such as ''$'' or ''%''; the numbers are not rescaled' },
                @{ Word = '--skip-lines='; About = 'Skip the first N lines of each input' },
                @{ Word = '--skip-bad'; About = 'Skip each file that cannot be read, is damaged, lacks a column or has a bad cell' },
                @{ Word = '--align-to=@model'; About = 'Older model' },
                @{ Word = '--missing=error drop'; About = 'Treatment of rows with missing cells. error: end with an error; drop: leave these rows out, with a warning' },
                @{ Word = '--threads='; About = 'Number of threads that read, compute and format; the results are the same for every N' },
                @{ Word = '--engine=threads dask spark'; About = 'Where the work runs. threads: on this machine; dask, spark: on a cluster' },
                @{ Word = '--scheduler='; About = 'Address of the cluster. dask: the scheduler, such as tcp://host:8786; spark: the master, such as spark://host:7077 or local[4]' },
                @{ Word = '-q|--quiet'; About = 'Hide notes and warnings; errors are still printed' },
                @{ Word = '-v|--verbose'; About = 'Print a summary of the run, also if standard error is not a terminal' },
                @{ Word = '--json'; About = 'Print the summary as one JSON object: on standard output if no results go there, else on standard error' },
                @{ Word = '--debug'; About = 'Show the traceback of an error' },
                @{ Word = '-h|--help'; About = 'Show the usual options (-h) or all options (--help)' }
            )
            Arguments = @('@model', '*@data')
        }
        'merge' = @{
            Options = @(
                @{ Word = '-o|--output=@any'; About = 'File for the model' },
                @{ Word = '--no-clobber'; About = 'Refuse to replace a file that exists' },
                @{ Word = '--align-to=@model'; About = 'Older model' },
                @{ Word = '-q|--quiet'; About = 'Hide notes and warnings; errors are still printed' },
                @{ Word = '-v|--verbose'; About = 'Print a summary of the run, also if standard error is not a terminal' },
                @{ Word = '--json'; About = 'Print the summary as one JSON object: on standard output if no results go there, else on standard error' },
                @{ Word = '--debug'; About = 'Show the traceback of an error' },
                @{ Word = '-h|--help'; About = 'Show the usual options (-h) or all options (--help)' }
            )
            Arguments = @('*@model')
        }
        'subtract' = @{
            Options = @(
                @{ Word = '-o|--output=@any'; About = 'File for the model' },
                @{ Word = '--no-clobber'; About = 'Refuse to replace a file that exists' },
                @{ Word = '--input-format=parquet tsv csv'; About = 'Format of the input' },
                @{ Word = '-d|--delimiter=tab comma semicolon pipe space blanks'; About = 'Field separator: one character, or one of the words tab, comma, semicolon, pipe, space and blanks (any number of spaces or tabs)' },
                @{ Word = '--header|--no-header'; About = '--header: the first line contains the column names' },
                @{ Word = '--row-names'; About = 'The first field of each line is the name of the row, not a feature, as in tables of R and pandas' },
                @{ Word = '*--null-value='; About = 'Cells with this text count as missing, too; repeatable' },
                @{ Word = '--encoding=utf-8 latin-1 cp1252 utf-16'; About = 'Character encoding of text' },
                @{ Word = '--comment='; About = 'Ignore this character and the rest of its line, except inside quotes' },
                @{ Word = '--decimal=. ,'; About = 'Decimal mark' },
                @{ Word = '--thousands='; About = 'Thousands mark inside numbers' },
                @{ Word = '--strip='; About = 'Remove these characters before and after numbers, such as ''$'' or ''%''; the numbers are not rescaled' },
                @{ Word = '--skip-lines='; About = 'Skip the first N lines of each input' },
                @{ Word = '--skip-bad'; About = 'Skip each file that cannot be read, is damaged, lacks a column or has a bad cell' },
                @{ Word = '--align-to=@model'; About = 'Older model' },
                @{ Word = '--missing=error drop'; About = 'Treatment of rows with missing cells. error: end with an error; drop: leave these rows out, with a warning' },
                @{ Word = '--threads='; About = 'Number of threads that read, compute and format; the results are the same for every N' },
                @{ Word = '--engine=threads dask spark'; About = 'Where the work runs. threads: on this machine; dask, spark: on a cluster' },
                @{ Word = '--scheduler='; About = 'Address of the cluster. dask: the scheduler, such as tcp://host:8786; spark: the master, such as spark://host:7077 or local[4]' },
                @{ Word = '-q|--quiet'; About = 'Hide notes and warnings; errors are still printed' },
                @{ Word = '-v|--verbose'; About = 'Print a summary of the run, also if standard error is not a terminal' },
                @{ Word = '--json'; About = 'Print the summary as one JSON object: on standard output if no results go there, else on standard error' },
                @{ Word = '--debug'; About = 'Show the traceback of an error' },
                @{ Word = '-h|--help'; About = 'Show the usual options (-h) or all options (--help)' }
            )
            Arguments = @('@model', '*@model@data')
        }
        'refit' = @{
            Options = @(
                @{ Word = '-o|--output=@any'; About = 'File for the model' },
                @{ Word = '--no-clobber'; About = 'Refuse to replace a file that exists' },
                @{ Word = '--align-to=@model'; About = 'Older model' },
                @{ Word = '-k|--components=all ratio eigenvalue kaiser broken-stick elbow parallel parallel-95 mle gavish-donoho marchenko-pastur cross-validation'; About = 'Number of components: a whole number, a share of the variance, all, or a rule; as in fit' },
                @{ Word = '-s|--standardize|--no-standardize'; About = 'Whether to divide each column by its standard deviation' },
                @{ Word = '--center|--no-center'; About = 'Whether to subtract the column means' },
                @{ Word = '--ddof=0 1'; About = 'Divisor of variances. 0: n; 1: n - 1' },
                @{ Word = '--whiten=none pca zca'; About = 'Whitening. pca: scale the scores to variance 1; zca: also rotate them back to the original columns' },
                @{ Word = '--epsilon='; About = 'With --whiten: divide each score by sqrt(eigenvalue + E); E may be 0' },
                @{ Word = '*-c|--columns='; About = 'Keep only these columns of the model' },
                @{ Word = '*-x|--exclude='; About = 'Leave out these columns' },
                @{ Word = '-q|--quiet'; About = 'Hide notes and warnings; errors are still printed' },
                @{ Word = '-v|--verbose'; About = 'Print a summary of the run, also if standard error is not a terminal' },
                @{ Word = '--json'; About = 'Print the summary as one JSON object: on standard output if no results go there, else on standard error' },
                @{ Word = '--debug'; About = 'Show the traceback of an error' },
                @{ Word = '-h|--help'; About = 'Show the usual options (-h) or all options (--help)' }
            )
            Arguments = @('@model')
        }
        'completion' = @{
            Options = @(
                @{ Word = '-h|--help'; About = 'Show the usual options (-h) or all options (--help)' }
            )
            Arguments = @('bash zsh fish powershell')
        }
        'help' = @{
            Options = @(
                @{ Word = '-h|--help'; About = 'Show the usual options (-h) or all options (--help)' }
            )
            Arguments = @('cluster coming-from files how-many limits methods missing models numbers oddities pictures python recipes tables unattended fit transform reconstruct explain-variance scree components plot report inspect diff update merge subtract refit completion help')
        }
    }

    function Reply($text, $type, $about) {
        $shown = if ($text -match '[\s''"`(){}@,;&|<>$#]') { "'" + $text.Replace("'", "''") + "'" } else { $text }
        [System.Management.Automation.CompletionResult]::new($shown, $text, $type, $about)
    }

    function Reply-Words($words, $before, $typed) {
        foreach ($word in $words) {
            if ($word.StartsWith($typed)) { Reply ($before + $word) 'ParameterValue' $word }
        }
    }

    function Reply-Listed($words, $before, $typed) {
        $given = $typed.Substring(0, $typed.LastIndexOf(',') + 1)
        $left = $words | Where-Object { $given.Split(',') -cnotcontains $_ }
        Reply-Words @($left | ForEach-Object { $given + $_ }) $before $typed
    }

    # Folders, and the files of the kinds wanted.
    function Reply-Files($kinds, $before, $typed) {
        $endings = @()
        if ($kinds.Contains('@any')) { $endings += '.*' }
        if ($kinds.Contains('@model')) { $endings += '.*\.npz' }
        if ($kinds.Contains('@data')) { $endings += '.*(\.parquet|\.pq|\.tsv|\.tab|\.csv|\.txt)(\.gz|\.bz2|\.zst|\.zstd)?' }
        $cut = $typed.LastIndexOfAny('/\'.ToCharArray()) + 1
        $folder = $typed.Substring(0, $cut)
        $start = $typed.Substring($cut)
        $where = if ($folder) { $folder -replace '^~', $HOME } else { '.' }
        foreach ($item in Get-ChildItem -LiteralPath $where -ErrorAction Ignore) {
            if (-not $item.Name.StartsWith($start, [System.StringComparison]::OrdinalIgnoreCase)) { continue }
            $text = $before + $folder + $item.Name
            if ($item.PSIsContainer) { Reply ($text + '/') 'ProviderContainer' $item.Name }
            elseif ($item.Name -match "^($($endings -join '|'))$") { Reply $text 'ProviderItem' $item.Name }
        }
    }

    function Reply-Value($wanted, $before, $typed) {
        if (-not $wanted) { return }
        if ($wanted.StartsWith('@')) { Reply-Files $wanted $before $typed }
        elseif ($wanted.StartsWith('+')) { Reply-Listed ($wanted.Substring(1).Split(' ')) $before $typed }
        else { Reply-Words ($wanted.Split(' ')) $before $typed }
    }

    function Get-Names($option) { $option.Word.Split('=')[0].TrimStart('*').Split('|') }

    function Get-Value($option) { $option.Word.Substring($option.Word.IndexOf('=') + 1) }

    function Test-Value($option) { $option -and $option.Word.Contains('=') }

    function Find-Option($name) {
        foreach ($option in $options) { if ((Get-Names $option) -ccontains $name) { return $option } }
    }

    $typed = $wordToComplete -replace '^[''"]', '' -replace '[''"]$', ''
    $before = @($commandAst.CommandElements | Select-Object -Skip 1 |
            Where-Object { $_.Extent.EndOffset -lt $cursorPosition -or ($_.Extent.EndOffset -eq $cursorPosition -and -not $wordToComplete) } |
            ForEach-Object { if ($_ -is [System.Management.Automation.Language.StringConstantExpressionAst]) { $_.Value } else { $_.Extent.Text } })

    $options = $takes[''].Options
    $places = $takes[''].Arguments
    $given = @()
    $pending = $null
    $command = ''
    $ended = $false
    $place = 0
    foreach ($word in $before) {
        if ($pending) { $pending = $null }
        elseif (-not $ended -and $word -ceq '--') { $ended = $true }
        elseif (-not $ended -and $word.StartsWith('--')) {
            $option = Find-Option ($word.Split('=')[0])
            if ($option) { $given += $option.Word }
            if ((Test-Value $option) -and -not $word.Contains('=')) { $pending = $option }
        }
        elseif (-not $ended -and $word.Length -gt 1 -and $word.StartsWith('-')) {
            for ($i = 1; $i -lt $word.Length; $i++) {
                $option = Find-Option ('-' + $word[$i])
                if (-not $option) { break }
                $given += $option.Word
                if (Test-Value $option) {
                    if ($i -eq $word.Length - 1) { $pending = $option }
                    break
                }
            }
        }
        elseif (-not $command) {
            $command = $word
            $given = @()
            $options = @()
            $places = @()
            if ($takes.ContainsKey($command)) {
                $options = $takes[$command].Options
                $places = $takes[$command].Arguments
            }
        }
        else { $place++ }
    }

    if ($pending) { Reply-Value (Get-Value $pending) '' $typed }
    elseif (-not $ended -and $typed.StartsWith('--') -and $typed.Contains('=')) {
        $name, $value = $typed.Split('=', 2)
        $option = Find-Option $name
        if (Test-Value $option) { Reply-Value (Get-Value $option) ($name + '=') $value }
    }
    elseif (-not $ended -and $typed.StartsWith('-')) {
        foreach ($option in $options) {
            if (-not $option.Word.StartsWith('*') -and $given -ccontains $option.Word) { continue }
            foreach ($name in Get-Names $option) {
                if ($name.StartsWith($typed, [System.StringComparison]::Ordinal)) { Reply $name 'ParameterName' $option.About }
            }
        }
    }
    elseif (-not $command) {
        foreach ($entry in $commands) {
            if ($entry.Word.StartsWith($typed)) { Reply $entry.Word 'ParameterValue' $entry.About }
        }
    }
    elseif ($places.Count) {
        $last = $places[$places.Count - 1]
        if ($place -lt $places.Count) { Reply-Value ($places[$place].TrimStart('*')) '' $typed }
        elseif ($last.StartsWith('*')) { Reply-Value ($last.TrimStart('*')) '' $typed }
    }
}
