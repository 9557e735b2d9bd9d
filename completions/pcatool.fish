# Completion of pcatool for fish, made from the program's own table of options; it needs no Python.
# Put it as 'pcatool.fish' into ~/.config/fish/completions/, or source it in config.fish.

# What a subcommand takes. An option is its names, = when it has a value, and what that can be: words; some of them,
# after a +; files, after @; nothing that could be told. A * before it: it can be given again. Behind the tab, its help.
function __pcatool_of --no-scope-shadowing
    set options
    set arguments
    switch $argv[1]
        case ''
            set options \
                '-V|--version'\t'Print the version' \
                '-h|--help'\t'Show the usual options (-h), or all of them (--help)'
            set arguments
        case fit
            set options \
                '-o|--output=@any'\t'Write the model here, replacing the file in one step; - is standard output' \
                '--no-clobber'\t'Refuse to replace a file that exists' \
                '--plan'\t'Only say which solver would be used and why, its passes over the data and its memory; with --scores, that of scoring, too' \
                '--scores=@any'\t'Write the scores of the same rows here, too, as transform would; a pipe is read once, through a temporary file' \
                '*--keep='\t'With --scores: pass these input columns through, ahead of the scores; terms as in -c; repeatable' \
                '--keep-all'\t'With --scores: pass every input column through' \
                '*-c|--columns='\t'Use these columns only: names, 1-based numbers, ranges (a-c, 3-), globs, comma-separated; repeatable' \
                '*-x|--exclude='\t'Leave these columns out; same terms; repeatable' \
                '--input-format=parquet tsv csv'\t'Insist on a format instead of looking at the content' \
                '-d|--delimiter=tab comma semicolon pipe space blanks'\t'Field separator: one character, or tab, comma, semicolon, pipe, space, blanks (runs of blanks)' \
                '--header|--no-header'\t'The first line holds names (insist), or data: then the columns are c1, c2, ...' \
                '--row-names'\t'The first field of each row of text is its name, as R\'s write.table and write.csv and pandas write it: never a feature' \
                '*--null-value='\t'A further spelling of a missing cell; repeatable' \
                '--encoding=utf-8 latin-1 cp1252 utf-16'\t'Character encoding of text' \
                '--comment='\t'Ignore what follows this character on a line' \
                '--decimal=. ,'\t'Decimal mark' \
                '--thousands='\t'Thousands mark inside numbers' \
                '--strip='\t'Characters to take off numbers, such as \'$\' or \'%\'; the number itself is not rescaled' \
                '--skip-lines='\t'Lines to pass over at the start' \
                '--skip-bad'\t'Leave out a file that cannot be read, is damaged, has another schema or a bad cell: the whole of it, with a warning that lists such files' \
                '--triples='\t'One line for each cell: the columns of user, item and value, as in --triples user,item,rating' \
                '--absent=missing zero'\t'With --triples: cells that no line gives are missing, or zero (counts, words of documents)' \
                '*--label='\t'Columns that supervise; they are no features; terms as in -c; repeatable' \
                '--label-kernel=delta linear rbf'\t'How alike two labels are: equal or not, their product, or exp(-gamma |y - y\'|^2)' \
                '--label-gamma='\t'Of --label-kernel rbf' \
                '--kernel=rbf linear polynomial sigmoid laplacian cosine precomputed mds isomap lle laplacian-eigenmap'\t'How alike two rows are: rbf, linear, polynomial, sigmoid, laplacian, cosine, precomputed, mds, isomap, lle, laplacian-eigenmap' \
                '--gamma='\t'Of rbf, polynomial, sigmoid, laplacian' \
                '--degree='\t'Of polynomial' \
                '--coef0='\t'Of polynomial and sigmoid' \
                '--neighbors|--neighbours='\t'Neighbours of each row, of isomap, lle, laplacian-eigenmap' \
                '--landmarks='\t'Approximate from M rows drawn at random (Nystroem), where n x n numbers are too many' \
                '-k|--components=all ratio eigenvalue kaiser broken-stick elbow parallel parallel-95 mle gavish-donoho marchenko-pastur cross-validation'\t'How many components: a number, a share of the variance (the smallest k that keeps it), all, or a rule: ratio, eigenvalue, kaiser, broken-stick, elbow, parallel, parallel-95, mle, gavish-donoho, marchenko-pastur, cross-validation' \
                '-s|--standardize'\t'Divide each column by its standard deviation' \
                '--center|--no-center'\t'Subtract the column means, or do not' \
                '--center-rows'\t'Subtract from each row its own mean, first of all (for images)' \
                '--ddof=0 1'\t'Divide by n (0) or by n - 1 (1, as scikit-learn and R do)' \
                '--method=pca kernel supervised'\t'What to fit' \
                '--solver=auto covariance tsqr svd dual randomized'\t'How the eigenvalues are computed; -v says which was taken and why' \
                '--whiten=none pca zca'\t'Scores of variance 1: pca, or turned back to the original columns: zca' \
                '--epsilon='\t'Whitening divides by the root of eigenvalue + E; 0 is allowed' \
                '--missing=error drop mean em'\t'Rows with missing cells: an error; dropped; the column\'s mean stands in; or the components are fitted to the cells that are there (probabilistic PCA by EM)' \
                '--weights='\t'Column with a weight for each row; it is no feature' \
                '--weights-kind=frequency reliability'\t'What a weight says: how often the row occurs, or how reliable it is' \
                '--updatable|--no-updatable'\t'Keep the sums over rows in the model, d x d numbers, for update, merge, subtract and refit; or do not' \
                '--seed='\t'Start of everything random' \
                '--memory='\t'Refuse a fit that would need more, such as 2GB; it never changes how the fit is done' \
                '--align-to=@model'\t'Give components the signs that they have in this older model, and nearly equal ones its order, so that nightly fits can be compared' \
                '--threads='\t'Threads that read, compute and format; the results do not depend on it' \
                '--engine=threads dask spark'\t'Where the work is done: on the cores of this machine, or on a cluster, a task for each file or some row groups of it' \
                '--scheduler='\t'The cluster: for dask the scheduler, as tcp://host:8786; for spark the master, as spark://host:7077 or local[4]' \
                '-q|--quiet'\t'No notes, no warnings; errors still appear' \
                '-v|--verbose'\t'Say what was done, off a terminal too' \
                '--json'\t'Print what was done as one JSON object: on standard output when it is free, else on standard error' \
                '--debug'\t'Show the traceback of an error' \
                '-h|--help'\t'Show the usual options (-h), or all of them (--help)'
            set arguments '*@data'
        case transform
            set options \
                '--input-format=parquet tsv csv'\t'Insist on a format instead of looking at the content' \
                '-d|--delimiter=tab comma semicolon pipe space blanks'\t'Field separator: one character, or tab, comma, semicolon, pipe, space, blanks (runs of blanks)' \
                '--header|--no-header'\t'The first line holds names (insist), or data: then the columns are c1, c2, ...' \
                '--row-names'\t'The first field of each row of text is its name, as R\'s write.table and write.csv and pandas write it: never a feature' \
                '*--null-value='\t'A further spelling of a missing cell; repeatable' \
                '--encoding=utf-8 latin-1 cp1252 utf-16'\t'Character encoding of text' \
                '--comment='\t'Ignore what follows this character on a line' \
                '--decimal=. ,'\t'Decimal mark' \
                '--thousands='\t'Thousands mark inside numbers' \
                '--strip='\t'Characters to take off numbers, such as \'$\' or \'%\'; the number itself is not rescaled' \
                '--skip-lines='\t'Lines to pass over at the start' \
                '--skip-bad'\t'Leave out a file that cannot be read, is damaged, has another schema or a bad cell: the whole of it, with a warning that lists such files' \
                '--triples='\t'One line for each cell: the columns of user, item and value, as in --triples user,item,rating' \
                '--absent=missing zero'\t'With --triples: cells that no line gives are missing, or zero (counts, words of documents)' \
                '-k|--components='\t'Use only the first K components' \
                '--missing=error mean project em keep'\t'A row with missing cells: an error; the column means stand in; its least-squares scores from the cells that are there; what the model expects of it, its noise allowed for; or kept with empty results' \
                '*--keep='\t'Pass these input columns through, ahead of the results; terms as in fit -c; repeatable' \
                '--keep-all'\t'Pass every input column through' \
                '--with-error'\t'Add a column squared_error: what the components leave out of the row, in the units of the fit' \
                '--with-coverage'\t'Add a column coverage: the share of the components\' variance in the cells of the row that are there' \
                '-o|--output=@any'\t'Write here, replacing the file in one step; - is standard output' \
                '--output-format=csv tsv parquet jsonl'\t'Insist on a format instead of going by the name' \
                '--output-header|--no-output-header'\t'Write the line of names, or do not' \
                '--float-format='\t'Format of numbers in text, such as .6g or %.3f' \
                '--no-clobber'\t'Refuse to replace a file that exists' \
                '--resume'\t'With -o DIR/: pass over the inputs whose output is there, not older than the input and the model; it goes by names and times only, so give the same options' \
                '--threads='\t'Threads that read, compute and format; the results do not depend on it' \
                '--engine=threads dask spark'\t'Where the work is done: on the cores of this machine, or on a cluster, a task for each file or some row groups of it' \
                '--scheduler='\t'The cluster: for dask the scheduler, as tcp://host:8786; for spark the master, as spark://host:7077 or local[4]' \
                '-q|--quiet'\t'No notes, no warnings; errors still appear' \
                '-v|--verbose'\t'Say what was done, off a terminal too' \
                '--json'\t'Print what was done as one JSON object: on standard output when it is free, else on standard error' \
                '--debug'\t'Show the traceback of an error' \
                '-h|--help'\t'Show the usual options (-h), or all of them (--help)'
            set arguments '@model' '*@data'
        case reconstruct
            set options \
                '--from=scores rows'\t'What the input holds' \
                '--preimage'\t'Of a kernel model: an approximation, learned from its training rows' \
                '--fill'\t'Return the original rows with only their missing cells replaced' \
                '--input-format=parquet tsv csv'\t'Insist on a format instead of looking at the content' \
                '-d|--delimiter=tab comma semicolon pipe space blanks'\t'Field separator: one character, or tab, comma, semicolon, pipe, space, blanks (runs of blanks)' \
                '--header|--no-header'\t'The first line holds names (insist), or data: then the columns are c1, c2, ...' \
                '--row-names'\t'The first field of each row of text is its name, as R\'s write.table and write.csv and pandas write it: never a feature' \
                '*--null-value='\t'A further spelling of a missing cell; repeatable' \
                '--encoding=utf-8 latin-1 cp1252 utf-16'\t'Character encoding of text' \
                '--comment='\t'Ignore what follows this character on a line' \
                '--decimal=. ,'\t'Decimal mark' \
                '--thousands='\t'Thousands mark inside numbers' \
                '--strip='\t'Characters to take off numbers, such as \'$\' or \'%\'; the number itself is not rescaled' \
                '--skip-lines='\t'Lines to pass over at the start' \
                '--skip-bad'\t'Leave out a file that cannot be read, is damaged, has another schema or a bad cell: the whole of it, with a warning that lists such files' \
                '--triples='\t'One line for each cell: the columns of user, item and value, as in --triples user,item,rating' \
                '--absent=missing zero'\t'With --triples: cells that no line gives are missing, or zero (counts, words of documents)' \
                '-k|--components='\t'Use only the first K components' \
                '--missing=error mean project em keep'\t'A row with missing cells: an error; the column means stand in; its least-squares scores from the cells that are there; what the model expects of it, its noise allowed for; or kept with empty results' \
                '*--keep='\t'Pass these input columns through, ahead of the results; terms as in fit -c; repeatable' \
                '--keep-all'\t'Pass every input column through' \
                '--with-error'\t'Add a column squared_error: what the components leave out of the row, in the units of the fit' \
                '--with-coverage'\t'Add a column coverage: the share of the components\' variance in the cells of the row that are there' \
                '-o|--output=@any'\t'Write here, replacing the file in one step; - is standard output' \
                '--output-format=csv tsv parquet jsonl'\t'Insist on a format instead of going by the name' \
                '--output-header|--no-output-header'\t'Write the line of names, or do not' \
                '--float-format='\t'Format of numbers in text, such as .6g or %.3f' \
                '--no-clobber'\t'Refuse to replace a file that exists' \
                '--resume'\t'With -o DIR/: pass over the inputs whose output is there, not older than the input and the model; it goes by names and times only, so give the same options' \
                '--threads='\t'Threads that read, compute and format; the results do not depend on it' \
                '--engine=threads dask spark'\t'Where the work is done: on the cores of this machine, or on a cluster, a task for each file or some row groups of it' \
                '--scheduler='\t'The cluster: for dask the scheduler, as tcp://host:8786; for spark the master, as spark://host:7077 or local[4]' \
                '-q|--quiet'\t'No notes, no warnings; errors still appear' \
                '-v|--verbose'\t'Say what was done, off a terminal too' \
                '--json'\t'Print what was done as one JSON object: on standard output when it is free, else on standard error' \
                '--debug'\t'Show the traceback of an error' \
                '-h|--help'\t'Show the usual options (-h), or all of them (--help)'
            set arguments '@model' '*@data'
        case explain-variance
            set options \
                '--format=table csv json markdown'\t'Form of the report' \
                '--threshold='\t'Print only how many components keep this share of the variance' \
                '*-c|--columns='\t'Use these columns only: names, 1-based numbers, ranges (a-c, 3-), globs, comma-separated; repeatable' \
                '*-x|--exclude='\t'Leave these columns out; same terms; repeatable' \
                '--input-format=parquet tsv csv'\t'Insist on a format instead of looking at the content' \
                '-d|--delimiter=tab comma semicolon pipe space blanks'\t'Field separator: one character, or tab, comma, semicolon, pipe, space, blanks (runs of blanks)' \
                '--header|--no-header'\t'The first line holds names (insist), or data: then the columns are c1, c2, ...' \
                '--row-names'\t'The first field of each row of text is its name, as R\'s write.table and write.csv and pandas write it: never a feature' \
                '*--null-value='\t'A further spelling of a missing cell; repeatable' \
                '--encoding=utf-8 latin-1 cp1252 utf-16'\t'Character encoding of text' \
                '--comment='\t'Ignore what follows this character on a line' \
                '--decimal=. ,'\t'Decimal mark' \
                '--thousands='\t'Thousands mark inside numbers' \
                '--strip='\t'Characters to take off numbers, such as \'$\' or \'%\'; the number itself is not rescaled' \
                '--skip-lines='\t'Lines to pass over at the start' \
                '--skip-bad'\t'Leave out a file that cannot be read, is damaged, has another schema or a bad cell: the whole of it, with a warning that lists such files' \
                '--triples='\t'One line for each cell: the columns of user, item and value, as in --triples user,item,rating' \
                '--absent=missing zero'\t'With --triples: cells that no line gives are missing, or zero (counts, words of documents)' \
                '*--label='\t'Columns that supervise; they are no features; terms as in -c; repeatable' \
                '--label-kernel=delta linear rbf'\t'How alike two labels are: equal or not, their product, or exp(-gamma |y - y\'|^2)' \
                '--label-gamma='\t'Of --label-kernel rbf' \
                '--kernel=rbf linear polynomial sigmoid laplacian cosine precomputed mds isomap lle laplacian-eigenmap'\t'How alike two rows are: rbf, linear, polynomial, sigmoid, laplacian, cosine, precomputed, mds, isomap, lle, laplacian-eigenmap' \
                '--gamma='\t'Of rbf, polynomial, sigmoid, laplacian' \
                '--degree='\t'Of polynomial' \
                '--coef0='\t'Of polynomial and sigmoid' \
                '--neighbors|--neighbours='\t'Neighbours of each row, of isomap, lle, laplacian-eigenmap' \
                '--landmarks='\t'Approximate from M rows drawn at random (Nystroem), where n x n numbers are too many' \
                '-k|--components=all ratio eigenvalue kaiser broken-stick elbow parallel parallel-95 mle gavish-donoho marchenko-pastur cross-validation'\t'How many components: a number, a share of the variance (the smallest k that keeps it), all, or a rule: ratio, eigenvalue, kaiser, broken-stick, elbow, parallel, parallel-95, mle, gavish-donoho, marchenko-pastur, cross-validation' \
                '-s|--standardize'\t'Divide each column by its standard deviation' \
                '--center|--no-center'\t'Subtract the column means, or do not' \
                '--center-rows'\t'Subtract from each row its own mean, first of all (for images)' \
                '--ddof=0 1'\t'Divide by n (0) or by n - 1 (1, as scikit-learn and R do)' \
                '--method=pca kernel supervised'\t'What to fit' \
                '--solver=auto covariance tsqr svd dual randomized'\t'How the eigenvalues are computed; -v says which was taken and why' \
                '--whiten=none pca zca'\t'Scores of variance 1: pca, or turned back to the original columns: zca' \
                '--epsilon='\t'Whitening divides by the root of eigenvalue + E; 0 is allowed' \
                '--missing=error drop mean em'\t'Rows with missing cells: an error; dropped; the column\'s mean stands in; or the components are fitted to the cells that are there (probabilistic PCA by EM)' \
                '--weights='\t'Column with a weight for each row; it is no feature' \
                '--weights-kind=frequency reliability'\t'What a weight says: how often the row occurs, or how reliable it is' \
                '--updatable|--no-updatable'\t'Keep the sums over rows in the model, d x d numbers, for update, merge, subtract and refit; or do not' \
                '--seed='\t'Start of everything random' \
                '--memory='\t'Refuse a fit that would need more, such as 2GB; it never changes how the fit is done' \
                '--align-to=@model'\t'Give components the signs that they have in this older model, and nearly equal ones its order, so that nightly fits can be compared' \
                '--threads='\t'Threads that read, compute and format; the results do not depend on it' \
                '--engine=threads dask spark'\t'Where the work is done: on the cores of this machine, or on a cluster, a task for each file or some row groups of it' \
                '--scheduler='\t'The cluster: for dask the scheduler, as tcp://host:8786; for spark the master, as spark://host:7077 or local[4]' \
                '-q|--quiet'\t'No notes, no warnings; errors still appear' \
                '-v|--verbose'\t'Say what was done, off a terminal too' \
                '--json'\t'Print what was done as one JSON object: on standard output when it is free, else on standard error' \
                '--debug'\t'Show the traceback of an error' \
                '-h|--help'\t'Show the usual options (-h), or all of them (--help)'
            set arguments '*@model@data'
        case scree
            set options \
                '-o|--output=@any'\t'Draw a picture instead: .png, .svg or .pdf (needs matplotlib, the extra \'plot\')' \
                '--no-clobber'\t'Refuse to replace a file that exists' \
                '--format=chart table csv json markdown'\t'The drawing, or its numbers' \
                '--rules=+all ratio eigenvalue kaiser broken-stick elbow parallel parallel-95 mle gavish-donoho marchenko-pastur cross-validation'\t'Print what the rules for -k make of the data, and where they agree; with -o mark in the picture what each picks' \
                '--log'\t'With -o: eigenvalues on a logarithmic scale' \
                '--log-components'\t'With -o: components on a logarithmic scale' \
                '--all-components'\t'With -o: draw all components, not only the first 30' \
                '--size='\t'Width and height of the picture in inches' \
                '--dpi='\t'Pixels per inch, also of what is a raster in .svg and .pdf' \
                '*-c|--columns='\t'Use these columns only: names, 1-based numbers, ranges (a-c, 3-), globs, comma-separated; repeatable' \
                '*-x|--exclude='\t'Leave these columns out; same terms; repeatable' \
                '--input-format=parquet tsv csv'\t'Insist on a format instead of looking at the content' \
                '-d|--delimiter=tab comma semicolon pipe space blanks'\t'Field separator: one character, or tab, comma, semicolon, pipe, space, blanks (runs of blanks)' \
                '--header|--no-header'\t'The first line holds names (insist), or data: then the columns are c1, c2, ...' \
                '--row-names'\t'The first field of each row of text is its name, as R\'s write.table and write.csv and pandas write it: never a feature' \
                '*--null-value='\t'A further spelling of a missing cell; repeatable' \
                '--encoding=utf-8 latin-1 cp1252 utf-16'\t'Character encoding of text' \
                '--comment='\t'Ignore what follows this character on a line' \
                '--decimal=. ,'\t'Decimal mark' \
                '--thousands='\t'Thousands mark inside numbers' \
                '--strip='\t'Characters to take off numbers, such as \'$\' or \'%\'; the number itself is not rescaled' \
                '--skip-lines='\t'Lines to pass over at the start' \
                '--skip-bad'\t'Leave out a file that cannot be read, is damaged, has another schema or a bad cell: the whole of it, with a warning that lists such files' \
                '--triples='\t'One line for each cell: the columns of user, item and value, as in --triples user,item,rating' \
                '--absent=missing zero'\t'With --triples: cells that no line gives are missing, or zero (counts, words of documents)' \
                '*--label='\t'Columns that supervise; they are no features; terms as in -c; repeatable' \
                '--label-kernel=delta linear rbf'\t'How alike two labels are: equal or not, their product, or exp(-gamma |y - y\'|^2)' \
                '--label-gamma='\t'Of --label-kernel rbf' \
                '--kernel=rbf linear polynomial sigmoid laplacian cosine precomputed mds isomap lle laplacian-eigenmap'\t'How alike two rows are: rbf, linear, polynomial, sigmoid, laplacian, cosine, precomputed, mds, isomap, lle, laplacian-eigenmap' \
                '--gamma='\t'Of rbf, polynomial, sigmoid, laplacian' \
                '--degree='\t'Of polynomial' \
                '--coef0='\t'Of polynomial and sigmoid' \
                '--neighbors|--neighbours='\t'Neighbours of each row, of isomap, lle, laplacian-eigenmap' \
                '--landmarks='\t'Approximate from M rows drawn at random (Nystroem), where n x n numbers are too many' \
                '-k|--components=all ratio eigenvalue kaiser broken-stick elbow parallel parallel-95 mle gavish-donoho marchenko-pastur cross-validation'\t'How many components: a number, a share of the variance (the smallest k that keeps it), all, or a rule: ratio, eigenvalue, kaiser, broken-stick, elbow, parallel, parallel-95, mle, gavish-donoho, marchenko-pastur, cross-validation' \
                '-s|--standardize'\t'Divide each column by its standard deviation' \
                '--center|--no-center'\t'Subtract the column means, or do not' \
                '--center-rows'\t'Subtract from each row its own mean, first of all (for images)' \
                '--ddof=0 1'\t'Divide by n (0) or by n - 1 (1, as scikit-learn and R do)' \
                '--method=pca kernel supervised'\t'What to fit' \
                '--solver=auto covariance tsqr svd dual randomized'\t'How the eigenvalues are computed; -v says which was taken and why' \
                '--whiten=none pca zca'\t'Scores of variance 1: pca, or turned back to the original columns: zca' \
                '--epsilon='\t'Whitening divides by the root of eigenvalue + E; 0 is allowed' \
                '--missing=error drop mean em'\t'Rows with missing cells: an error; dropped; the column\'s mean stands in; or the components are fitted to the cells that are there (probabilistic PCA by EM)' \
                '--weights='\t'Column with a weight for each row; it is no feature' \
                '--weights-kind=frequency reliability'\t'What a weight says: how often the row occurs, or how reliable it is' \
                '--updatable|--no-updatable'\t'Keep the sums over rows in the model, d x d numbers, for update, merge, subtract and refit; or do not' \
                '--seed='\t'Start of everything random' \
                '--memory='\t'Refuse a fit that would need more, such as 2GB; it never changes how the fit is done' \
                '--align-to=@model'\t'Give components the signs that they have in this older model, and nearly equal ones its order, so that nightly fits can be compared' \
                '--threads='\t'Threads that read, compute and format; the results do not depend on it' \
                '--engine=threads dask spark'\t'Where the work is done: on the cores of this machine, or on a cluster, a task for each file or some row groups of it' \
                '--scheduler='\t'The cluster: for dask the scheduler, as tcp://host:8786; for spark the master, as spark://host:7077 or local[4]' \
                '-q|--quiet'\t'No notes, no warnings; errors still appear' \
                '-v|--verbose'\t'Say what was done, off a terminal too' \
                '--json'\t'Print what was done as one JSON object: on standard output when it is free, else on standard error' \
                '--debug'\t'Show the traceback of an error' \
                '-h|--help'\t'Show the usual options (-h), or all of them (--help)'
            set arguments '*@model@data'
        case components
            set options \
                '-o|--output=@any'\t'Write here: the numbers, or with --image a picture, .png, .svg or .pdf (needs matplotlib, the extra \'plot\')' \
                '--no-clobber'\t'Refuse to replace a file that exists' \
                '--values=+loadings correlations contributions cos2'\t'What to show of each column: loadings; correlations with the scores; contributions, in per cent of the component; cos2, the share of the column\'s variance' \
                '--first='\t'Show only the first K components, of a model too' \
                '--image='\t'Draw the mean and the components as images instead, the columns as pixels, line by line; with -o' \
                '--format=table csv json markdown'\t'Form of the numbers' \
                '--size='\t'Width and height of the picture in inches' \
                '--dpi='\t'Pixels per inch, also of what is a raster in .svg and .pdf' \
                '*-c|--columns='\t'Use these columns only: names, 1-based numbers, ranges (a-c, 3-), globs, comma-separated; repeatable' \
                '*-x|--exclude='\t'Leave these columns out; same terms; repeatable' \
                '--input-format=parquet tsv csv'\t'Insist on a format instead of looking at the content' \
                '-d|--delimiter=tab comma semicolon pipe space blanks'\t'Field separator: one character, or tab, comma, semicolon, pipe, space, blanks (runs of blanks)' \
                '--header|--no-header'\t'The first line holds names (insist), or data: then the columns are c1, c2, ...' \
                '--row-names'\t'The first field of each row of text is its name, as R\'s write.table and write.csv and pandas write it: never a feature' \
                '*--null-value='\t'A further spelling of a missing cell; repeatable' \
                '--encoding=utf-8 latin-1 cp1252 utf-16'\t'Character encoding of text' \
                '--comment='\t'Ignore what follows this character on a line' \
                '--decimal=. ,'\t'Decimal mark' \
                '--thousands='\t'Thousands mark inside numbers' \
                '--strip='\t'Characters to take off numbers, such as \'$\' or \'%\'; the number itself is not rescaled' \
                '--skip-lines='\t'Lines to pass over at the start' \
                '--skip-bad'\t'Leave out a file that cannot be read, is damaged, has another schema or a bad cell: the whole of it, with a warning that lists such files' \
                '--triples='\t'One line for each cell: the columns of user, item and value, as in --triples user,item,rating' \
                '--absent=missing zero'\t'With --triples: cells that no line gives are missing, or zero (counts, words of documents)' \
                '*--label='\t'Columns that supervise; they are no features; terms as in -c; repeatable' \
                '--label-kernel=delta linear rbf'\t'How alike two labels are: equal or not, their product, or exp(-gamma |y - y\'|^2)' \
                '--label-gamma='\t'Of --label-kernel rbf' \
                '--kernel=rbf linear polynomial sigmoid laplacian cosine precomputed mds isomap lle laplacian-eigenmap'\t'How alike two rows are: rbf, linear, polynomial, sigmoid, laplacian, cosine, precomputed, mds, isomap, lle, laplacian-eigenmap' \
                '--gamma='\t'Of rbf, polynomial, sigmoid, laplacian' \
                '--degree='\t'Of polynomial' \
                '--coef0='\t'Of polynomial and sigmoid' \
                '--neighbors|--neighbours='\t'Neighbours of each row, of isomap, lle, laplacian-eigenmap' \
                '--landmarks='\t'Approximate from M rows drawn at random (Nystroem), where n x n numbers are too many' \
                '-k|--components=all ratio eigenvalue kaiser broken-stick elbow parallel parallel-95 mle gavish-donoho marchenko-pastur cross-validation'\t'How many components: a number, a share of the variance (the smallest k that keeps it), all, or a rule: ratio, eigenvalue, kaiser, broken-stick, elbow, parallel, parallel-95, mle, gavish-donoho, marchenko-pastur, cross-validation' \
                '-s|--standardize'\t'Divide each column by its standard deviation' \
                '--center|--no-center'\t'Subtract the column means, or do not' \
                '--center-rows'\t'Subtract from each row its own mean, first of all (for images)' \
                '--ddof=0 1'\t'Divide by n (0) or by n - 1 (1, as scikit-learn and R do)' \
                '--method=pca kernel supervised'\t'What to fit' \
                '--solver=auto covariance tsqr svd dual randomized'\t'How the eigenvalues are computed; -v says which was taken and why' \
                '--whiten=none pca zca'\t'Scores of variance 1: pca, or turned back to the original columns: zca' \
                '--epsilon='\t'Whitening divides by the root of eigenvalue + E; 0 is allowed' \
                '--missing=error drop mean em'\t'Rows with missing cells: an error; dropped; the column\'s mean stands in; or the components are fitted to the cells that are there (probabilistic PCA by EM)' \
                '--weights='\t'Column with a weight for each row; it is no feature' \
                '--weights-kind=frequency reliability'\t'What a weight says: how often the row occurs, or how reliable it is' \
                '--updatable|--no-updatable'\t'Keep the sums over rows in the model, d x d numbers, for update, merge, subtract and refit; or do not' \
                '--seed='\t'Start of everything random' \
                '--memory='\t'Refuse a fit that would need more, such as 2GB; it never changes how the fit is done' \
                '--align-to=@model'\t'Give components the signs that they have in this older model, and nearly equal ones its order, so that nightly fits can be compared' \
                '--threads='\t'Threads that read, compute and format; the results do not depend on it' \
                '--engine=threads dask spark'\t'Where the work is done: on the cores of this machine, or on a cluster, a task for each file or some row groups of it' \
                '--scheduler='\t'The cluster: for dask the scheduler, as tcp://host:8786; for spark the master, as spark://host:7077 or local[4]' \
                '-q|--quiet'\t'No notes, no warnings; errors still appear' \
                '-v|--verbose'\t'Say what was done, off a terminal too' \
                '--json'\t'Print what was done as one JSON object: on standard output when it is free, else on standard error' \
                '--debug'\t'Show the traceback of an error' \
                '-h|--help'\t'Show the usual options (-h), or all of them (--help)'
            set arguments '*@model@data'
        case plot
            set options \
                '-o|--output=@any'\t'Where it goes: .png, .svg or .pdf (needs matplotlib, the extra \'plot\')' \
                '--no-clobber'\t'Refuse to replace a file that exists' \
                '--format=picture table csv json markdown'\t'The picture, or its numbers as a table; scores as csv only' \
                '--axes='\t'Which components: one or two for scores and biplot, some for loadings' \
                '--color='\t'Colour the rows by this column: its classes, with marks of their own, or its numbers' \
                '--scaling=rows columns'\t'Of a biplot: distances of rows as in the scores, or angles of arrows as columns correlate' \
                '--from=scores rows'\t'What the input holds' \
                '--size='\t'Width and height of the picture in inches' \
                '--dpi='\t'Pixels per inch, also of what is a raster in .svg and .pdf' \
                '*-c|--columns='\t'Use these columns only: names, 1-based numbers, ranges (a-c, 3-), globs, comma-separated; repeatable' \
                '*-x|--exclude='\t'Leave these columns out; same terms; repeatable' \
                '--input-format=parquet tsv csv'\t'Insist on a format instead of looking at the content' \
                '-d|--delimiter=tab comma semicolon pipe space blanks'\t'Field separator: one character, or tab, comma, semicolon, pipe, space, blanks (runs of blanks)' \
                '--header|--no-header'\t'The first line holds names (insist), or data: then the columns are c1, c2, ...' \
                '--row-names'\t'The first field of each row of text is its name, as R\'s write.table and write.csv and pandas write it: never a feature' \
                '*--null-value='\t'A further spelling of a missing cell; repeatable' \
                '--encoding=utf-8 latin-1 cp1252 utf-16'\t'Character encoding of text' \
                '--comment='\t'Ignore what follows this character on a line' \
                '--decimal=. ,'\t'Decimal mark' \
                '--thousands='\t'Thousands mark inside numbers' \
                '--strip='\t'Characters to take off numbers, such as \'$\' or \'%\'; the number itself is not rescaled' \
                '--skip-lines='\t'Lines to pass over at the start' \
                '--skip-bad'\t'Leave out a file that cannot be read, is damaged, has another schema or a bad cell: the whole of it, with a warning that lists such files' \
                '--triples='\t'One line for each cell: the columns of user, item and value, as in --triples user,item,rating' \
                '--absent=missing zero'\t'With --triples: cells that no line gives are missing, or zero (counts, words of documents)' \
                '*--label='\t'Columns that supervise; they are no features; terms as in -c; repeatable' \
                '--label-kernel=delta linear rbf'\t'How alike two labels are: equal or not, their product, or exp(-gamma |y - y\'|^2)' \
                '--label-gamma='\t'Of --label-kernel rbf' \
                '--kernel=rbf linear polynomial sigmoid laplacian cosine precomputed mds isomap lle laplacian-eigenmap'\t'How alike two rows are: rbf, linear, polynomial, sigmoid, laplacian, cosine, precomputed, mds, isomap, lle, laplacian-eigenmap' \
                '--gamma='\t'Of rbf, polynomial, sigmoid, laplacian' \
                '--degree='\t'Of polynomial' \
                '--coef0='\t'Of polynomial and sigmoid' \
                '--neighbors|--neighbours='\t'Neighbours of each row, of isomap, lle, laplacian-eigenmap' \
                '--landmarks='\t'Approximate from M rows drawn at random (Nystroem), where n x n numbers are too many' \
                '-k|--components=all ratio eigenvalue kaiser broken-stick elbow parallel parallel-95 mle gavish-donoho marchenko-pastur cross-validation'\t'How many components: a number, a share of the variance (the smallest k that keeps it), all, or a rule: ratio, eigenvalue, kaiser, broken-stick, elbow, parallel, parallel-95, mle, gavish-donoho, marchenko-pastur, cross-validation' \
                '-s|--standardize'\t'Divide each column by its standard deviation' \
                '--center|--no-center'\t'Subtract the column means, or do not' \
                '--center-rows'\t'Subtract from each row its own mean, first of all (for images)' \
                '--ddof=0 1'\t'Divide by n (0) or by n - 1 (1, as scikit-learn and R do)' \
                '--method=pca kernel supervised'\t'What to fit' \
                '--solver=auto covariance tsqr svd dual randomized'\t'How the eigenvalues are computed; -v says which was taken and why' \
                '--whiten=none pca zca'\t'Scores of variance 1: pca, or turned back to the original columns: zca' \
                '--epsilon='\t'Whitening divides by the root of eigenvalue + E; 0 is allowed' \
                '--missing=error drop mean em'\t'Rows with missing cells: an error; dropped; the column\'s mean stands in; or the components are fitted to the cells that are there (probabilistic PCA by EM)' \
                '--weights='\t'Column with a weight for each row; it is no feature' \
                '--weights-kind=frequency reliability'\t'What a weight says: how often the row occurs, or how reliable it is' \
                '--updatable|--no-updatable'\t'Keep the sums over rows in the model, d x d numbers, for update, merge, subtract and refit; or do not' \
                '--seed='\t'Start of everything random' \
                '--memory='\t'Refuse a fit that would need more, such as 2GB; it never changes how the fit is done' \
                '--align-to=@model'\t'Give components the signs that they have in this older model, and nearly equal ones its order, so that nightly fits can be compared' \
                '--threads='\t'Threads that read, compute and format; the results do not depend on it' \
                '--engine=threads dask spark'\t'Where the work is done: on the cores of this machine, or on a cluster, a task for each file or some row groups of it' \
                '--scheduler='\t'The cluster: for dask the scheduler, as tcp://host:8786; for spark the master, as spark://host:7077 or local[4]' \
                '-q|--quiet'\t'No notes, no warnings; errors still appear' \
                '-v|--verbose'\t'Say what was done, off a terminal too' \
                '--json'\t'Print what was done as one JSON object: on standard output when it is free, else on standard error' \
                '--debug'\t'Show the traceback of an error' \
                '-h|--help'\t'Show the usual options (-h), or all of them (--help)'
            set arguments 'scores loadings biplot' '*@model@data'
        case report
            set options \
                '-o|--output=@any'\t'Write the page here, replacing the file in one step; - is standard output' \
                '--no-clobber'\t'Refuse to replace a file that exists' \
                '--color='\t'Colour the scores by this input column: numbers in shades, other values as categories' \
                '--axes='\t'The components whose scores are drawn first, such as 1,3; others can be chosen on the page' \
                '--image='\t'Show the mean and the components as images, too, the columns as pixels, line by line' \
                '--first='\t'Show loadings, scores and images of the first K components only' \
                '--input-format=parquet tsv csv'\t'Insist on a format instead of looking at the content' \
                '-d|--delimiter=tab comma semicolon pipe space blanks'\t'Field separator: one character, or tab, comma, semicolon, pipe, space, blanks (runs of blanks)' \
                '--header|--no-header'\t'The first line holds names (insist), or data: then the columns are c1, c2, ...' \
                '--row-names'\t'The first field of each row of text is its name, as R\'s write.table and write.csv and pandas write it: never a feature' \
                '*--null-value='\t'A further spelling of a missing cell; repeatable' \
                '--encoding=utf-8 latin-1 cp1252 utf-16'\t'Character encoding of text' \
                '--comment='\t'Ignore what follows this character on a line' \
                '--decimal=. ,'\t'Decimal mark' \
                '--thousands='\t'Thousands mark inside numbers' \
                '--strip='\t'Characters to take off numbers, such as \'$\' or \'%\'; the number itself is not rescaled' \
                '--skip-lines='\t'Lines to pass over at the start' \
                '--skip-bad'\t'Leave out a file that cannot be read, is damaged, has another schema or a bad cell: the whole of it, with a warning that lists such files' \
                '--triples='\t'One line for each cell: the columns of user, item and value, as in --triples user,item,rating' \
                '--absent=missing zero'\t'With --triples: cells that no line gives are missing, or zero (counts, words of documents)' \
                '-k|--components='\t'Use only the first K components' \
                '--missing=error mean project em keep'\t'A row with missing cells: an error; the column means stand in; its least-squares scores from the cells that are there; what the model expects of it, its noise allowed for; or kept with empty results' \
                '*--keep='\t'Pass these input columns through, ahead of the results; terms as in fit -c; repeatable' \
                '--keep-all'\t'Pass every input column through' \
                '--with-error'\t'Add a column squared_error: what the components leave out of the row, in the units of the fit' \
                '--with-coverage'\t'Add a column coverage: the share of the components\' variance in the cells of the row that are there' \
                '--threads='\t'Threads that read, compute and format; the results do not depend on it' \
                '-q|--quiet'\t'No notes, no warnings; errors still appear' \
                '-v|--verbose'\t'Say what was done, off a terminal too' \
                '--json'\t'Print what was done as one JSON object: on standard output when it is free, else on standard error' \
                '--debug'\t'Show the traceback of an error' \
                '-h|--help'\t'Show the usual options (-h), or all of them (--help)'
            set arguments '@model' '*@data'
        case inspect
            set options \
                '-q|--quiet'\t'No notes, no warnings; errors still appear' \
                '-v|--verbose'\t'Say what was done, off a terminal too' \
                '--json'\t'Print what was done as one JSON object: on standard output when it is free, else on standard error' \
                '--debug'\t'Show the traceback of an error' \
                '-h|--help'\t'Show the usual options (-h), or all of them (--help)'
            set arguments '@model'
        case diff
            set options \
                '--format=text csv json markdown'\t'Text to read, or one row for each thing compared: what, name, a, b, change' \
                '-q|--quiet'\t'No notes, no warnings; errors still appear' \
                '-v|--verbose'\t'Say what was done, off a terminal too' \
                '--json'\t'Print what was done as one JSON object: on standard output when it is free, else on standard error' \
                '--debug'\t'Show the traceback of an error' \
                '-h|--help'\t'Show the usual options (-h), or all of them (--help)'
            set arguments '@model' '@model'
        case update
            set options \
                '-o|--output=@any'\t'Write the model here, replacing the file in one step; - is standard output' \
                '--no-clobber'\t'Refuse to replace a file that exists' \
                '--input-format=parquet tsv csv'\t'Insist on a format instead of looking at the content' \
                '-d|--delimiter=tab comma semicolon pipe space blanks'\t'Field separator: one character, or tab, comma, semicolon, pipe, space, blanks (runs of blanks)' \
                '--header|--no-header'\t'The first line holds names (insist), or data: then the columns are c1, c2, ...' \
                '--row-names'\t'The first field of each row of text is its name, as R\'s write.table and write.csv and pandas write it: never a feature' \
                '*--null-value='\t'A further spelling of a missing cell; repeatable' \
                '--encoding=utf-8 latin-1 cp1252 utf-16'\t'Character encoding of text' \
                '--comment='\t'Ignore what follows this character on a line' \
                '--decimal=. ,'\t'Decimal mark' \
                '--thousands='\t'Thousands mark inside numbers' \
                '--strip='\t'Characters to take off numbers, such as \'$\' or \'%\'; the number itself is not rescaled' \
                '--skip-lines='\t'Lines to pass over at the start' \
                '--skip-bad'\t'Leave out a file that cannot be read, is damaged, has another schema or a bad cell: the whole of it, with a warning that lists such files' \
                '--align-to=@model'\t'Give components the signs that they have in this older model, and nearly equal ones its order' \
                '--missing=error drop'\t'Rows with missing cells: an error, or dropped' \
                '--threads='\t'Threads that read, compute and format; the results do not depend on it' \
                '--engine=threads dask spark'\t'Where the work is done: on the cores of this machine, or on a cluster, a task for each file or some row groups of it' \
                '--scheduler='\t'The cluster: for dask the scheduler, as tcp://host:8786; for spark the master, as spark://host:7077 or local[4]' \
                '-q|--quiet'\t'No notes, no warnings; errors still appear' \
                '-v|--verbose'\t'Say what was done, off a terminal too' \
                '--json'\t'Print what was done as one JSON object: on standard output when it is free, else on standard error' \
                '--debug'\t'Show the traceback of an error' \
                '-h|--help'\t'Show the usual options (-h), or all of them (--help)'
            set arguments '@model' '*@data'
        case merge
            set options \
                '-o|--output=@any'\t'Write the model here, replacing the file in one step; - is standard output' \
                '--no-clobber'\t'Refuse to replace a file that exists' \
                '--align-to=@model'\t'Give components the signs that they have in this older model, and nearly equal ones its order' \
                '-q|--quiet'\t'No notes, no warnings; errors still appear' \
                '-v|--verbose'\t'Say what was done, off a terminal too' \
                '--json'\t'Print what was done as one JSON object: on standard output when it is free, else on standard error' \
                '--debug'\t'Show the traceback of an error' \
                '-h|--help'\t'Show the usual options (-h), or all of them (--help)'
            set arguments '*@model'
        case subtract
            set options \
                '-o|--output=@any'\t'Write the model here, replacing the file in one step; - is standard output' \
                '--no-clobber'\t'Refuse to replace a file that exists' \
                '--input-format=parquet tsv csv'\t'Insist on a format instead of looking at the content' \
                '-d|--delimiter=tab comma semicolon pipe space blanks'\t'Field separator: one character, or tab, comma, semicolon, pipe, space, blanks (runs of blanks)' \
                '--header|--no-header'\t'The first line holds names (insist), or data: then the columns are c1, c2, ...' \
                '--row-names'\t'The first field of each row of text is its name, as R\'s write.table and write.csv and pandas write it: never a feature' \
                '*--null-value='\t'A further spelling of a missing cell; repeatable' \
                '--encoding=utf-8 latin-1 cp1252 utf-16'\t'Character encoding of text' \
                '--comment='\t'Ignore what follows this character on a line' \
                '--decimal=. ,'\t'Decimal mark' \
                '--thousands='\t'Thousands mark inside numbers' \
                '--strip='\t'Characters to take off numbers, such as \'$\' or \'%\'; the number itself is not rescaled' \
                '--skip-lines='\t'Lines to pass over at the start' \
                '--skip-bad'\t'Leave out a file that cannot be read, is damaged, has another schema or a bad cell: the whole of it, with a warning that lists such files' \
                '--align-to=@model'\t'Give components the signs that they have in this older model, and nearly equal ones its order' \
                '--missing=error drop'\t'Rows with missing cells: an error, or dropped' \
                '--threads='\t'Threads that read, compute and format; the results do not depend on it' \
                '--engine=threads dask spark'\t'Where the work is done: on the cores of this machine, or on a cluster, a task for each file or some row groups of it' \
                '--scheduler='\t'The cluster: for dask the scheduler, as tcp://host:8786; for spark the master, as spark://host:7077 or local[4]' \
                '-q|--quiet'\t'No notes, no warnings; errors still appear' \
                '-v|--verbose'\t'Say what was done, off a terminal too' \
                '--json'\t'Print what was done as one JSON object: on standard output when it is free, else on standard error' \
                '--debug'\t'Show the traceback of an error' \
                '-h|--help'\t'Show the usual options (-h), or all of them (--help)'
            set arguments '@model' '*@model@data'
        case refit
            set options \
                '-o|--output=@any'\t'Write the model here, replacing the file in one step; - is standard output' \
                '--no-clobber'\t'Refuse to replace a file that exists' \
                '--align-to=@model'\t'Give components the signs that they have in this older model, and nearly equal ones its order' \
                '-k|--components=all ratio eigenvalue kaiser broken-stick elbow parallel parallel-95 mle gavish-donoho marchenko-pastur cross-validation'\t'How many components: a number, a share of the variance, all, or a rule, as in fit' \
                '-s|--standardize|--no-standardize'\t'Divide each column by its standard deviation, or do not' \
                '--center|--no-center'\t'Subtract the column means, or do not' \
                '--ddof=0 1'\t'Divide by n (0) or by n - 1 (1)' \
                '--whiten=none pca zca'\t'Scores of variance 1: pca, or turned back to the original columns: zca' \
                '--epsilon='\t'Whitening divides by the root of eigenvalue + E; 0 is allowed' \
                '*-c|--columns='\t'Keep these columns of the model only: names, 1-based numbers, ranges (a-c, 3-), globs, comma-separated; repeatable' \
                '*-x|--exclude='\t'Drop these columns; same terms; repeatable' \
                '-q|--quiet'\t'No notes, no warnings; errors still appear' \
                '-v|--verbose'\t'Say what was done, off a terminal too' \
                '--json'\t'Print what was done as one JSON object: on standard output when it is free, else on standard error' \
                '--debug'\t'Show the traceback of an error' \
                '-h|--help'\t'Show the usual options (-h), or all of them (--help)'
            set arguments '@model'
        case completion
            set options \
                '-h|--help'\t'Show the usual options (-h), or all of them (--help)'
            set arguments 'bash zsh fish powershell'
        case help
            set options \
                '-h|--help'\t'Show the usual options (-h), or all of them (--help)'
            set arguments 'cluster coming-from files how-many limits methods missing models numbers oddities pictures python recipes tables unattended fit transform reconstruct explain-variance scree components plot report inspect diff update merge subtract refit completion help'
    end
end

function __pcatool_commands
    printf '%s\n' \
            'fit'\t'Fit a model to the rows of a table and save it' \
            'transform'\t'Project rows onto a model: scores PC1, PC2, ...' \
            'reconstruct'\t'Come back from scores to rows in original units' \
            'explain-variance'\t'Print what each number of components keeps' \
            'scree'\t'Draw the eigenvalues and what they add up to' \
            'components'\t'Show what the components are made of, or draw them' \
            'plot'\t'Draw scores of rows, loadings of columns, or both' \
            'report'\t'Show a model, and rows, on a page to look at in a browser' \
            'inspect'\t'Tell in plain words what is in a model file' \
            'diff'\t'Tell what has changed from one model to another' \
            'update'\t'Add new rows to a model, without the old ones' \
            'merge'\t'Make one model of the rows of several, without the rows' \
            'subtract'\t'Take rows back out of a model, as for a sliding window' \
            'refit'\t'Fit a model otherwise, without its rows' \
            'completion'\t'Print the script by which a shell completes pcatool' \
            'help'\t'Show a help topic, or list the topics'
end

# Folders, and the files of the kinds wanted.
function __pcatool_files --argument-names kinds text before
    if string match -q '*@any*' -- $kinds
        set -l names (__fish_complete_path $text)
        printf '%s\n' $before$names
        return
    end
    set -l home (string match -r '^~(?=/)' -- $text)
    set -l real (string replace -r '^~(?=/)' "$HOME" -- $text)
    set -l endings
    string match -q '*@model*' -- $kinds; and set -a endings '\.npz'
    string match -q '*@data*' -- $kinds; and set -a endings '(?i:(?:\.parquet|\.pq|\.tsv|\.tab|\.csv|\.txt)(?:\.gz|\.bz2|\.zst|\.zstd)?)'
    set -l folders $real*/
    set -l names $real*
    set names $folders (string match -r '.*(?:'(string join '|' $endings)')$' -- $names)
    set -q names[1]; or return
    if test -n "$home"
        set names '~'(string sub -s (math (string length -- "$HOME") + 1) -- $names)
    end
    printf '%s\n' $before$names
end

function __pcatool_value --argument-names wanted text before
    switch $wanted
        case ''
        case '@*'
            __pcatool_files $wanted "$text" "$before"
        case '+*'
            set -l typed (string match -r '.*,' -- $text)
            for word in (string split ' ' -- (string sub -s 2 -- $wanted))
                string match -q "*,$word,*" -- ",$typed"; or printf '%s\n' $before"$typed"$word
            end
        case '*'
            printf '%s\n' $before(string split ' ' -- $wanted)
    end
end

# The entry of the option that has this name.
function __pcatool_find --no-scope-shadowing
    set found (string match -r -- '^\*?(?:[^=\t]*\|)?'$argv[1]'[|=\t].*' $options)
end

# An option as it was given, or several letters in one word: notes it, and whether its value comes next.
function __pcatool_take --no-scope-shadowing
    if string match -q -- '--*' $argv[1]
        __pcatool_find (string replace -r '=.*' '' -- $argv[1]); or return
        set -a given $found
        string match -q '*=*' -- $argv[1]; and return
        set pending (string replace -rf '^[^\t=]*=(.*)\t.*$' '$1' -- $found)
        return
    end
    set -l letters (string split '' -- (string sub -s 2 -- $argv[1]))
    while set -q letters[1]
        __pcatool_find "-$letters[1]"; or return
        set -a given $found
        set -e letters[1]
        if string match -rq '^[^\t=]*=' -- $found
            set -q letters[1]; or set pending (string replace -rf '^[^\t=]*=(.*)\t.*$' '$1' -- $found)
            return
        end
    end
end

# The names of options that can still be given.
function __pcatool_flags --no-scope-shadowing
    for option in $given
        set -l at (contains -i -- $option $options)
        and not string match -q '\**' -- $option
        and set -e options[$at]
    end
    while set -q options[1] # the first name of each, then the next of those that have one more
        string replace -r '^\*?([^|=\t]+)[^\t]*' '$1' -- $options
        set options (string replace -rf '^\*?[^|=\t]+\|' '' -- $options)
    end
end

# What was typed of the word at the cursor, without its quotes.
function __pcatool_typed
    set -l token (commandline -ct)
    string unescape -- "$token"; or string unescape -- "$token'"; or string unescape -- "$token\""; or echo -- $token
end

function __pcatool
    set -l words (commandline -opc)
    set -l current (__pcatool_typed)
    set -l options
    set -l arguments
    set -l found
    set -l given
    set -l pending
    set -l command
    set -l ended
    set -l place 1
    while set -q words[2]; and string match -rq '^\w+=|^(command|env|sudo)$' -- $words[1]
        set -e words[1]
    end
    __pcatool_of ''
    for word in $words[2..]
        if set -q pending[1]
            set pending
        else if test -z "$ended"; and string match -q -- -- $word
            set ended 1
        else if test -z "$ended"; and string match -q -- '-?*' $word
            __pcatool_take $word
        else if test -z "$command"
            set command $word
            set given
            __pcatool_of $command
        else
            set place (math $place + 1)
        end
    end
    if set -q pending[1]
        __pcatool_value "$pending" "$current" ''
    else if test -z "$ended"; and string match -q -- '--*=*' $current
        set -l both (string split -m1 = -- $current)
        __pcatool_find $both[1]; and string match -rq '^[^\t=]*=' -- $found
        and __pcatool_value (string replace -rf '^[^\t=]*=(.*)\t.*$' '$1' -- $found) "$both[2]" "$both[1]="
    else if test -z "$ended"; and string match -q -- '-*' $current
        __pcatool_flags
    else if test -z "$command"
        __pcatool_commands
    else if set -q arguments[1]
        if test $place -gt (count $arguments)
            string match -q '\**' -- $arguments[-1]; or return
            set place (count $arguments)
        end
        __pcatool_value (string replace -r '^\*' '' -- $arguments[$place]) "$current" ''
    end
end

complete -c pcatool -e
complete -c pcatool -f -k -a '(__pcatool)'
