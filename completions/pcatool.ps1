# Completion of pcatool for PowerShell, made from the program's own table of options; it needs no Python.
# Put this line into your profile (its place is in $PROFILE):
#   pcatool completion powershell | Out-String | Invoke-Expression
# Where nothing fits, PowerShell itself goes on to offer files.

Register-ArgumentCompleter -Native -CommandName 'pcatool', 'pcatool.exe' -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)

    $commands = @(
        @{ Word = 'fit'; About = 'Fit a model to the rows of a table and save it' },
        @{ Word = 'transform'; About = 'Project rows onto a model: scores PC1, PC2, ...' },
        @{ Word = 'reconstruct'; About = 'Come back from scores to rows in original units' },
        @{ Word = 'explain-variance'; About = 'Print what each number of components keeps' },
        @{ Word = 'scree'; About = 'Draw the eigenvalues and what they add up to' },
        @{ Word = 'components'; About = 'Show what the components are made of, or draw them' },
        @{ Word = 'plot'; About = 'Draw scores of rows, loadings of columns, or both' },
        @{ Word = 'report'; About = 'Show a model, and rows, on a page to look at in a browser' },
        @{ Word = 'inspect'; About = 'Tell in plain words what is in a model file' },
        @{ Word = 'diff'; About = 'Tell what has changed from one model to another' },
        @{ Word = 'update'; About = 'Add new rows to a model, without the old ones' },
        @{ Word = 'merge'; About = 'Make one model of the rows of several, without the rows' },
        @{ Word = 'subtract'; About = 'Take rows back out of a model, as for a sliding window' },
        @{ Word = 'refit'; About = 'Fit a model otherwise, without its rows' },
        @{ Word = 'completion'; About = 'Print the script by which a shell completes pcatool' },
        @{ Word = 'help'; About = 'Show a help topic, or list the topics' }
    )

    # What a subcommand takes. An option is its names, = when it has a value, and what that can be: words; some of
    # them, after a +; files, after @; nothing that could be told. A * before it: it can be given again.
    $takes = @{
        '' = @{
            Options = @(
                @{ Word = '-V|--version'; About = 'Print the version' },
                @{ Word = '-h|--help'; About = 'Show the usual options (-h), or all of them (--help)' }
            )
            Arguments = @()
        }
        'fit' = @{
            Options = @(
                @{ Word = '-o|--output=@any'; About = 'Write the model here, replacing the file in one step; - is standard output' },
                @{ Word = '--no-clobber'; About = 'Refuse to replace a file that exists' },
                @{ Word = '--plan'; About = 'Only say which solver would be used and why, its passes over the data and its memory; with --scores, that of scoring, too' },
                @{ Word = '--scores=@any'; About = 'Write the scores of the same rows here, too, as transform would; a pipe is read once, through a temporary file' },
                @{ Word = '*--keep='; About = 'With --scores: pass these input columns through, ahead of the scores; terms as in -c; repeatable' },
                @{ Word = '--keep-all'; About = 'With --scores: pass every input column through' },
                @{ Word = '*-c|--columns='; About = 'Use these columns only: names, 1-based numbers, ranges (a-c, 3-), globs, comma-separated; repeatable' },
                @{ Word = '*-x|--exclude='; About = 'Leave these columns out; same terms; repeatable' },
                @{ Word = '--input-format=parquet tsv csv'; About = 'Insist on a format instead of looking at the content' },
                @{ Word = '-d|--delimiter=tab comma semicolon pipe space blanks'; About = 'Field separator: one character, or tab, comma, semicolon, pipe, space, blanks (runs of blanks)' },
                @{ Word = '--header|--no-header'; About = 'The first line holds names (insist), or data: then the columns are c1, c2, ...' },
                @{ Word = '--row-names'; About = 'The first field of each row of text is its name, as R''s write.table and write.csv and pandas write it: never a feature' },
                @{ Word = '*--null-value='; About = 'A further spelling of a missing cell; repeatable' },
                @{ Word = '--encoding=utf-8 latin-1 cp1252 utf-16'; About = 'Character encoding of text' },
                @{ Word = '--comment='; About = 'Ignore what follows this character on a line' },
                @{ Word = '--decimal=. ,'; About = 'Decimal mark' },
                @{ Word = '--thousands='; About = 'Thousands mark inside numbers' },
                @{ Word = '--strip='; About = 'Characters to take off numbers, such as ''$'' or ''%''; the number itself is not rescaled' },
                @{ Word = '--skip-lines='; About = 'Lines to pass over at the start' },
                @{ Word = '--skip-bad'; About = 'Leave out a file that cannot be read, is damaged, has another schema or a bad cell: the whole of it, with a warning that lists such files' },
                @{ Word = '--triples='; About = 'One line for each cell: the columns of user, item and value, as in --triples user,item,rating' },
                @{ Word = '--absent=missing zero'; About = 'With --triples: cells that no line gives are missing, or zero (counts, words of documents)' },
                @{ Word = '*--label='; About = 'Columns that supervise; they are no features; terms as in -c; repeatable' },
                @{ Word = '--label-kernel=delta linear rbf'; About = 'How alike two labels are: equal or not, their product, or exp(-gamma |y - y''|^2)' },
                @{ Word = '--label-gamma='; About = 'Of --label-kernel rbf' },
                @{ Word = '--kernel=rbf linear polynomial sigmoid laplacian cosine precomputed mds isomap lle laplacian-eigenmap'; About = 'How alike two rows are: rbf, linear, polynomial, sigmoid, laplacian, cosine, precomputed, mds, isomap, lle, laplacian-eigenmap' },
                @{ Word = '--gamma='; About = 'Of rbf, polynomial, sigmoid, laplacian' },
                @{ Word = '--degree='; About = 'Of polynomial' },
                @{ Word = '--coef0='; About = 'Of polynomial and sigmoid' },
                @{ Word = '--neighbors|--neighbours='; About = 'Neighbours of each row, of isomap, lle, laplacian-eigenmap' },
                @{ Word = '--landmarks='; About = 'Approximate from M rows drawn at random (Nystroem), where n x n numbers are too many' },
                @{ Word = '-k|--components=all ratio eigenvalue kaiser broken-stick elbow parallel parallel-95 mle gavish-donoho marchenko-pastur cross-validation'; About = 'How many components: a number, a share of the variance (the smallest k that keeps it), all, or a rule: ratio, eigenvalue, kaiser, broken-stick, elbow, parallel, parallel-95, mle, gavish-donoho, marchenko-pastur, cross-validation' },
                @{ Word = '-s|--standardize'; About = 'Divide each column by its standard deviation' },
                @{ Word = '--center|--no-center'; About = 'Subtract the column means, or do not' },
                @{ Word = '--center-rows'; About = 'Subtract from each row its own mean, first of all (for images)' },
                @{ Word = '--ddof=0 1'; About = 'Divide by n (0) or by n - 1 (1, as scikit-learn and R do)' },
                @{ Word = '--method=pca kernel supervised'; About = 'What to fit' },
                @{ Word = '--solver=auto covariance tsqr svd dual randomized'; About = 'How the eigenvalues are computed; -v says which was taken and why' },
                @{ Word = '--whiten=none pca zca'; About = 'Scores of variance 1: pca, or turned back to the original columns: zca' },
                @{ Word = '--epsilon='; About = 'Whitening divides by the root of eigenvalue + E; 0 is allowed' },
                @{ Word = '--missing=error drop mean em'; About = 'Rows with missing cells: an error; dropped; the column''s mean stands in; or the components are fitted to the cells that are there (probabilistic PCA by EM)' },
                @{ Word = '--weights='; About = 'Column with a weight for each row; it is no feature' },
                @{ Word = '--weights-kind=frequency reliability'; About = 'What a weight says: how often the row occurs, or how reliable it is' },
                @{ Word = '--updatable|--no-updatable'; About = 'Keep the sums over rows in the model, d x d numbers, for update, merge, subtract and refit; or do not' },
                @{ Word = '--seed='; About = 'Start of everything random' },
                @{ Word = '--memory='; About = 'Refuse a fit that would need more, such as 2GB; it never changes how the fit is done' },
                @{ Word = '--align-to=@model'; About = 'Give components the signs that they have in this older model, and nearly equal ones its order, so that nightly fits can be compared' },
                @{ Word = '--threads='; About = 'Threads that read, compute and format; the results do not depend on it' },
                @{ Word = '--engine=threads dask spark'; About = 'Where the work is done: on the cores of this machine, or on a cluster, a task for each file or some row groups of it' },
                @{ Word = '--scheduler='; About = 'The cluster: for dask the scheduler, as tcp://host:8786; for spark the master, as spark://host:7077 or local[4]' },
                @{ Word = '-q|--quiet'; About = 'No notes, no warnings; errors still appear' },
                @{ Word = '-v|--verbose'; About = 'Say what was done, off a terminal too' },
                @{ Word = '--json'; About = 'Print what was done as one JSON object: on standard output when it is free, else on standard error' },
                @{ Word = '--debug'; About = 'Show the traceback of an error' },
                @{ Word = '-h|--help'; About = 'Show the usual options (-h), or all of them (--help)' }
            )
            Arguments = @('*@data')
        }
        'transform' = @{
            Options = @(
                @{ Word = '--input-format=parquet tsv csv'; About = 'Insist on a format instead of looking at the content' },
                @{ Word = '-d|--delimiter=tab comma semicolon pipe space blanks'; About = 'Field separator: one character, or tab, comma, semicolon, pipe, space, blanks (runs of blanks)' },
                @{ Word = '--header|--no-header'; About = 'The first line holds names (insist), or data: then the columns are c1, c2, ...' },
                @{ Word = '--row-names'; About = 'The first field of each row of text is its name, as R''s write.table and write.csv and pandas write it: never a feature' },
                @{ Word = '*--null-value='; About = 'A further spelling of a missing cell; repeatable' },
                @{ Word = '--encoding=utf-8 latin-1 cp1252 utf-16'; About = 'Character encoding of text' },
                @{ Word = '--comment='; About = 'Ignore what follows this character on a line' },
                @{ Word = '--decimal=. ,'; About = 'Decimal mark' },
                @{ Word = '--thousands='; About = 'Thousands mark inside numbers' },
                @{ Word = '--strip='; About = 'Characters to take off numbers, such as ''$'' or ''%''; the number itself is not rescaled' },
                @{ Word = '--skip-lines='; About = 'Lines to pass over at the start' },
                @{ Word = '--skip-bad'; About = 'Leave out a file that cannot be read, is damaged, has another schema or a bad cell: the whole of it, with a warning that lists such files' },
                @{ Word = '--triples='; About = 'One line for each cell: the columns of user, item and value, as in --triples user,item,rating' },
                @{ Word = '--absent=missing zero'; About = 'With --triples: cells that no line gives are missing, or zero (counts, words of documents)' },
                @{ Word = '-k|--components='; About = 'Use only the first K components' },
                @{ Word = '--missing=error mean project em keep'; About = 'A row with missing cells: an error; the column means stand in; its least-squares scores from the cells that are there; what the model expects of it, its noise allowed for; or kept with empty results' },
                @{ Word = '*--keep='; About = 'Pass these input columns through, ahead of the results; terms as in fit -c; repeatable' },
                @{ Word = '--keep-all'; About = 'Pass every input column through' },
                @{ Word = '--with-error'; About = 'Add a column squared_error: what the components leave out of the row, in the units of the fit' },
                @{ Word = '--with-coverage'; About = 'Add a column coverage: the share of the components'' variance in the cells of the row that are there' },
                @{ Word = '-o|--output=@any'; About = 'Write here, replacing the file in one step; - is standard output' },
                @{ Word = '--output-format=csv tsv parquet jsonl'; About = 'Insist on a format instead of going by the name' },
                @{ Word = '--output-header|--no-output-header'; About = 'Write the line of names, or do not' },
                @{ Word = '--float-format='; About = 'Format of numbers in text, such as .6g or %.3f' },
                @{ Word = '--no-clobber'; About = 'Refuse to replace a file that exists' },
                @{ Word = '--resume'; About = 'With -o DIR/: pass over the inputs whose output is there, not older than the input and the model; it goes by names and times only, so give the same options' },
                @{ Word = '--threads='; About = 'Threads that read, compute and format; the results do not depend on it' },
                @{ Word = '--engine=threads dask spark'; About = 'Where the work is done: on the cores of this machine, or on a cluster, a task for each file or some row groups of it' },
                @{ Word = '--scheduler='; About = 'The cluster: for dask the scheduler, as tcp://host:8786; for spark the master, as spark://host:7077 or local[4]' },
                @{ Word = '-q|--quiet'; About = 'No notes, no warnings; errors still appear' },
                @{ Word = '-v|--verbose'; About = 'Say what was done, off a terminal too' },
                @{ Word = '--json'; About = 'Print what was done as one JSON object: on standard output when it is free, else on standard error' },
                @{ Word = '--debug'; About = 'Show the traceback of an error' },
                @{ Word = '-h|--help'; About = 'Show the usual options (-h), or all of them (--help)' }
            )
            Arguments = @('@model', '*@data')
        }
        'reconstruct' = @{
            Options = @(
                @{ Word = '--from=scores rows'; About = 'What the input holds' },
                @{ Word = '--preimage'; About = 'Of a kernel model: an approximation, learned from its training rows' },
                @{ Word = '--fill'; About = 'Return the original rows with only their missing cells replaced' },
                @{ Word = '--input-format=parquet tsv csv'; About = 'Insist on a format instead of looking at the content' },
                @{ Word = '-d|--delimiter=tab comma semicolon pipe space blanks'; About = 'Field separator: one character, or tab, comma, semicolon, pipe, space, blanks (runs of blanks)' },
                @{ Word = '--header|--no-header'; About = 'The first line holds names (insist), or data: then the columns are c1, c2, ...' },
                @{ Word = '--row-names'; About = 'The first field of each row of text is its name, as R''s write.table and write.csv and pandas write it: never a feature' },
                @{ Word = '*--null-value='; About = 'A further spelling of a missing cell; repeatable' },
                @{ Word = '--encoding=utf-8 latin-1 cp1252 utf-16'; About = 'Character encoding of text' },
                @{ Word = '--comment='; About = 'Ignore what follows this character on a line' },
                @{ Word = '--decimal=. ,'; About = 'Decimal mark' },
                @{ Word = '--thousands='; About = 'Thousands mark inside numbers' },
                @{ Word = '--strip='; About = 'Characters to take off numbers, such as ''$'' or ''%''; the number itself is not rescaled' },
                @{ Word = '--skip-lines='; About = 'Lines to pass over at the start' },
                @{ Word = '--skip-bad'; About = 'Leave out a file that cannot be read, is damaged, has another schema or a bad cell: the whole of it, with a warning that lists such files' },
                @{ Word = '--triples='; About = 'One line for each cell: the columns of user, item and value, as in --triples user,item,rating' },
                @{ Word = '--absent=missing zero'; About = 'With --triples: cells that no line gives are missing, or zero (counts, words of documents)' },
                @{ Word = '-k|--components='; About = 'Use only the first K components' },
                @{ Word = '--missing=error mean project em keep'; About = 'A row with missing cells: an error; the column means stand in; its least-squares scores from the cells that are there; what the model expects of it, its noise allowed for; or kept with empty results' },
                @{ Word = '*--keep='; About = 'Pass these input columns through, ahead of the results; terms as in fit -c; repeatable' },
                @{ Word = '--keep-all'; About = 'Pass every input column through' },
                @{ Word = '--with-error'; About = 'Add a column squared_error: what the components leave out of the row, in the units of the fit' },
                @{ Word = '--with-coverage'; About = 'Add a column coverage: the share of the components'' variance in the cells of the row that are there' },
                @{ Word = '-o|--output=@any'; About = 'Write here, replacing the file in one step; - is standard output' },
                @{ Word = '--output-format=csv tsv parquet jsonl'; About = 'Insist on a format instead of going by the name' },
                @{ Word = '--output-header|--no-output-header'; About = 'Write the line of names, or do not' },
                @{ Word = '--float-format='; About = 'Format of numbers in text, such as .6g or %.3f' },
                @{ Word = '--no-clobber'; About = 'Refuse to replace a file that exists' },
                @{ Word = '--resume'; About = 'With -o DIR/: pass over the inputs whose output is there, not older than the input and the model; it goes by names and times only, so give the same options' },
                @{ Word = '--threads='; About = 'Threads that read, compute and format; the results do not depend on it' },
                @{ Word = '--engine=threads dask spark'; About = 'Where the work is done: on the cores of this machine, or on a cluster, a task for each file or some row groups of it' },
                @{ Word = '--scheduler='; About = 'The cluster: for dask the scheduler, as tcp://host:8786; for spark the master, as spark://host:7077 or local[4]' },
                @{ Word = '-q|--quiet'; About = 'No notes, no warnings; errors still appear' },
                @{ Word = '-v|--verbose'; About = 'Say what was done, off a terminal too' },
                @{ Word = '--json'; About = 'Print what was done as one JSON object: on standard output when it is free, else on standard error' },
                @{ Word = '--debug'; About = 'Show the traceback of an error' },
                @{ Word = '-h|--help'; About = 'Show the usual options (-h), or all of them (--help)' }
            )
            Arguments = @('@model', '*@data')
        }
        'explain-variance' = @{
            Options = @(
                @{ Word = '--format=table csv json markdown'; About = 'Form of the report' },
                @{ Word = '--threshold='; About = 'Print only how many components keep this share of the variance' },
                @{ Word = '*-c|--columns='; About = 'Use these columns only: names, 1-based numbers, ranges (a-c, 3-), globs, comma-separated; repeatable' },
                @{ Word = '*-x|--exclude='; About = 'Leave these columns out; same terms; repeatable' },
                @{ Word = '--input-format=parquet tsv csv'; About = 'Insist on a format instead of looking at the content' },
                @{ Word = '-d|--delimiter=tab comma semicolon pipe space blanks'; About = 'Field separator: one character, or tab, comma, semicolon, pipe, space, blanks (runs of blanks)' },
                @{ Word = '--header|--no-header'; About = 'The first line holds names (insist), or data: then the columns are c1, c2, ...' },
                @{ Word = '--row-names'; About = 'The first field of each row of text is its name, as R''s write.table and write.csv and pandas write it: never a feature' },
                @{ Word = '*--null-value='; About = 'A further spelling of a missing cell; repeatable' },
                @{ Word = '--encoding=utf-8 latin-1 cp1252 utf-16'; About = 'Character encoding of text' },
                @{ Word = '--comment='; About = 'Ignore what follows this character on a line' },
                @{ Word = '--decimal=. ,'; About = 'Decimal mark' },
                @{ Word = '--thousands='; About = 'Thousands mark inside numbers' },
                @{ Word = '--strip='; About = 'Characters to take off numbers, such as ''$'' or ''%''; the number itself is not rescaled' },
                @{ Word = '--skip-lines='; About = 'Lines to pass over at the start' },
                @{ Word = '--skip-bad'; About = 'Leave out a file that cannot be read, is damaged, has another schema or a bad cell: the whole of it, with a warning that lists such files' },
                @{ Word = '--triples='; About = 'One line for each cell: the columns of user, item and value, as in --triples user,item,rating' },
                @{ Word = '--absent=missing zero'; About = 'With --triples: cells that no line gives are missing, or zero (counts, words of documents)' },
                @{ Word = '*--label='; About = 'Columns that supervise; they are no features; terms as in -c; repeatable' },
                @{ Word = '--label-kernel=delta linear rbf'; About = 'How alike two labels are: equal or not, their product, or exp(-gamma |y - y''|^2)' },
                @{ Word = '--label-gamma='; About = 'Of --label-kernel rbf' },
                @{ Word = '--kernel=rbf linear polynomial sigmoid laplacian cosine precomputed mds isomap lle laplacian-eigenmap'; About = 'How alike two rows are: rbf, linear, polynomial, sigmoid, laplacian, cosine, precomputed, mds, isomap, lle, laplacian-eigenmap' },
                @{ Word = '--gamma='; About = 'Of rbf, polynomial, sigmoid, laplacian' },
                @{ Word = '--degree='; About = 'Of polynomial' },
                @{ Word = '--coef0='; About = 'Of polynomial and sigmoid' },
                @{ Word = '--neighbors|--neighbours='; About = 'Neighbours of each row, of isomap, lle, laplacian-eigenmap' },
                @{ Word = '--landmarks='; About = 'Approximate from M rows drawn at random (Nystroem), where n x n numbers are too many' },
                @{ Word = '-k|--components=all ratio eigenvalue kaiser broken-stick elbow parallel parallel-95 mle gavish-donoho marchenko-pastur cross-validation'; About = 'How many components: a number, a share of the variance (the smallest k that keeps it), all, or a rule: ratio, eigenvalue, kaiser, broken-stick, elbow, parallel, parallel-95, mle, gavish-donoho, marchenko-pastur, cross-validation' },
                @{ Word = '-s|--standardize'; About = 'Divide each column by its standard deviation' },
                @{ Word = '--center|--no-center'; About = 'Subtract the column means, or do not' },
                @{ Word = '--center-rows'; About = 'Subtract from each row its own mean, first of all (for images)' },
                @{ Word = '--ddof=0 1'; About = 'Divide by n (0) or by n - 1 (1, as scikit-learn and R do)' },
                @{ Word = '--method=pca kernel supervised'; About = 'What to fit' },
                @{ Word = '--solver=auto covariance tsqr svd dual randomized'; About = 'How the eigenvalues are computed; -v says which was taken and why' },
                @{ Word = '--whiten=none pca zca'; About = 'Scores of variance 1: pca, or turned back to the original columns: zca' },
                @{ Word = '--epsilon='; About = 'Whitening divides by the root of eigenvalue + E; 0 is allowed' },
                @{ Word = '--missing=error drop mean em'; About = 'Rows with missing cells: an error; dropped; the column''s mean stands in; or the components are fitted to the cells that are there (probabilistic PCA by EM)' },
                @{ Word = '--weights='; About = 'Column with a weight for each row; it is no feature' },
                @{ Word = '--weights-kind=frequency reliability'; About = 'What a weight says: how often the row occurs, or how reliable it is' },
                @{ Word = '--updatable|--no-updatable'; About = 'Keep the sums over rows in the model, d x d numbers, for update, merge, subtract and refit; or do not' },
                @{ Word = '--seed='; About = 'Start of everything random' },
                @{ Word = '--memory='; About = 'Refuse a fit that would need more, such as 2GB; it never changes how the fit is done' },
                @{ Word = '--align-to=@model'; About = 'Give components the signs that they have in this older model, and nearly equal ones its order, so that nightly fits can be compared' },
                @{ Word = '--threads='; About = 'Threads that read, compute and format; the results do not depend on it' },
                @{ Word = '--engine=threads dask spark'; About = 'Where the work is done: on the cores of this machine, or on a cluster, a task for each file or some row groups of it' },
                @{ Word = '--scheduler='; About = 'The cluster: for dask the scheduler, as tcp://host:8786; for spark the master, as spark://host:7077 or local[4]' },
                @{ Word = '-q|--quiet'; About = 'No notes, no warnings; errors still appear' },
                @{ Word = '-v|--verbose'; About = 'Say what was done, off a terminal too' },
                @{ Word = '--json'; About = 'Print what was done as one JSON object: on standard output when it is free, else on standard error' },
                @{ Word = '--debug'; About = 'Show the traceback of an error' },
                @{ Word = '-h|--help'; About = 'Show the usual options (-h), or all of them (--help)' }
            )
            Arguments = @('*@model@data')
        }
        'scree' = @{
            Options = @(
                @{ Word = '-o|--output=@any'; About = 'Draw a picture instead: .png, .svg or .pdf (needs matplotlib, the extra ''plot'')' },
                @{ Word = '--no-clobber'; About = 'Refuse to replace a file that exists' },
                @{ Word = '--format=chart table csv json markdown'; About = 'The drawing, or its numbers' },
                @{ Word = '--rules=+all ratio eigenvalue kaiser broken-stick elbow parallel parallel-95 mle gavish-donoho marchenko-pastur cross-validation'; About = 'Print what the rules for -k make of the data, and where they agree; with -o mark in the picture what each picks' },
                @{ Word = '--log'; About = 'With -o: eigenvalues on a logarithmic scale' },
                @{ Word = '--log-components'; About = 'With -o: components on a logarithmic scale' },
                @{ Word = '--all-components'; About = 'With -o: draw all components, not only the first 30' },
                @{ Word = '--size='; About = 'Width and height of the picture in inches' },
                @{ Word = '--dpi='; About = 'Pixels per inch, also of what is a raster in .svg and .pdf' },
                @{ Word = '*-c|--columns='; About = 'Use these columns only: names, 1-based numbers, ranges (a-c, 3-), globs, comma-separated; repeatable' },
                @{ Word = '*-x|--exclude='; About = 'Leave these columns out; same terms; repeatable' },
                @{ Word = '--input-format=parquet tsv csv'; About = 'Insist on a format instead of looking at the content' },
                @{ Word = '-d|--delimiter=tab comma semicolon pipe space blanks'; About = 'Field separator: one character, or tab, comma, semicolon, pipe, space, blanks (runs of blanks)' },
                @{ Word = '--header|--no-header'; About = 'The first line holds names (insist), or data: then the columns are c1, c2, ...' },
                @{ Word = '--row-names'; About = 'The first field of each row of text is its name, as R''s write.table and write.csv and pandas write it: never a feature' },
                @{ Word = '*--null-value='; About = 'A further spelling of a missing cell; repeatable' },
                @{ Word = '--encoding=utf-8 latin-1 cp1252 utf-16'; About = 'Character encoding of text' },
                @{ Word = '--comment='; About = 'Ignore what follows this character on a line' },
                @{ Word = '--decimal=. ,'; About = 'Decimal mark' },
                @{ Word = '--thousands='; About = 'Thousands mark inside numbers' },
                @{ Word = '--strip='; About = 'Characters to take off numbers, such as ''$'' or ''%''; the number itself is not rescaled' },
                @{ Word = '--skip-lines='; About = 'Lines to pass over at the start' },
                @{ Word = '--skip-bad'; About = 'Leave out a file that cannot be read, is damaged, has another schema or a bad cell: the whole of it, with a warning that lists such files' },
                @{ Word = '--triples='; About = 'One line for each cell: the columns of user, item and value, as in --triples user,item,rating' },
                @{ Word = '--absent=missing zero'; About = 'With --triples: cells that no line gives are missing, or zero (counts, words of documents)' },
                @{ Word = '*--label='; About = 'Columns that supervise; they are no features; terms as in -c; repeatable' },
                @{ Word = '--label-kernel=delta linear rbf'; About = 'How alike two labels are: equal or not, their product, or exp(-gamma |y - y''|^2)' },
                @{ Word = '--label-gamma='; About = 'Of --label-kernel rbf' },
                @{ Word = '--kernel=rbf linear polynomial sigmoid laplacian cosine precomputed mds isomap lle laplacian-eigenmap'; About = 'How alike two rows are: rbf, linear, polynomial, sigmoid, laplacian, cosine, precomputed, mds, isomap, lle, laplacian-eigenmap' },
                @{ Word = '--gamma='; About = 'Of rbf, polynomial, sigmoid, laplacian' },
                @{ Word = '--degree='; About = 'Of polynomial' },
                @{ Word = '--coef0='; About = 'Of polynomial and sigmoid' },
                @{ Word = '--neighbors|--neighbours='; About = 'Neighbours of each row, of isomap, lle, laplacian-eigenmap' },
                @{ Word = '--landmarks='; About = 'Approximate from M rows drawn at random (Nystroem), where n x n numbers are too many' },
                @{ Word = '-k|--components=all ratio eigenvalue kaiser broken-stick elbow parallel parallel-95 mle gavish-donoho marchenko-pastur cross-validation'; About = 'How many components: a number, a share of the variance (the smallest k that keeps it), all, or a rule: ratio, eigenvalue, kaiser, broken-stick, elbow, parallel, parallel-95, mle, gavish-donoho, marchenko-pastur, cross-validation' },
                @{ Word = '-s|--standardize'; About = 'Divide each column by its standard deviation' },
                @{ Word = '--center|--no-center'; About = 'Subtract the column means, or do not' },
                @{ Word = '--center-rows'; About = 'Subtract from each row its own mean, first of all (for images)' },
                @{ Word = '--ddof=0 1'; About = 'Divide by n (0) or by n - 1 (1, as scikit-learn and R do)' },
                @{ Word = '--method=pca kernel supervised'; About = 'What to fit' },
                @{ Word = '--solver=auto covariance tsqr svd dual randomized'; About = 'How the eigenvalues are computed; -v says which was taken and why' },
                @{ Word = '--whiten=none pca zca'; About = 'Scores of variance 1: pca, or turned back to the original columns: zca' },
                @{ Word = '--epsilon='; About = 'Whitening divides by the root of eigenvalue + E; 0 is allowed' },
                @{ Word = '--missing=error drop mean em'; About = 'Rows with missing cells: an error; dropped; the column''s mean stands in; or the components are fitted to the cells that are there (probabilistic PCA by EM)' },
                @{ Word = '--weights='; About = 'Column with a weight for each row; it is no feature' },
                @{ Word = '--weights-kind=frequency reliability'; About = 'What a weight says: how often the row occurs, or how reliable it is' },
                @{ Word = '--updatable|--no-updatable'; About = 'Keep the sums over rows in the model, d x d numbers, for update, merge, subtract and refit; or do not' },
                @{ Word = '--seed='; About = 'Start of everything random' },
                @{ Word = '--memory='; About = 'Refuse a fit that would need more, such as 2GB; it never changes how the fit is done' },
                @{ Word = '--align-to=@model'; About = 'Give components the signs that they have in this older model, and nearly equal ones its order, so that nightly fits can be compared' },
                @{ Word = '--threads='; About = 'Threads that read, compute and format; the results do not depend on it' },
                @{ Word = '--engine=threads dask spark'; About = 'Where the work is done: on the cores of this machine, or on a cluster, a task for each file or some row groups of it' },
                @{ Word = '--scheduler='; About = 'The cluster: for dask the scheduler, as tcp://host:8786; for spark the master, as spark://host:7077 or local[4]' },
                @{ Word = '-q|--quiet'; About = 'No notes, no warnings; errors still appear' },
                @{ Word = '-v|--verbose'; About = 'Say what was done, off a terminal too' },
                @{ Word = '--json'; About = 'Print what was done as one JSON object: on standard output when it is free, else on standard error' },
                @{ Word = '--debug'; About = 'Show the traceback of an error' },
                @{ Word = '-h|--help'; About = 'Show the usual options (-h), or all of them (--help)' }
            )
            Arguments = @('*@model@data')
        }
        'components' = @{
            Options = @(
                @{ Word = '-o|--output=@any'; About = 'Write here: the numbers, or with --image a picture, .png, .svg or .pdf (needs matplotlib, the extra ''plot'')' },
                @{ Word = '--no-clobber'; About = 'Refuse to replace a file that exists' },
                @{ Word = '--values=+loadings correlations contributions cos2'; About = 'What to show of each column: loadings; correlations with the scores; contributions, in per cent of the component; cos2, the share of the column''s variance' },
                @{ Word = '--first='; About = 'Show only the first K components, of a model too' },
                @{ Word = '--image='; About = 'Draw the mean and the components as images instead, the columns as pixels, line by line; with -o' },
                @{ Word = '--format=table csv json markdown'; About = 'Form of the numbers' },
                @{ Word = '--size='; About = 'Width and height of the picture in inches' },
                @{ Word = '--dpi='; About = 'Pixels per inch, also of what is a raster in .svg and .pdf' },
                @{ Word = '*-c|--columns='; About = 'Use these columns only: names, 1-based numbers, ranges (a-c, 3-), globs, comma-separated; repeatable' },
                @{ Word = '*-x|--exclude='; About = 'Leave these columns out; same terms; repeatable' },
                @{ Word = '--input-format=parquet tsv csv'; About = 'Insist on a format instead of looking at the content' },
                @{ Word = '-d|--delimiter=tab comma semicolon pipe space blanks'; About = 'Field separator: one character, or tab, comma, semicolon, pipe, space, blanks (runs of blanks)' },
                @{ Word = '--header|--no-header'; About = 'The first line holds names (insist), or data: then the columns are c1, c2, ...' },
                @{ Word = '--row-names'; About = 'The first field of each row of text is its name, as R''s write.table and write.csv and pandas write it: never a feature' },
                @{ Word = '*--null-value='; About = 'A further spelling of a missing cell; repeatable' },
                @{ Word = '--encoding=utf-8 latin-1 cp1252 utf-16'; About = 'Character encoding of text' },
                @{ Word = '--comment='; About = 'Ignore what follows this character on a line' },
                @{ Word = '--decimal=. ,'; About = 'Decimal mark' },
                @{ Word = '--thousands='; About = 'Thousands mark inside numbers' },
                @{ Word = '--strip='; About = 'Characters to take off numbers, such as ''$'' or ''%''; the number itself is not rescaled' },
                @{ Word = '--skip-lines='; About = 'Lines to pass over at the start' },
                @{ Word = '--skip-bad'; About = 'Leave out a file that cannot be read, is damaged, has another schema or a bad cell: the whole of it, with a warning that lists such files' },
                @{ Word = '--triples='; About = 'One line for each cell: the columns of user, item and value, as in --triples user,item,rating' },
                @{ Word = '--absent=missing zero'; About = 'With --triples: cells that no line gives are missing, or zero (counts, words of documents)' },
                @{ Word = '*--label='; About = 'Columns that supervise; they are no features; terms as in -c; repeatable' },
                @{ Word = '--label-kernel=delta linear rbf'; About = 'How alike two labels are: equal or not, their product, or exp(-gamma |y - y''|^2)' },
                @{ Word = '--label-gamma='; About = 'Of --label-kernel rbf' },
                @{ Word = '--kernel=rbf linear polynomial sigmoid laplacian cosine precomputed mds isomap lle laplacian-eigenmap'; About = 'How alike two rows are: rbf, linear, polynomial, sigmoid, laplacian, cosine, precomputed, mds, isomap, lle, laplacian-eigenmap' },
                @{ Word = '--gamma='; About = 'Of rbf, polynomial, sigmoid, laplacian' },
                @{ Word = '--degree='; About = 'Of polynomial' },
                @{ Word = '--coef0='; About = 'Of polynomial and sigmoid' },
                @{ Word = '--neighbors|--neighbours='; About = 'Neighbours of each row, of isomap, lle, laplacian-eigenmap' },
                @{ Word = '--landmarks='; About = 'Approximate from M rows drawn at random (Nystroem), where n x n numbers are too many' },
                @{ Word = '-k|--components=all ratio eigenvalue kaiser broken-stick elbow parallel parallel-95 mle gavish-donoho marchenko-pastur cross-validation'; About = 'How many components: a number, a share of the variance (the smallest k that keeps it), all, or a rule: ratio, eigenvalue, kaiser, broken-stick, elbow, parallel, parallel-95, mle, gavish-donoho, marchenko-pastur, cross-validation' },
                @{ Word = '-s|--standardize'; About = 'Divide each column by its standard deviation' },
                @{ Word = '--center|--no-center'; About = 'Subtract the column means, or do not' },
                @{ Word = '--center-rows'; About = 'Subtract from each row its own mean, first of all (for images)' },
                @{ Word = '--ddof=0 1'; About = 'Divide by n (0) or by n - 1 (1, as scikit-learn and R do)' },
                @{ Word = '--method=pca kernel supervised'; About = 'What to fit' },
                @{ Word = '--solver=auto covariance tsqr svd dual randomized'; About = 'How the eigenvalues are computed; -v says which was taken and why' },
                @{ Word = '--whiten=none pca zca'; About = 'Scores of variance 1: pca, or turned back to the original columns: zca' },
                @{ Word = '--epsilon='; About = 'Whitening divides by the root of eigenvalue + E; 0 is allowed' },
                @{ Word = '--missing=error drop mean em'; About = 'Rows with missing cells: an error; dropped; the column''s mean stands in; or the components are fitted to the cells that are there (probabilistic PCA by EM)' },
                @{ Word = '--weights='; About = 'Column with a weight for each row; it is no feature' },
                @{ Word = '--weights-kind=frequency reliability'; About = 'What a weight says: how often the row occurs, or how reliable it is' },
                @{ Word = '--updatable|--no-updatable'; About = 'Keep the sums over rows in the model, d x d numbers, for update, merge, subtract and refit; or do not' },
                @{ Word = '--seed='; About = 'Start of everything random' },
                @{ Word = '--memory='; About = 'Refuse a fit that would need more, such as 2GB; it never changes how the fit is done' },
                @{ Word = '--align-to=@model'; About = 'Give components the signs that they have in this older model, and nearly equal ones its order, so that nightly fits can be compared' },
                @{ Word = '--threads='; About = 'Threads that read, compute and format; the results do not depend on it' },
                @{ Word = '--engine=threads dask spark'; About = 'Where the work is done: on the cores of this machine, or on a cluster, a task for each file or some row groups of it' },
                @{ Word = '--scheduler='; About = 'The cluster: for dask the scheduler, as tcp://host:8786; for spark the master, as spark://host:7077 or local[4]' },
                @{ Word = '-q|--quiet'; About = 'No notes, no warnings; errors still appear' },
                @{ Word = '-v|--verbose'; About = 'Say what was done, off a terminal too' },
                @{ Word = '--json'; About = 'Print what was done as one JSON object: on standard output when it is free, else on standard error' },
                @{ Word = '--debug'; About = 'Show the traceback of an error' },
                @{ Word = '-h|--help'; About = 'Show the usual options (-h), or all of them (--help)' }
            )
            Arguments = @('*@model@data')
        }
        'plot' = @{
            Options = @(
                @{ Word = '-o|--output=@any'; About = 'Where it goes: .png, .svg or .pdf (needs matplotlib, the extra ''plot'')' },
                @{ Word = '--no-clobber'; About = 'Refuse to replace a file that exists' },
                @{ Word = '--format=picture table csv json markdown'; About = 'The picture, or its numbers as a table; scores as csv only' },
                @{ Word = '--axes='; About = 'Which components: one or two for scores and biplot, some for loadings' },
                @{ Word = '--color='; About = 'Colour the rows by this column: its classes, with marks of their own, or its numbers' },
                @{ Word = '--scaling=rows columns'; About = 'Of a biplot: distances of rows as in the scores, or angles of arrows as columns correlate' },
                @{ Word = '--from=scores rows'; About = 'What the input holds' },
                @{ Word = '--size='; About = 'Width and height of the picture in inches' },
                @{ Word = '--dpi='; About = 'Pixels per inch, also of what is a raster in .svg and .pdf' },
                @{ Word = '*-c|--columns='; About = 'Use these columns only: names, 1-based numbers, ranges (a-c, 3-), globs, comma-separated; repeatable' },
                @{ Word = '*-x|--exclude='; About = 'Leave these columns out; same terms; repeatable' },
                @{ Word = '--input-format=parquet tsv csv'; About = 'Insist on a format instead of looking at the content' },
                @{ Word = '-d|--delimiter=tab comma semicolon pipe space blanks'; About = 'Field separator: one character, or tab, comma, semicolon, pipe, space, blanks (runs of blanks)' },
                @{ Word = '--header|--no-header'; About = 'The first line holds names (insist), or data: then the columns are c1, c2, ...' },
                @{ Word = '--row-names'; About = 'The first field of each row of text is its name, as R''s write.table and write.csv and pandas write it: never a feature' },
                @{ Word = '*--null-value='; About = 'A further spelling of a missing cell; repeatable' },
                @{ Word = '--encoding=utf-8 latin-1 cp1252 utf-16'; About = 'Character encoding of text' },
                @{ Word = '--comment='; About = 'Ignore what follows this character on a line' },
                @{ Word = '--decimal=. ,'; About = 'Decimal mark' },
                @{ Word = '--thousands='; About = 'Thousands mark inside numbers' },
                @{ Word = '--strip='; About = 'Characters to take off numbers, such as ''$'' or ''%''; the number itself is not rescaled' },
                @{ Word = '--skip-lines='; About = 'Lines to pass over at the start' },
                @{ Word = '--skip-bad'; About = 'Leave out a file that cannot be read, is damaged, has another schema or a bad cell: the whole of it, with a warning that lists such files' },
                @{ Word = '--triples='; About = 'One line for each cell: the columns of user, item and value, as in --triples user,item,rating' },
                @{ Word = '--absent=missing zero'; About = 'With --triples: cells that no line gives are missing, or zero (counts, words of documents)' },
                @{ Word = '*--label='; About = 'Columns that supervise; they are no features; terms as in -c; repeatable' },
                @{ Word = '--label-kernel=delta linear rbf'; About = 'How alike two labels are: equal or not, their product, or exp(-gamma |y - y''|^2)' },
                @{ Word = '--label-gamma='; About = 'Of --label-kernel rbf' },
                @{ Word = '--kernel=rbf linear polynomial sigmoid laplacian cosine precomputed mds isomap lle laplacian-eigenmap'; About = 'How alike two rows are: rbf, linear, polynomial, sigmoid, laplacian, cosine, precomputed, mds, isomap, lle, laplacian-eigenmap' },
                @{ Word = '--gamma='; About = 'Of rbf, polynomial, sigmoid, laplacian' },
                @{ Word = '--degree='; About = 'Of polynomial' },
                @{ Word = '--coef0='; About = 'Of polynomial and sigmoid' },
                @{ Word = '--neighbors|--neighbours='; About = 'Neighbours of each row, of isomap, lle, laplacian-eigenmap' },
                @{ Word = '--landmarks='; About = 'Approximate from M rows drawn at random (Nystroem), where n x n numbers are too many' },
                @{ Word = '-k|--components=all ratio eigenvalue kaiser broken-stick elbow parallel parallel-95 mle gavish-donoho marchenko-pastur cross-validation'; About = 'How many components: a number, a share of the variance (the smallest k that keeps it), all, or a rule: ratio, eigenvalue, kaiser, broken-stick, elbow, parallel, parallel-95, mle, gavish-donoho, marchenko-pastur, cross-validation' },
                @{ Word = '-s|--standardize'; About = 'Divide each column by its standard deviation' },
                @{ Word = '--center|--no-center'; About = 'Subtract the column means, or do not' },
                @{ Word = '--center-rows'; About = 'Subtract from each row its own mean, first of all (for images)' },
                @{ Word = '--ddof=0 1'; About = 'Divide by n (0) or by n - 1 (1, as scikit-learn and R do)' },
                @{ Word = '--method=pca kernel supervised'; About = 'What to fit' },
                @{ Word = '--solver=auto covariance tsqr svd dual randomized'; About = 'How the eigenvalues are computed; -v says which was taken and why' },
                @{ Word = '--whiten=none pca zca'; About = 'Scores of variance 1: pca, or turned back to the original columns: zca' },
                @{ Word = '--epsilon='; About = 'Whitening divides by the root of eigenvalue + E; 0 is allowed' },
                @{ Word = '--missing=error drop mean em'; About = 'Rows with missing cells: an error; dropped; the column''s mean stands in; or the components are fitted to the cells that are there (probabilistic PCA by EM)' },
                @{ Word = '--weights='; About = 'Column with a weight for each row; it is no feature' },
                @{ Word = '--weights-kind=frequency reliability'; About = 'What a weight says: how often the row occurs, or how reliable it is' },
                @{ Word = '--updatable|--no-updatable'; About = 'Keep the sums over rows in the model, d x d numbers, for update, merge, subtract and refit; or do not' },
                @{ Word = '--seed='; About = 'Start of everything random' },
                @{ Word = '--memory='; About = 'Refuse a fit that would need more, such as 2GB; it never changes how the fit is done' },
                @{ Word = '--align-to=@model'; About = 'Give components the signs that they have in this older model, and nearly equal ones its order, so that nightly fits can be compared' },
                @{ Word = '--threads='; About = 'Threads that read, compute and format; the results do not depend on it' },
                @{ Word = '--engine=threads dask spark'; About = 'Where the work is done: on the cores of this machine, or on a cluster, a task for each file or some row groups of it' },
                @{ Word = '--scheduler='; About = 'The cluster: for dask the scheduler, as tcp://host:8786; for spark the master, as spark://host:7077 or local[4]' },
                @{ Word = '-q|--quiet'; About = 'No notes, no warnings; errors still appear' },
                @{ Word = '-v|--verbose'; About = 'Say what was done, off a terminal too' },
                @{ Word = '--json'; About = 'Print what was done as one JSON object: on standard output when it is free, else on standard error' },
                @{ Word = '--debug'; About = 'Show the traceback of an error' },
                @{ Word = '-h|--help'; About = 'Show the usual options (-h), or all of them (--help)' }
            )
            Arguments = @('scores loadings biplot', '*@model@data')
        }
        'report' = @{
            Options = @(
                @{ Word = '-o|--output=@any'; About = 'Write the page here, replacing the file in one step; - is standard output' },
                @{ Word = '--no-clobber'; About = 'Refuse to replace a file that exists' },
                @{ Word = '--color='; About = 'Colour the scores by this input column: numbers in shades, other values as categories' },
                @{ Word = '--axes='; About = 'The components whose scores are drawn first, such as 1,3; others can be chosen on the page' },
                @{ Word = '--image='; About = 'Show the mean and the components as images, too, the columns as pixels, line by line' },
                @{ Word = '--first='; About = 'Show loadings, scores and images of the first K components only' },
                @{ Word = '--input-format=parquet tsv csv'; About = 'Insist on a format instead of looking at the content' },
                @{ Word = '-d|--delimiter=tab comma semicolon pipe space blanks'; About = 'Field separator: one character, or tab, comma, semicolon, pipe, space, blanks (runs of blanks)' },
                @{ Word = '--header|--no-header'; About = 'The first line holds names (insist), or data: then the columns are c1, c2, ...' },
                @{ Word = '--row-names'; About = 'The first field of each row of text is its name, as R''s write.table and write.csv and pandas write it: never a feature' },
                @{ Word = '*--null-value='; About = 'A further spelling of a missing cell; repeatable' },
                @{ Word = '--encoding=utf-8 latin-1 cp1252 utf-16'; About = 'Character encoding of text' },
                @{ Word = '--comment='; About = 'Ignore what follows this character on a line' },
                @{ Word = '--decimal=. ,'; About = 'Decimal mark' },
                @{ Word = '--thousands='; About = 'Thousands mark inside numbers' },
                @{ Word = '--strip='; About = 'Characters to take off numbers, such as ''$'' or ''%''; the number itself is not rescaled' },
                @{ Word = '--skip-lines='; About = 'Lines to pass over at the start' },
                @{ Word = '--skip-bad'; About = 'Leave out a file that cannot be read, is damaged, has another schema or a bad cell: the whole of it, with a warning that lists such files' },
                @{ Word = '--triples='; About = 'One line for each cell: the columns of user, item and value, as in --triples user,item,rating' },
                @{ Word = '--absent=missing zero'; About = 'With --triples: cells that no line gives are missing, or zero (counts, words of documents)' },
                @{ Word = '-k|--components='; About = 'Use only the first K components' },
                @{ Word = '--missing=error mean project em keep'; About = 'A row with missing cells: an error; the column means stand in; its least-squares scores from the cells that are there; what the model expects of it, its noise allowed for; or kept with empty results' },
                @{ Word = '*--keep='; About = 'Pass these input columns through, ahead of the results; terms as in fit -c; repeatable' },
                @{ Word = '--keep-all'; About = 'Pass every input column through' },
                @{ Word = '--with-error'; About = 'Add a column squared_error: what the components leave out of the row, in the units of the fit' },
                @{ Word = '--with-coverage'; About = 'Add a column coverage: the share of the components'' variance in the cells of the row that are there' },
                @{ Word = '--threads='; About = 'Threads that read, compute and format; the results do not depend on it' },
                @{ Word = '-q|--quiet'; About = 'No notes, no warnings; errors still appear' },
                @{ Word = '-v|--verbose'; About = 'Say what was done, off a terminal too' },
                @{ Word = '--json'; About = 'Print what was done as one JSON object: on standard output when it is free, else on standard error' },
                @{ Word = '--debug'; About = 'Show the traceback of an error' },
                @{ Word = '-h|--help'; About = 'Show the usual options (-h), or all of them (--help)' }
            )
            Arguments = @('@model', '*@data')
        }
        'inspect' = @{
            Options = @(
                @{ Word = '-q|--quiet'; About = 'No notes, no warnings; errors still appear' },
                @{ Word = '-v|--verbose'; About = 'Say what was done, off a terminal too' },
                @{ Word = '--json'; About = 'Print what was done as one JSON object: on standard output when it is free, else on standard error' },
                @{ Word = '--debug'; About = 'Show the traceback of an error' },
                @{ Word = '-h|--help'; About = 'Show the usual options (-h), or all of them (--help)' }
            )
            Arguments = @('@model')
        }
        'diff' = @{
            Options = @(
                @{ Word = '--format=text csv json markdown'; About = 'Text to read, or one row for each thing compared: what, name, a, b, change' },
                @{ Word = '-q|--quiet'; About = 'No notes, no warnings; errors still appear' },
                @{ Word = '-v|--verbose'; About = 'Say what was done, off a terminal too' },
                @{ Word = '--json'; About = 'Print what was done as one JSON object: on standard output when it is free, else on standard error' },
                @{ Word = '--debug'; About = 'Show the traceback of an error' },
                @{ Word = '-h|--help'; About = 'Show the usual options (-h), or all of them (--help)' }
            )
            Arguments = @('@model', '@model')
        }
        'update' = @{
            Options = @(
                @{ Word = '-o|--output=@any'; About = 'Write the model here, replacing the file in one step; - is standard output' },
                @{ Word = '--no-clobber'; About = 'Refuse to replace a file that exists' },
                @{ Word = '--input-format=parquet tsv csv'; About = 'Insist on a format instead of looking at the content' },
                @{ Word = '-d|--delimiter=tab comma semicolon pipe space blanks'; About = 'Field separator: one character, or tab, comma, semicolon, pipe, space, blanks (runs of blanks)' },
                @{ Word = '--header|--no-header'; About = 'The first line holds names (insist), or data: then the columns are c1, c2, ...' },
                @{ Word = '--row-names'; About = 'The first field of each row of text is its name, as R''s write.table and write.csv and pandas write it: never a feature' },
                @{ Word = '*--null-value='; About = 'A further spelling of a missing cell; repeatable' },
                @{ Word = '--encoding=utf-8 latin-1 cp1252 utf-16'; About = 'Character encoding of text' },
                @{ Word = '--comment='; About = 'Ignore what follows this character on a line' },
                @{ Word = '--decimal=. ,'; About = 'Decimal mark' },
                @{ Word = '--thousands='; About = 'Thousands mark inside numbers' },
                @{ Word = '--strip='; About = 'Characters to take off numbers, such as ''$'' or ''%''; the number itself is not rescaled' },
                @{ Word = '--skip-lines='; About = 'Lines to pass over at the start' },
                @{ Word = '--skip-bad'; About = 'Leave out a file that cannot be read, is damaged, has another schema or a bad cell: the whole of it, with a warning that lists such files' },
                @{ Word = '--align-to=@model'; About = 'Give components the signs that they have in this older model, and nearly equal ones its order' },
                @{ Word = '--missing=error drop'; About = 'Rows with missing cells: an error, or dropped' },
                @{ Word = '--threads='; About = 'Threads that read, compute and format; the results do not depend on it' },
                @{ Word = '--engine=threads dask spark'; About = 'Where the work is done: on the cores of this machine, or on a cluster, a task for each file or some row groups of it' },
                @{ Word = '--scheduler='; About = 'The cluster: for dask the scheduler, as tcp://host:8786; for spark the master, as spark://host:7077 or local[4]' },
                @{ Word = '-q|--quiet'; About = 'No notes, no warnings; errors still appear' },
                @{ Word = '-v|--verbose'; About = 'Say what was done, off a terminal too' },
                @{ Word = '--json'; About = 'Print what was done as one JSON object: on standard output when it is free, else on standard error' },
                @{ Word = '--debug'; About = 'Show the traceback of an error' },
                @{ Word = '-h|--help'; About = 'Show the usual options (-h), or all of them (--help)' }
            )
            Arguments = @('@model', '*@data')
        }
        'merge' = @{
            Options = @(
                @{ Word = '-o|--output=@any'; About = 'Write the model here, replacing the file in one step; - is standard output' },
                @{ Word = '--no-clobber'; About = 'Refuse to replace a file that exists' },
                @{ Word = '--align-to=@model'; About = 'Give components the signs that they have in this older model, and nearly equal ones its order' },
                @{ Word = '-q|--quiet'; About = 'No notes, no warnings; errors still appear' },
                @{ Word = '-v|--verbose'; About = 'Say what was done, off a terminal too' },
                @{ Word = '--json'; About = 'Print what was done as one JSON object: on standard output when it is free, else on standard error' },
                @{ Word = '--debug'; About = 'Show the traceback of an error' },
                @{ Word = '-h|--help'; About = 'Show the usual options (-h), or all of them (--help)' }
            )
            Arguments = @('*@model')
        }
        'subtract' = @{
            Options = @(
                @{ Word = '-o|--output=@any'; About = 'Write the model here, replacing the file in one step; - is standard output' },
                @{ Word = '--no-clobber'; About = 'Refuse to replace a file that exists' },
                @{ Word = '--input-format=parquet tsv csv'; About = 'Insist on a format instead of looking at the content' },
                @{ Word = '-d|--delimiter=tab comma semicolon pipe space blanks'; About = 'Field separator: one character, or tab, comma, semicolon, pipe, space, blanks (runs of blanks)' },
                @{ Word = '--header|--no-header'; About = 'The first line holds names (insist), or data: then the columns are c1, c2, ...' },
                @{ Word = '--row-names'; About = 'The first field of each row of text is its name, as R''s write.table and write.csv and pandas write it: never a feature' },
                @{ Word = '*--null-value='; About = 'A further spelling of a missing cell; repeatable' },
                @{ Word = '--encoding=utf-8 latin-1 cp1252 utf-16'; About = 'Character encoding of text' },
                @{ Word = '--comment='; About = 'Ignore what follows this character on a line' },
                @{ Word = '--decimal=. ,'; About = 'Decimal mark' },
                @{ Word = '--thousands='; About = 'Thousands mark inside numbers' },
                @{ Word = '--strip='; About = 'Characters to take off numbers, such as ''$'' or ''%''; the number itself is not rescaled' },
                @{ Word = '--skip-lines='; About = 'Lines to pass over at the start' },
                @{ Word = '--skip-bad'; About = 'Leave out a file that cannot be read, is damaged, has another schema or a bad cell: the whole of it, with a warning that lists such files' },
                @{ Word = '--align-to=@model'; About = 'Give components the signs that they have in this older model, and nearly equal ones its order' },
                @{ Word = '--missing=error drop'; About = 'Rows with missing cells: an error, or dropped' },
                @{ Word = '--threads='; About = 'Threads that read, compute and format; the results do not depend on it' },
                @{ Word = '--engine=threads dask spark'; About = 'Where the work is done: on the cores of this machine, or on a cluster, a task for each file or some row groups of it' },
                @{ Word = '--scheduler='; About = 'The cluster: for dask the scheduler, as tcp://host:8786; for spark the master, as spark://host:7077 or local[4]' },
                @{ Word = '-q|--quiet'; About = 'No notes, no warnings; errors still appear' },
                @{ Word = '-v|--verbose'; About = 'Say what was done, off a terminal too' },
                @{ Word = '--json'; About = 'Print what was done as one JSON object: on standard output when it is free, else on standard error' },
                @{ Word = '--debug'; About = 'Show the traceback of an error' },
                @{ Word = '-h|--help'; About = 'Show the usual options (-h), or all of them (--help)' }
            )
            Arguments = @('@model', '*@model@data')
        }
        'refit' = @{
            Options = @(
                @{ Word = '-o|--output=@any'; About = 'Write the model here, replacing the file in one step; - is standard output' },
                @{ Word = '--no-clobber'; About = 'Refuse to replace a file that exists' },
                @{ Word = '--align-to=@model'; About = 'Give components the signs that they have in this older model, and nearly equal ones its order' },
                @{ Word = '-k|--components=all ratio eigenvalue kaiser broken-stick elbow parallel parallel-95 mle gavish-donoho marchenko-pastur cross-validation'; About = 'How many components: a number, a share of the variance, all, or a rule, as in fit' },
                @{ Word = '-s|--standardize|--no-standardize'; About = 'Divide each column by its standard deviation, or do not' },
                @{ Word = '--center|--no-center'; About = 'Subtract the column means, or do not' },
                @{ Word = '--ddof=0 1'; About = 'Divide by n (0) or by n - 1 (1)' },
                @{ Word = '--whiten=none pca zca'; About = 'Scores of variance 1: pca, or turned back to the original columns: zca' },
                @{ Word = '--epsilon='; About = 'Whitening divides by the root of eigenvalue + E; 0 is allowed' },
                @{ Word = '*-c|--columns='; About = 'Keep these columns of the model only: names, 1-based numbers, ranges (a-c, 3-), globs, comma-separated; repeatable' },
                @{ Word = '*-x|--exclude='; About = 'Drop these columns; same terms; repeatable' },
                @{ Word = '-q|--quiet'; About = 'No notes, no warnings; errors still appear' },
                @{ Word = '-v|--verbose'; About = 'Say what was done, off a terminal too' },
                @{ Word = '--json'; About = 'Print what was done as one JSON object: on standard output when it is free, else on standard error' },
                @{ Word = '--debug'; About = 'Show the traceback of an error' },
                @{ Word = '-h|--help'; About = 'Show the usual options (-h), or all of them (--help)' }
            )
            Arguments = @('@model')
        }
        'completion' = @{
            Options = @(
                @{ Word = '-h|--help'; About = 'Show the usual options (-h), or all of them (--help)' }
            )
            Arguments = @('bash zsh fish powershell')
        }
        'help' = @{
            Options = @(
                @{ Word = '-h|--help'; About = 'Show the usual options (-h), or all of them (--help)' }
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
