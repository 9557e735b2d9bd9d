# Completion of pcatool for PowerShell, made from the program's own table of options; it needs no Python.
# Put this line into your profile (its place is in $PROFILE):
#   pcatool completion powershell | Out-String | Invoke-Expression

Register-ArgumentCompleter -Native -CommandName 'pcatool', 'pcatool.exe' -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)

    $commands = @(
        @('fit', 'Fit a model to the rows of a table and save it'),
        @('transform', 'Project rows onto a model: scores PC1, PC2, ...'),
        @('reconstruct', 'Come back from scores to rows in original units'),
        @('explain-variance', 'Print what each number of components keeps'),
        @('scree', 'Draw the eigenvalues and what they add up to'),
        @('components', 'Show what the components are made of, or draw them'),
        @('inspect', 'Tell in plain words what is in a model file'),
        @('diff', 'Tell what has changed from one model to another'),
        @('update', 'Add new rows to a model, without the old ones'),
        @('merge', 'Make one model of the rows of several, without the rows'),
        @('subtract', 'Take rows back out of a model, as for a sliding window'),
        @('refit', 'Fit a model otherwise, without its rows'),
        @('completion', 'Print the script by which a shell completes pcatool')
    )

    # What a subcommand takes. An option is its names, = when it has a value, and what that can be: words; some of
    # them, after a +; files, after @; nothing that could be told. A * before it: it can be given again. Beside it, its help.
    $takes = @{
        '' = @{
            Options = @(
                @('-V|--version', 'Print the version'),
                @('-h|--help', 'Show this message and exit')
            )
            Arguments = @()
        }
        'fit' = @{
            Options = @(
                @('-o|--output=@any', 'Write the model here, replacing the file in one step; - is standard output'),
                @('--no-clobber', 'Refuse to replace a file that exists'),
                @('--plan', 'Only say which solver would be used and why, its passes over the data and its memory'),
                @('--scores=@any', 'Write the scores of the same rows here, too, as transform would; a pipe is read once, through a temporary file'),
                @('*--keep=', 'With --scores: pass these input columns through, ahead of the scores; terms as in -c; repeatable'),
                @('--keep-all', 'With --scores: pass every input column through'),
                @('*-c|--columns=', 'Use these columns only: names, 1-based numbers, ranges (a-c, 3-), globs, comma-separated; repeatable'),
                @('*-x|--exclude=', 'Leave these columns out; same terms; repeatable'),
                @('--input-format=parquet tsv csv', 'Insist on a format instead of looking at the content'),
                @('-d|--delimiter=tab comma semicolon pipe space blanks', 'Field separator: one character, or tab, comma, semicolon, pipe, space, blanks (runs of blanks)'),
                @('--header|--no-header', 'The first line holds names (insist), or data: then the columns are c1, c2, ...'),
                @('*--null-value=', 'A further spelling of a missing cell; repeatable'),
                @('--encoding=utf-8 latin-1 cp1252 utf-16', 'Character encoding of text'),
                @('--comment=', 'Ignore what follows this character on a line'),
                @('--decimal=. ,', 'Decimal mark'),
                @('--thousands=', 'Thousands mark inside numbers'),
                @('--strip=', 'Characters to take off numbers, such as ''$'' or ''%''; the number itself is not rescaled'),
                @('--skip-lines=', 'Lines to pass over at the start'),
                @('--skip-bad', 'Leave out a file that cannot be read, is damaged, has another schema or a bad cell: the whole of it, with a warning that lists such files'),
                @('--triples=', 'One line for each cell: the columns of user, item and value, as in --triples user,item,rating'),
                @('--absent=missing zero', 'With --triples: cells that no line gives are missing, or zero (counts, words of documents)'),
                @('*--label=', 'Columns that supervise; they are no features; terms as in -c; repeatable'),
                @('--label-kernel=delta linear rbf', 'How alike two labels are: equal or not, their product, or exp(-gamma |y - y''|^2)'),
                @('--label-gamma=', 'Of --label-kernel rbf'),
                @('--kernel=rbf linear polynomial sigmoid laplacian cosine precomputed mds isomap lle laplacian-eigenmap', 'How alike two rows are: rbf, linear, polynomial, sigmoid, laplacian, cosine, precomputed, mds, isomap, lle, laplacian-eigenmap'),
                @('--gamma=', 'Of rbf, polynomial, sigmoid, laplacian'),
                @('--degree=', 'Of polynomial'),
                @('--coef0=', 'Of polynomial and sigmoid'),
                @('--neighbors|--neighbours=', 'Neighbours of each row, of isomap, lle, laplacian-eigenmap'),
                @('--landmarks=', 'Approximate from M rows drawn at random (Nystroem), where n x n numbers are too many'),
                @('-k|--components=all ratio eigenvalue kaiser broken-stick elbow parallel parallel-95 mle gavish-donoho marchenko-pastur cross-validation', 'How many components: a number, a share of the variance (the smallest k that keeps it), all, or a rule: ratio, eigenvalue, kaiser, broken-stick, elbow, parallel, parallel-95, mle, gavish-donoho, marchenko-pastur, cross-validation'),
                @('-s|--standardize', 'Divide each column by its standard deviation'),
                @('--center|--no-center', 'Subtract the column means, or do not'),
                @('--center-rows', 'Subtract from each row its own mean, first of all (for images)'),
                @('--ddof=0 1', 'Divide by n (0) or by n - 1 (1, as scikit-learn and R do)'),
                @('--method=pca kernel supervised', 'What to fit'),
                @('--solver=auto covariance tsqr svd dual randomized', 'How the eigenvalues are computed; -v says which was taken and why'),
                @('--whiten=none pca zca', 'Scores of variance 1: pca, or turned back to the original columns: zca'),
                @('--epsilon=', 'Whitening divides by the root of eigenvalue + E; 0 is allowed'),
                @('--missing=error drop mean em', 'Rows with missing cells: an error; dropped; the column''s mean stands in; or the components are fitted to the cells that are there (probabilistic PCA by EM)'),
                @('--weights=', 'Column with a weight for each row; it is no feature'),
                @('--weights-kind=frequency reliability', 'What a weight says: how often the row occurs, or how reliable it is'),
                @('--updatable|--no-updatable', 'Keep the sums over rows in the model, d x d numbers, for update, merge, subtract and refit; or do not'),
                @('--seed=', 'Start of everything random'),
                @('--memory=', 'Refuse a fit that would need more, such as 2GB; it never changes how the fit is done'),
                @('--align-to=@model', 'Give components the signs that they have in this older model, and nearly equal ones its order, so that nightly fits can be compared'),
                @('--threads=', 'Threads that read, compute and format; the results do not depend on it'),
                @('--engine=threads dask spark', 'Where the work is done: on the cores of this machine, or on a cluster, a task for each file or some row groups of it'),
                @('--scheduler=', 'The cluster: for dask the scheduler, as tcp://host:8786; for spark the master, as spark://host:7077 or local[4]'),
                @('-q|--quiet', 'No notes, no warnings; errors still appear'),
                @('-v|--verbose', 'Say what was done, off a terminal too'),
                @('--json', 'Print what was done as one JSON object: on standard output when it is free, else on standard error'),
                @('--debug', 'Show the traceback of an error'),
                @('-h|--help', 'Show this message and exit')
            )
            Arguments = @('*@data')
        }
        'transform' = @{
            Options = @(
                @('--input-format=parquet tsv csv', 'Insist on a format instead of looking at the content'),
                @('-d|--delimiter=tab comma semicolon pipe space blanks', 'Field separator: one character, or tab, comma, semicolon, pipe, space, blanks (runs of blanks)'),
                @('--header|--no-header', 'The first line holds names (insist), or data: then the columns are c1, c2, ...'),
                @('*--null-value=', 'A further spelling of a missing cell; repeatable'),
                @('--encoding=utf-8 latin-1 cp1252 utf-16', 'Character encoding of text'),
                @('--comment=', 'Ignore what follows this character on a line'),
                @('--decimal=. ,', 'Decimal mark'),
                @('--thousands=', 'Thousands mark inside numbers'),
                @('--strip=', 'Characters to take off numbers, such as ''$'' or ''%''; the number itself is not rescaled'),
                @('--skip-lines=', 'Lines to pass over at the start'),
                @('--skip-bad', 'Leave out a file that cannot be read, is damaged, has another schema or a bad cell: the whole of it, with a warning that lists such files'),
                @('--triples=', 'One line for each cell: the columns of user, item and value, as in --triples user,item,rating'),
                @('--absent=missing zero', 'With --triples: cells that no line gives are missing, or zero (counts, words of documents)'),
                @('-k|--components=', 'Use only the first K components'),
                @('--missing=error mean project em keep', 'A row with missing cells: an error; the column means stand in; its least-squares scores from the cells that are there; what the model expects of it, its noise allowed for; or kept with empty results'),
                @('*--keep=', 'Pass these input columns through, ahead of the results; terms as in fit -c; repeatable'),
                @('--keep-all', 'Pass every input column through'),
                @('--with-error', 'Add a column squared_error: what the components leave out of the row, in the units of the fit'),
                @('--with-coverage', 'Add a column coverage: the share of the components'' variance in the cells of the row that are there'),
                @('-o|--output=@any', 'Write here, replacing the file in one step; - is standard output'),
                @('--output-format=csv tsv parquet jsonl', 'Insist on a format instead of going by the name'),
                @('--output-header|--no-output-header', 'Write the line of names, or do not'),
                @('--float-format=', 'Format of numbers in text, such as .6g or %.3f'),
                @('--no-clobber', 'Refuse to replace a file that exists'),
                @('--resume', 'With -o DIR/: pass over the inputs whose output is there, not older than the input and the model; it goes by names and times only, so give the same options'),
                @('--threads=', 'Threads that read, compute and format; the results do not depend on it'),
                @('--engine=threads dask spark', 'Where the work is done: on the cores of this machine, or on a cluster, a task for each file or some row groups of it'),
                @('--scheduler=', 'The cluster: for dask the scheduler, as tcp://host:8786; for spark the master, as spark://host:7077 or local[4]'),
                @('-q|--quiet', 'No notes, no warnings; errors still appear'),
                @('-v|--verbose', 'Say what was done, off a terminal too'),
                @('--json', 'Print what was done as one JSON object: on standard output when it is free, else on standard error'),
                @('--debug', 'Show the traceback of an error'),
                @('-h|--help', 'Show this message and exit')
            )
            Arguments = @('@model', '*@data')
        }
        'reconstruct' = @{
            Options = @(
                @('--from=scores rows', 'What the input holds'),
                @('--preimage', 'Of a kernel model: an approximation, learned from its training rows'),
                @('--fill', 'Return the original rows with only their missing cells replaced'),
                @('--input-format=parquet tsv csv', 'Insist on a format instead of looking at the content'),
                @('-d|--delimiter=tab comma semicolon pipe space blanks', 'Field separator: one character, or tab, comma, semicolon, pipe, space, blanks (runs of blanks)'),
                @('--header|--no-header', 'The first line holds names (insist), or data: then the columns are c1, c2, ...'),
                @('*--null-value=', 'A further spelling of a missing cell; repeatable'),
                @('--encoding=utf-8 latin-1 cp1252 utf-16', 'Character encoding of text'),
                @('--comment=', 'Ignore what follows this character on a line'),
                @('--decimal=. ,', 'Decimal mark'),
                @('--thousands=', 'Thousands mark inside numbers'),
                @('--strip=', 'Characters to take off numbers, such as ''$'' or ''%''; the number itself is not rescaled'),
                @('--skip-lines=', 'Lines to pass over at the start'),
                @('--skip-bad', 'Leave out a file that cannot be read, is damaged, has another schema or a bad cell: the whole of it, with a warning that lists such files'),
                @('--triples=', 'One line for each cell: the columns of user, item and value, as in --triples user,item,rating'),
                @('--absent=missing zero', 'With --triples: cells that no line gives are missing, or zero (counts, words of documents)'),
                @('-k|--components=', 'Use only the first K components'),
                @('--missing=error mean project em keep', 'A row with missing cells: an error; the column means stand in; its least-squares scores from the cells that are there; what the model expects of it, its noise allowed for; or kept with empty results'),
                @('*--keep=', 'Pass these input columns through, ahead of the results; terms as in fit -c; repeatable'),
                @('--keep-all', 'Pass every input column through'),
                @('--with-error', 'Add a column squared_error: what the components leave out of the row, in the units of the fit'),
                @('--with-coverage', 'Add a column coverage: the share of the components'' variance in the cells of the row that are there'),
                @('-o|--output=@any', 'Write here, replacing the file in one step; - is standard output'),
                @('--output-format=csv tsv parquet jsonl', 'Insist on a format instead of going by the name'),
                @('--output-header|--no-output-header', 'Write the line of names, or do not'),
                @('--float-format=', 'Format of numbers in text, such as .6g or %.3f'),
                @('--no-clobber', 'Refuse to replace a file that exists'),
                @('--resume', 'With -o DIR/: pass over the inputs whose output is there, not older than the input and the model; it goes by names and times only, so give the same options'),
                @('--threads=', 'Threads that read, compute and format; the results do not depend on it'),
                @('--engine=threads dask spark', 'Where the work is done: on the cores of this machine, or on a cluster, a task for each file or some row groups of it'),
                @('--scheduler=', 'The cluster: for dask the scheduler, as tcp://host:8786; for spark the master, as spark://host:7077 or local[4]'),
                @('-q|--quiet', 'No notes, no warnings; errors still appear'),
                @('-v|--verbose', 'Say what was done, off a terminal too'),
                @('--json', 'Print what was done as one JSON object: on standard output when it is free, else on standard error'),
                @('--debug', 'Show the traceback of an error'),
                @('-h|--help', 'Show this message and exit')
            )
            Arguments = @('@model', '*@data')
        }
        'explain-variance' = @{
            Options = @(
                @('--format=table csv json markdown', 'Form of the report'),
                @('--threshold=', 'Print only how many components keep this share of the variance'),
                @('*-c|--columns=', 'Use these columns only: names, 1-based numbers, ranges (a-c, 3-), globs, comma-separated; repeatable'),
                @('*-x|--exclude=', 'Leave these columns out; same terms; repeatable'),
                @('--input-format=parquet tsv csv', 'Insist on a format instead of looking at the content'),
                @('-d|--delimiter=tab comma semicolon pipe space blanks', 'Field separator: one character, or tab, comma, semicolon, pipe, space, blanks (runs of blanks)'),
                @('--header|--no-header', 'The first line holds names (insist), or data: then the columns are c1, c2, ...'),
                @('*--null-value=', 'A further spelling of a missing cell; repeatable'),
                @('--encoding=utf-8 latin-1 cp1252 utf-16', 'Character encoding of text'),
                @('--comment=', 'Ignore what follows this character on a line'),
                @('--decimal=. ,', 'Decimal mark'),
                @('--thousands=', 'Thousands mark inside numbers'),
                @('--strip=', 'Characters to take off numbers, such as ''$'' or ''%''; the number itself is not rescaled'),
                @('--skip-lines=', 'Lines to pass over at the start'),
                @('--skip-bad', 'Leave out a file that cannot be read, is damaged, has another schema or a bad cell: the whole of it, with a warning that lists such files'),
                @('--triples=', 'One line for each cell: the columns of user, item and value, as in --triples user,item,rating'),
                @('--absent=missing zero', 'With --triples: cells that no line gives are missing, or zero (counts, words of documents)'),
                @('*--label=', 'Columns that supervise; they are no features; terms as in -c; repeatable'),
                @('--label-kernel=delta linear rbf', 'How alike two labels are: equal or not, their product, or exp(-gamma |y - y''|^2)'),
                @('--label-gamma=', 'Of --label-kernel rbf'),
                @('--kernel=rbf linear polynomial sigmoid laplacian cosine precomputed mds isomap lle laplacian-eigenmap', 'How alike two rows are: rbf, linear, polynomial, sigmoid, laplacian, cosine, precomputed, mds, isomap, lle, laplacian-eigenmap'),
                @('--gamma=', 'Of rbf, polynomial, sigmoid, laplacian'),
                @('--degree=', 'Of polynomial'),
                @('--coef0=', 'Of polynomial and sigmoid'),
                @('--neighbors|--neighbours=', 'Neighbours of each row, of isomap, lle, laplacian-eigenmap'),
                @('--landmarks=', 'Approximate from M rows drawn at random (Nystroem), where n x n numbers are too many'),
                @('-k|--components=all ratio eigenvalue kaiser broken-stick elbow parallel parallel-95 mle gavish-donoho marchenko-pastur cross-validation', 'How many components: a number, a share of the variance (the smallest k that keeps it), all, or a rule: ratio, eigenvalue, kaiser, broken-stick, elbow, parallel, parallel-95, mle, gavish-donoho, marchenko-pastur, cross-validation'),
                @('-s|--standardize', 'Divide each column by its standard deviation'),
                @('--center|--no-center', 'Subtract the column means, or do not'),
                @('--center-rows', 'Subtract from each row its own mean, first of all (for images)'),
                @('--ddof=0 1', 'Divide by n (0) or by n - 1 (1, as scikit-learn and R do)'),
                @('--method=pca kernel supervised', 'What to fit'),
                @('--solver=auto covariance tsqr svd dual randomized', 'How the eigenvalues are computed; -v says which was taken and why'),
                @('--whiten=none pca zca', 'Scores of variance 1: pca, or turned back to the original columns: zca'),
                @('--epsilon=', 'Whitening divides by the root of eigenvalue + E; 0 is allowed'),
                @('--missing=error drop mean em', 'Rows with missing cells: an error; dropped; the column''s mean stands in; or the components are fitted to the cells that are there (probabilistic PCA by EM)'),
                @('--weights=', 'Column with a weight for each row; it is no feature'),
                @('--weights-kind=frequency reliability', 'What a weight says: how often the row occurs, or how reliable it is'),
                @('--updatable|--no-updatable', 'Keep the sums over rows in the model, d x d numbers, for update, merge, subtract and refit; or do not'),
                @('--seed=', 'Start of everything random'),
                @('--memory=', 'Refuse a fit that would need more, such as 2GB; it never changes how the fit is done'),
                @('--align-to=@model', 'Give components the signs that they have in this older model, and nearly equal ones its order, so that nightly fits can be compared'),
                @('--threads=', 'Threads that read, compute and format; the results do not depend on it'),
                @('--engine=threads dask spark', 'Where the work is done: on the cores of this machine, or on a cluster, a task for each file or some row groups of it'),
                @('--scheduler=', 'The cluster: for dask the scheduler, as tcp://host:8786; for spark the master, as spark://host:7077 or local[4]'),
                @('-q|--quiet', 'No notes, no warnings; errors still appear'),
                @('-v|--verbose', 'Say what was done, off a terminal too'),
                @('--json', 'Print what was done as one JSON object: on standard output when it is free, else on standard error'),
                @('--debug', 'Show the traceback of an error'),
                @('-h|--help', 'Show this message and exit')
            )
            Arguments = @('*@model@data')
        }
        'scree' = @{
            Options = @(
                @('-o|--output=@any', 'Draw a picture instead: .png, .svg or .pdf (needs matplotlib, the extra ''plot'')'),
                @('--no-clobber', 'Refuse to replace a file that exists'),
                @('--format=chart table csv json markdown', 'The drawing, or its numbers'),
                @('--rules=+all ratio eigenvalue kaiser broken-stick elbow parallel parallel-95 mle gavish-donoho marchenko-pastur cross-validation', 'Instead of drawing, print what the rules for -k make of the data, and where they agree'),
                @('*-c|--columns=', 'Use these columns only: names, 1-based numbers, ranges (a-c, 3-), globs, comma-separated; repeatable'),
                @('*-x|--exclude=', 'Leave these columns out; same terms; repeatable'),
                @('--input-format=parquet tsv csv', 'Insist on a format instead of looking at the content'),
                @('-d|--delimiter=tab comma semicolon pipe space blanks', 'Field separator: one character, or tab, comma, semicolon, pipe, space, blanks (runs of blanks)'),
                @('--header|--no-header', 'The first line holds names (insist), or data: then the columns are c1, c2, ...'),
                @('*--null-value=', 'A further spelling of a missing cell; repeatable'),
                @('--encoding=utf-8 latin-1 cp1252 utf-16', 'Character encoding of text'),
                @('--comment=', 'Ignore what follows this character on a line'),
                @('--decimal=. ,', 'Decimal mark'),
                @('--thousands=', 'Thousands mark inside numbers'),
                @('--strip=', 'Characters to take off numbers, such as ''$'' or ''%''; the number itself is not rescaled'),
                @('--skip-lines=', 'Lines to pass over at the start'),
                @('--skip-bad', 'Leave out a file that cannot be read, is damaged, has another schema or a bad cell: the whole of it, with a warning that lists such files'),
                @('--triples=', 'One line for each cell: the columns of user, item and value, as in --triples user,item,rating'),
                @('--absent=missing zero', 'With --triples: cells that no line gives are missing, or zero (counts, words of documents)'),
                @('*--label=', 'Columns that supervise; they are no features; terms as in -c; repeatable'),
                @('--label-kernel=delta linear rbf', 'How alike two labels are: equal or not, their product, or exp(-gamma |y - y''|^2)'),
                @('--label-gamma=', 'Of --label-kernel rbf'),
                @('--kernel=rbf linear polynomial sigmoid laplacian cosine precomputed mds isomap lle laplacian-eigenmap', 'How alike two rows are: rbf, linear, polynomial, sigmoid, laplacian, cosine, precomputed, mds, isomap, lle, laplacian-eigenmap'),
                @('--gamma=', 'Of rbf, polynomial, sigmoid, laplacian'),
                @('--degree=', 'Of polynomial'),
                @('--coef0=', 'Of polynomial and sigmoid'),
                @('--neighbors|--neighbours=', 'Neighbours of each row, of isomap, lle, laplacian-eigenmap'),
                @('--landmarks=', 'Approximate from M rows drawn at random (Nystroem), where n x n numbers are too many'),
                @('-k|--components=all ratio eigenvalue kaiser broken-stick elbow parallel parallel-95 mle gavish-donoho marchenko-pastur cross-validation', 'How many components: a number, a share of the variance (the smallest k that keeps it), all, or a rule: ratio, eigenvalue, kaiser, broken-stick, elbow, parallel, parallel-95, mle, gavish-donoho, marchenko-pastur, cross-validation'),
                @('-s|--standardize', 'Divide each column by its standard deviation'),
                @('--center|--no-center', 'Subtract the column means, or do not'),
                @('--center-rows', 'Subtract from each row its own mean, first of all (for images)'),
                @('--ddof=0 1', 'Divide by n (0) or by n - 1 (1, as scikit-learn and R do)'),
                @('--method=pca kernel supervised', 'What to fit'),
                @('--solver=auto covariance tsqr svd dual randomized', 'How the eigenvalues are computed; -v says which was taken and why'),
                @('--whiten=none pca zca', 'Scores of variance 1: pca, or turned back to the original columns: zca'),
                @('--epsilon=', 'Whitening divides by the root of eigenvalue + E; 0 is allowed'),
                @('--missing=error drop mean em', 'Rows with missing cells: an error; dropped; the column''s mean stands in; or the components are fitted to the cells that are there (probabilistic PCA by EM)'),
                @('--weights=', 'Column with a weight for each row; it is no feature'),
                @('--weights-kind=frequency reliability', 'What a weight says: how often the row occurs, or how reliable it is'),
                @('--updatable|--no-updatable', 'Keep the sums over rows in the model, d x d numbers, for update, merge, subtract and refit; or do not'),
                @('--seed=', 'Start of everything random'),
                @('--memory=', 'Refuse a fit that would need more, such as 2GB; it never changes how the fit is done'),
                @('--align-to=@model', 'Give components the signs that they have in this older model, and nearly equal ones its order, so that nightly fits can be compared'),
                @('--threads=', 'Threads that read, compute and format; the results do not depend on it'),
                @('--engine=threads dask spark', 'Where the work is done: on the cores of this machine, or on a cluster, a task for each file or some row groups of it'),
                @('--scheduler=', 'The cluster: for dask the scheduler, as tcp://host:8786; for spark the master, as spark://host:7077 or local[4]'),
                @('-q|--quiet', 'No notes, no warnings; errors still appear'),
                @('-v|--verbose', 'Say what was done, off a terminal too'),
                @('--json', 'Print what was done as one JSON object: on standard output when it is free, else on standard error'),
                @('--debug', 'Show the traceback of an error'),
                @('-h|--help', 'Show this message and exit')
            )
            Arguments = @('*@model@data')
        }
        'components' = @{
            Options = @(
                @('-o|--output=@any', 'Write here: the numbers, or with --image a picture, .png, .svg or .pdf (needs matplotlib, the extra ''plot'')'),
                @('--no-clobber', 'Refuse to replace a file that exists'),
                @('--values=+loadings correlations contributions cos2', 'What to show of each column: loadings; correlations with the scores; contributions, in per cent of the component; cos2, the share of the column''s variance'),
                @('--first=', 'Show only the first K components, of a model too'),
                @('--image=', 'Draw the mean and the components as images instead, the columns as pixels, line by line; with -o'),
                @('--format=table csv json markdown', 'Form of the numbers'),
                @('*-c|--columns=', 'Use these columns only: names, 1-based numbers, ranges (a-c, 3-), globs, comma-separated; repeatable'),
                @('*-x|--exclude=', 'Leave these columns out; same terms; repeatable'),
                @('--input-format=parquet tsv csv', 'Insist on a format instead of looking at the content'),
                @('-d|--delimiter=tab comma semicolon pipe space blanks', 'Field separator: one character, or tab, comma, semicolon, pipe, space, blanks (runs of blanks)'),
                @('--header|--no-header', 'The first line holds names (insist), or data: then the columns are c1, c2, ...'),
                @('*--null-value=', 'A further spelling of a missing cell; repeatable'),
                @('--encoding=utf-8 latin-1 cp1252 utf-16', 'Character encoding of text'),
                @('--comment=', 'Ignore what follows this character on a line'),
                @('--decimal=. ,', 'Decimal mark'),
                @('--thousands=', 'Thousands mark inside numbers'),
                @('--strip=', 'Characters to take off numbers, such as ''$'' or ''%''; the number itself is not rescaled'),
                @('--skip-lines=', 'Lines to pass over at the start'),
                @('--skip-bad', 'Leave out a file that cannot be read, is damaged, has another schema or a bad cell: the whole of it, with a warning that lists such files'),
                @('--triples=', 'One line for each cell: the columns of user, item and value, as in --triples user,item,rating'),
                @('--absent=missing zero', 'With --triples: cells that no line gives are missing, or zero (counts, words of documents)'),
                @('*--label=', 'Columns that supervise; they are no features; terms as in -c; repeatable'),
                @('--label-kernel=delta linear rbf', 'How alike two labels are: equal or not, their product, or exp(-gamma |y - y''|^2)'),
                @('--label-gamma=', 'Of --label-kernel rbf'),
                @('--kernel=rbf linear polynomial sigmoid laplacian cosine precomputed mds isomap lle laplacian-eigenmap', 'How alike two rows are: rbf, linear, polynomial, sigmoid, laplacian, cosine, precomputed, mds, isomap, lle, laplacian-eigenmap'),
                @('--gamma=', 'Of rbf, polynomial, sigmoid, laplacian'),
                @('--degree=', 'Of polynomial'),
                @('--coef0=', 'Of polynomial and sigmoid'),
                @('--neighbors|--neighbours=', 'Neighbours of each row, of isomap, lle, laplacian-eigenmap'),
                @('--landmarks=', 'Approximate from M rows drawn at random (Nystroem), where n x n numbers are too many'),
                @('-k|--components=all ratio eigenvalue kaiser broken-stick elbow parallel parallel-95 mle gavish-donoho marchenko-pastur cross-validation', 'How many components: a number, a share of the variance (the smallest k that keeps it), all, or a rule: ratio, eigenvalue, kaiser, broken-stick, elbow, parallel, parallel-95, mle, gavish-donoho, marchenko-pastur, cross-validation'),
                @('-s|--standardize', 'Divide each column by its standard deviation'),
                @('--center|--no-center', 'Subtract the column means, or do not'),
                @('--center-rows', 'Subtract from each row its own mean, first of all (for images)'),
                @('--ddof=0 1', 'Divide by n (0) or by n - 1 (1, as scikit-learn and R do)'),
                @('--method=pca kernel supervised', 'What to fit'),
                @('--solver=auto covariance tsqr svd dual randomized', 'How the eigenvalues are computed; -v says which was taken and why'),
                @('--whiten=none pca zca', 'Scores of variance 1: pca, or turned back to the original columns: zca'),
                @('--epsilon=', 'Whitening divides by the root of eigenvalue + E; 0 is allowed'),
                @('--missing=error drop mean em', 'Rows with missing cells: an error; dropped; the column''s mean stands in; or the components are fitted to the cells that are there (probabilistic PCA by EM)'),
                @('--weights=', 'Column with a weight for each row; it is no feature'),
                @('--weights-kind=frequency reliability', 'What a weight says: how often the row occurs, or how reliable it is'),
                @('--updatable|--no-updatable', 'Keep the sums over rows in the model, d x d numbers, for update, merge, subtract and refit; or do not'),
                @('--seed=', 'Start of everything random'),
                @('--memory=', 'Refuse a fit that would need more, such as 2GB; it never changes how the fit is done'),
                @('--align-to=@model', 'Give components the signs that they have in this older model, and nearly equal ones its order, so that nightly fits can be compared'),
                @('--threads=', 'Threads that read, compute and format; the results do not depend on it'),
                @('--engine=threads dask spark', 'Where the work is done: on the cores of this machine, or on a cluster, a task for each file or some row groups of it'),
                @('--scheduler=', 'The cluster: for dask the scheduler, as tcp://host:8786; for spark the master, as spark://host:7077 or local[4]'),
                @('-q|--quiet', 'No notes, no warnings; errors still appear'),
                @('-v|--verbose', 'Say what was done, off a terminal too'),
                @('--json', 'Print what was done as one JSON object: on standard output when it is free, else on standard error'),
                @('--debug', 'Show the traceback of an error'),
                @('-h|--help', 'Show this message and exit')
            )
            Arguments = @('*@model@data')
        }
        'inspect' = @{
            Options = @(
                @('-q|--quiet', 'No notes, no warnings; errors still appear'),
                @('-v|--verbose', 'Say what was done, off a terminal too'),
                @('--json', 'Print what was done as one JSON object: on standard output when it is free, else on standard error'),
                @('--debug', 'Show the traceback of an error'),
                @('-h|--help', 'Show this message and exit')
            )
            Arguments = @('@model')
        }
        'diff' = @{
            Options = @(
                @('--format=text csv json markdown', 'Text to read, or one row for each thing compared: what, name, a, b, change'),
                @('-q|--quiet', 'No notes, no warnings; errors still appear'),
                @('-v|--verbose', 'Say what was done, off a terminal too'),
                @('--json', 'Print what was done as one JSON object: on standard output when it is free, else on standard error'),
                @('--debug', 'Show the traceback of an error'),
                @('-h|--help', 'Show this message and exit')
            )
            Arguments = @('@model', '@model')
        }
        'update' = @{
            Options = @(
                @('-o|--output=@any', 'Write the model here, replacing the file in one step; - is standard output'),
                @('--no-clobber', 'Refuse to replace a file that exists'),
                @('--input-format=parquet tsv csv', 'Insist on a format instead of looking at the content'),
                @('-d|--delimiter=tab comma semicolon pipe space blanks', 'Field separator: one character, or tab, comma, semicolon, pipe, space, blanks (runs of blanks)'),
                @('--header|--no-header', 'The first line holds names (insist), or data: then the columns are c1, c2, ...'),
                @('*--null-value=', 'A further spelling of a missing cell; repeatable'),
                @('--encoding=utf-8 latin-1 cp1252 utf-16', 'Character encoding of text'),
                @('--comment=', 'Ignore what follows this character on a line'),
                @('--decimal=. ,', 'Decimal mark'),
                @('--thousands=', 'Thousands mark inside numbers'),
                @('--strip=', 'Characters to take off numbers, such as ''$'' or ''%''; the number itself is not rescaled'),
                @('--skip-lines=', 'Lines to pass over at the start'),
                @('--skip-bad', 'Leave out a file that cannot be read, is damaged, has another schema or a bad cell: the whole of it, with a warning that lists such files'),
                @('--align-to=@model', 'Give components the signs that they have in this older model, and nearly equal ones its order'),
                @('--missing=error drop', 'Rows with missing cells: an error, or dropped'),
                @('--threads=', 'Threads that read, compute and format; the results do not depend on it'),
                @('--engine=threads dask spark', 'Where the work is done: on the cores of this machine, or on a cluster, a task for each file or some row groups of it'),
                @('--scheduler=', 'The cluster: for dask the scheduler, as tcp://host:8786; for spark the master, as spark://host:7077 or local[4]'),
                @('-q|--quiet', 'No notes, no warnings; errors still appear'),
                @('-v|--verbose', 'Say what was done, off a terminal too'),
                @('--json', 'Print what was done as one JSON object: on standard output when it is free, else on standard error'),
                @('--debug', 'Show the traceback of an error'),
                @('-h|--help', 'Show this message and exit')
            )
            Arguments = @('@model', '*@data')
        }
        'merge' = @{
            Options = @(
                @('-o|--output=@any', 'Write the model here, replacing the file in one step; - is standard output'),
                @('--no-clobber', 'Refuse to replace a file that exists'),
                @('--align-to=@model', 'Give components the signs that they have in this older model, and nearly equal ones its order'),
                @('-q|--quiet', 'No notes, no warnings; errors still appear'),
                @('-v|--verbose', 'Say what was done, off a terminal too'),
                @('--json', 'Print what was done as one JSON object: on standard output when it is free, else on standard error'),
                @('--debug', 'Show the traceback of an error'),
                @('-h|--help', 'Show this message and exit')
            )
            Arguments = @('*@model')
        }
        'subtract' = @{
            Options = @(
                @('-o|--output=@any', 'Write the model here, replacing the file in one step; - is standard output'),
                @('--no-clobber', 'Refuse to replace a file that exists'),
                @('--input-format=parquet tsv csv', 'Insist on a format instead of looking at the content'),
                @('-d|--delimiter=tab comma semicolon pipe space blanks', 'Field separator: one character, or tab, comma, semicolon, pipe, space, blanks (runs of blanks)'),
                @('--header|--no-header', 'The first line holds names (insist), or data: then the columns are c1, c2, ...'),
                @('*--null-value=', 'A further spelling of a missing cell; repeatable'),
                @('--encoding=utf-8 latin-1 cp1252 utf-16', 'Character encoding of text'),
                @('--comment=', 'Ignore what follows this character on a line'),
                @('--decimal=. ,', 'Decimal mark'),
                @('--thousands=', 'Thousands mark inside numbers'),
                @('--strip=', 'Characters to take off numbers, such as ''$'' or ''%''; the number itself is not rescaled'),
                @('--skip-lines=', 'Lines to pass over at the start'),
                @('--skip-bad', 'Leave out a file that cannot be read, is damaged, has another schema or a bad cell: the whole of it, with a warning that lists such files'),
                @('--align-to=@model', 'Give components the signs that they have in this older model, and nearly equal ones its order'),
                @('--missing=error drop', 'Rows with missing cells: an error, or dropped'),
                @('--threads=', 'Threads that read, compute and format; the results do not depend on it'),
                @('--engine=threads dask spark', 'Where the work is done: on the cores of this machine, or on a cluster, a task for each file or some row groups of it'),
                @('--scheduler=', 'The cluster: for dask the scheduler, as tcp://host:8786; for spark the master, as spark://host:7077 or local[4]'),
                @('-q|--quiet', 'No notes, no warnings; errors still appear'),
                @('-v|--verbose', 'Say what was done, off a terminal too'),
                @('--json', 'Print what was done as one JSON object: on standard output when it is free, else on standard error'),
                @('--debug', 'Show the traceback of an error'),
                @('-h|--help', 'Show this message and exit')
            )
            Arguments = @('@model', '*@model@data')
        }
        'refit' = @{
            Options = @(
                @('-o|--output=@any', 'Write the model here, replacing the file in one step; - is standard output'),
                @('--no-clobber', 'Refuse to replace a file that exists'),
                @('--align-to=@model', 'Give components the signs that they have in this older model, and nearly equal ones its order'),
                @('-k|--components=all ratio eigenvalue kaiser broken-stick elbow parallel parallel-95 mle gavish-donoho marchenko-pastur cross-validation', 'How many components: a number, a share of the variance, all, or a rule, as in fit'),
                @('-s|--standardize|--no-standardize', 'Divide each column by its standard deviation, or do not'),
                @('--center|--no-center', 'Subtract the column means, or do not'),
                @('--ddof=0 1', 'Divide by n (0) or by n - 1 (1)'),
                @('--whiten=none pca zca', 'Scores of variance 1: pca, or turned back to the original columns: zca'),
                @('--epsilon=', 'Whitening divides by the root of eigenvalue + E; 0 is allowed'),
                @('*-c|--columns=', 'Keep these columns of the model only: names, 1-based numbers, ranges (a-c, 3-), globs, comma-separated; repeatable'),
                @('*-x|--exclude=', 'Drop these columns; same terms; repeatable'),
                @('-q|--quiet', 'No notes, no warnings; errors still appear'),
                @('-v|--verbose', 'Say what was done, off a terminal too'),
                @('--json', 'Print what was done as one JSON object: on standard output when it is free, else on standard error'),
                @('--debug', 'Show the traceback of an error'),
                @('-h|--help', 'Show this message and exit')
            )
            Arguments = @('@model')
        }
        'completion' = @{
            Options = @(
                @('-h|--help', 'Show this message and exit')
            )
            Arguments = @('bash zsh fish powershell')
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
        $place = if ($folder) { $folder -replace '^~', $HOME } else { '.' }
        foreach ($item in Get-ChildItem -LiteralPath $place -ErrorAction Ignore) {
            if (-not $item.Name.StartsWith($start, [System.StringComparison]::OrdinalIgnoreCase)) { continue }
            $text = $before + $folder + $item.Name
            if ($item.PSIsContainer) { Reply ($text + '/') 'ProviderContainer' $item.Name }
            elseif ($item.Name -match "^($($endings -join '|'))$") { Reply $text 'ProviderItem' $item.Name }
        }
    }

    function Reply-Value($wanted, $before, $typed) {
        if (-not $wanted) { return }
        if ($wanted.StartsWith('@')) { Reply-Files $wanted $before $typed }
        elseif ($wanted.StartsWith('+')) { Reply-Listed $wanted.Substring(1).Split(' ') $before $typed }
        else { Reply-Words $wanted.Split(' ') $before $typed }
    }

    function Get-Names($option) { , $option[0].Split('=')[0].TrimStart('*').Split('|') }

    function Get-Value($option) { $option[0].Substring($option[0].IndexOf('=') + 1) }

    function Test-Value($option) { $option -and $option[0].Contains('=') }

    function Find-Option($name) {
        foreach ($option in $options) { if ((Get-Names $option) -ccontains $name) { return , $option } }
    }

    $typed = $wordToComplete -replace '^[''"]', '' -replace '[''"]$', ''
    $before = @($commandAst.CommandElements | Select-Object -Skip 1 |
            Where-Object { $_.Extent.EndOffset -lt $cursorPosition -or ($_.Extent.EndOffset -eq $cursorPosition -and -not $wordToComplete) } |
            ForEach-Object { if ($null -ne $_.Value -and $_.Value -is [string]) { $_.Value } else { $_.Extent.Text } })

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
            $option = Find-Option $word.Split('=')[0]
            if ($option) { $given += , $option[0] }
            if ((Test-Value $option) -and -not $word.Contains('=')) { $pending = $option }
        }
        elseif (-not $ended -and $word.Length -gt 1 -and $word.StartsWith('-')) {
            for ($i = 1; $i -lt $word.Length; $i++) {
                $option = Find-Option ('-' + $word[$i])
                if (-not $option) { break }
                $given += , $option[0]
                if (Test-Value $option) {
                    if ($i -eq $word.Length - 1) { $pending = $option }
                    break
                }
            }
        }
        elseif (-not $command) {
            $command = $word
            $given = @()
            $known = $takes.ContainsKey($command)
            $options = if ($known) { $takes[$command].Options } else { @() }
            $places = if ($known) { $takes[$command].Arguments } else { @() }
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
            if (-not $option[0].StartsWith('*') -and $given -ccontains $option[0]) { continue }
            foreach ($name in Get-Names $option) {
                if ($name.StartsWith($typed, [System.StringComparison]::Ordinal)) { Reply $name 'ParameterName' $option[1] }
            }
        }
    }
    elseif (-not $command -or $command -ceq 'help') {
        foreach ($entry in $commands) {
            if ($entry[0].StartsWith($typed)) { Reply $entry[0] 'ParameterValue' $entry[1] }
        }
    }
    elseif ($places.Count) {
        $last = $places[$places.Count - 1]
        if ($place -lt $places.Count) { Reply-Value $places[$place].TrimStart('*') '' $typed }
        elseif ($last.StartsWith('*')) { Reply-Value $last.TrimStart('*') '' $typed }
    }
}
