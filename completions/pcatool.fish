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
                '-h|--help'\t'Show the usual options (-h) or all options (--help)'
            set arguments
        case fit
            set options \
                '-o|--output=@any'\t'File for the model' \
                '--no-clobber'\t'Refuse to replace a file that exists' \
                '--plan'\t'Do not fit, but print a plan: the solver and the reason for it, the number of passes over the rows, where the rows would be stored between passes, and the memory that the fit would need' \
                '--scores=@any'\t'Also write the scores of the fitted rows to this file, as transform does; - is standard output' \
                '*--keep='\t'With --scores: copy these input columns to the output, before the scores' \
                '--keep-all'\t'With --scores: copy all input columns to the output' \
                '*-c|--columns='\t'Use only these columns' \
                '*-x|--exclude='\t'Leave out these columns, such as ids' \
                '--input-format=parquet tsv csv'\t'Format of the input' \
                '-d|--delimiter=tab comma semicolon pipe space blanks'\t'Field separator: one character, or one of the words tab, comma, semicolon, pipe, space and blanks (any number of spaces or tabs)' \
                '--header|--no-header'\t'--header: the first line contains the column names' \
                '--row-names'\t'The first field of each line is the name of the row, not a feature, as in tables of R and pandas' \
                '*--null-value='\t'Cells with this text count as missing, too; repeatable' \
                '--encoding=utf-8 latin-1 cp1252 utf-16'\t'Character encoding of text' \
                '--comment='\t'Ignore this character and the rest of its line, except inside quotes' \
                '--decimal=. ,'\t'Decimal mark' \
                '--thousands='\t'Thousands mark inside numbers' \
                '--strip='\t'Remove these characters before and after numbers, such as \'$\' or \'%\'; the numbers are not rescaled' \
                '--skip-lines='\t'Skip the first N lines of each input' \
                '--skip-bad'\t'Skip each file that cannot be read, is damaged, lacks a column or has a bad cell' \
                '--triples='\t'Read an input that has one line for each cell' \
                '--absent=missing zero'\t'With --triples: value of the cells that have no line. missing: no value; zero: 0, for counts such as words of documents' \
                '*--label='\t'Label columns; excluded from the features' \
                '--label-kernel=delta linear rbf'\t'Similarity of two labels. delta: 1 if they are equal, else 0; linear: their product; rbf: exp(-gamma |y - y\'|^2) for labels y and y\'' \
                '--label-gamma='\t'Coefficient gamma of --label-kernel rbf' \
                '--kernel=rbf linear polynomial sigmoid laplacian cosine precomputed mds isomap lle laplacian-eigenmap'\t'Kernel, the similarity of two rows: rbf, linear, polynomial, sigmoid, laplacian, cosine, precomputed, mds, isomap, lle, laplacian-eigenmap' \
                '--gamma='\t'Coefficient gamma of the rbf, polynomial, sigmoid and laplacian kernels' \
                '--degree='\t'Degree of the polynomial kernel' \
                '--coef0='\t'Constant term of the polynomial and sigmoid kernels' \
                '--neighbors|--neighbours='\t'Number of neighbours of each row in the isomap, lle and laplacian-eigenmap kernels' \
                '--landmarks='\t'Approximate the kernel from M random rows (Nystroem)' \
                '-k|--components=all ratio eigenvalue kaiser broken-stick elbow parallel parallel-95 mle gavish-donoho marchenko-pastur cross-validation'\t'Number of components: a whole number such as 10, all, a share of the variance such as 0.95 (the fewest components that keep this share), or a rule: ratio, eigenvalue, kaiser, broken-stick, elbow, parallel, parallel-95, mle, gavish-donoho, marchenko-pastur, cross-validation' \
                '-s|--standardize'\t'Divide each column by its standard deviation' \
                '--center|--no-center'\t'Whether to subtract the column means' \
                '--center-rows'\t'Subtract the mean of each row from the row, before anything else; for images' \
                '--ddof=0 1'\t'Divisor of variances. 0: n; 1: n - 1, as in scikit-learn and R' \
                '--method=pca kernel supervised'\t'Method of the fit. pca: linear PCA; kernel: kernel PCA; supervised: directions that depend most on labels' \
                '--solver=auto covariance tsqr svd dual randomized'\t'Algorithm for the eigenvalues; -v prints which solver was used, and why' \
                '--eigenvalues=auto all kept'\t'Eigenvalues to compute and to store. auto: all of them if there are at most 1,000, else as many as -k needs. all: all of them; scree --rules needs this. kept: store only those of the kept components' \
                '--whiten=none pca zca'\t'Whitening. pca: scale the scores to variance 1; zca: also rotate them back to the original columns' \
                '--epsilon='\t'With --whiten: divide each score by sqrt(eigenvalue + E); E may be 0' \
                '--missing=error drop mean em'\t'Treatment of rows with missing cells. error: end with an error; drop: leave these rows out, with a warning; mean: fill the cells with the column means; em: fit the observed cells (probabilistic PCA)' \
                '--weights='\t'Column of row weights; excluded from the features' \
                '--weights-kind=frequency reliability'\t'Meaning of a weight. frequency: how often the row occurs; reliability: how precise the row is' \
                '--updatable|--no-updatable'\t'Whether to store sums over the rows in the model' \
                '--seed='\t'Random seed' \
                '--memory='\t'Memory that a fit may use, such as 2GB; every fit needs about 100 MB or more' \
                '--align-to=@model'\t'Older model, such as last night\'s' \
                '--threads='\t'Number of threads that read, compute and format; the results are the same for every N' \
                '--engine=threads dask spark'\t'Where the work runs. threads: on this machine; dask, spark: on a cluster' \
                '--scheduler='\t'Address of the cluster. dask: the scheduler, such as tcp://host:8786; spark: the master, such as spark://host:7077 or local[4]' \
                '-q|--quiet'\t'Hide notes and warnings; errors are still printed' \
                '-v|--verbose'\t'Print a summary of the run, also if standard error is not a terminal' \
                '--json'\t'Print the summary as one JSON object: on standard output if no results go there, else on standard error' \
                '--debug'\t'Show the traceback of an error' \
                '-h|--help'\t'Show the usual options (-h) or all options (--help)'
            set arguments '*@data'
        case transform
            set options \
                '--input-format=parquet tsv csv'\t'Format of the input' \
                '-d|--delimiter=tab comma semicolon pipe space blanks'\t'Field separator: one character, or one of the words tab, comma, semicolon, pipe, space and blanks (any number of spaces or tabs)' \
                '--header|--no-header'\t'--header: the first line contains the column names' \
                '--row-names'\t'The first field of each line is the name of the row, not a feature, as in tables of R and pandas' \
                '*--null-value='\t'Cells with this text count as missing, too; repeatable' \
                '--encoding=utf-8 latin-1 cp1252 utf-16'\t'Character encoding of text' \
                '--comment='\t'Ignore this character and the rest of its line, except inside quotes' \
                '--decimal=. ,'\t'Decimal mark' \
                '--thousands='\t'Thousands mark inside numbers' \
                '--strip='\t'Remove these characters before and after numbers, such as \'$\' or \'%\'; the numbers are not rescaled' \
                '--skip-lines='\t'Skip the first N lines of each input' \
                '--skip-bad'\t'Skip each file that cannot be read, is damaged, lacks a column or has a bad cell' \
                '--triples='\t'Read an input that has one line for each cell' \
                '--absent=missing zero'\t'With --triples: value of the cells that have no line. missing: no value; zero: 0, for counts such as words of documents' \
                '-k|--components='\t'Use only the first K components' \
                '--missing=error mean project em keep'\t'Treatment of rows with missing cells. error: end with an error; mean: fill the cells with the column means; project: least-squares scores of the observed cells; em: expected scores, given the observed cells; keep: leave the results of these rows empty' \
                '*--keep='\t'Copy these input columns to the output, before the results' \
                '--keep-all'\t'Copy all input columns to the output' \
                '--with-error'\t'Add a column squared_error: the squared differences between the observed cells of the row and their reconstruction, added up' \
                '--with-coverage'\t'Add a column coverage: the share of the components\' variance that lies in the observed cells of the row' \
                '-o|--output=@any'\t'Output file' \
                '--output-format=csv tsv parquet jsonl'\t'Format of the output' \
                '--output-header|--no-output-header'\t'Whether to write a header line with the column names' \
                '--float-format='\t'Format of numbers in text, such as .6g or %.3f' \
                '--no-clobber'\t'Refuse to replace a file that exists' \
                '--resume'\t'With -o DIR/: skip inputs whose output exists and is not older than the input and the model' \
                '--threads='\t'Number of threads that read, compute and format; the results are the same for every N' \
                '--engine=threads dask spark'\t'Where the work runs. threads: on this machine; dask, spark: on a cluster' \
                '--scheduler='\t'Address of the cluster. dask: the scheduler, such as tcp://host:8786; spark: the master, such as spark://host:7077 or local[4]' \
                '-q|--quiet'\t'Hide notes and warnings; errors are still printed' \
                '-v|--verbose'\t'Print a summary of the run, also if standard error is not a terminal' \
                '--json'\t'Print the summary as one JSON object: on standard output if no results go there, else on standard error' \
                '--debug'\t'Show the traceback of an error' \
                '-h|--help'\t'Show the usual options (-h) or all options (--help)'
            set arguments '@model' '*@data'
        case reconstruct
            set options \
                '--from=scores rows'\t'Content of the input' \
                '--preimage'\t'For a kernel model: approximate the rows from the scores, by a kernel ridge regression fitted to the training rows' \
                '--fill'\t'Write the original rows; replace only their missing cells' \
                '--input-format=parquet tsv csv'\t'Format of the input' \
                '-d|--delimiter=tab comma semicolon pipe space blanks'\t'Field separator: one character, or one of the words tab, comma, semicolon, pipe, space and blanks (any number of spaces or tabs)' \
                '--header|--no-header'\t'--header: the first line contains the column names' \
                '--row-names'\t'The first field of each line is the name of the row, not a feature, as in tables of R and pandas' \
                '*--null-value='\t'Cells with this text count as missing, too; repeatable' \
                '--encoding=utf-8 latin-1 cp1252 utf-16'\t'Character encoding of text' \
                '--comment='\t'Ignore this character and the rest of its line, except inside quotes' \
                '--decimal=. ,'\t'Decimal mark' \
                '--thousands='\t'Thousands mark inside numbers' \
                '--strip='\t'Remove these characters before and after numbers, such as \'$\' or \'%\'; the numbers are not rescaled' \
                '--skip-lines='\t'Skip the first N lines of each input' \
                '--skip-bad'\t'Skip each file that cannot be read, is damaged, lacks a column or has a bad cell' \
                '--triples='\t'Read an input that has one line for each cell' \
                '--absent=missing zero'\t'With --triples: value of the cells that have no line. missing: no value; zero: 0, for counts such as words of documents' \
                '-k|--components='\t'Use only the first K components' \
                '--missing=error mean project em keep'\t'Treatment of rows with missing cells. error: end with an error; mean: fill the cells with the column means; project: least-squares scores of the observed cells; em: expected scores, given the observed cells; keep: leave the results of these rows empty' \
                '*--keep='\t'Copy these input columns to the output, before the results' \
                '--keep-all'\t'Copy all input columns to the output' \
                '--with-error'\t'Add a column squared_error: the squared differences between the observed cells of the row and their reconstruction, added up' \
                '--with-coverage'\t'Add a column coverage: the share of the components\' variance that lies in the observed cells of the row' \
                '-o|--output=@any'\t'Output file' \
                '--output-format=csv tsv parquet jsonl'\t'Format of the output' \
                '--output-header|--no-output-header'\t'Whether to write a header line with the column names' \
                '--float-format='\t'Format of numbers in text, such as .6g or %.3f' \
                '--no-clobber'\t'Refuse to replace a file that exists' \
                '--resume'\t'With -o DIR/: skip inputs whose output exists and is not older than the input and the model' \
                '--threads='\t'Number of threads that read, compute and format; the results are the same for every N' \
                '--engine=threads dask spark'\t'Where the work runs. threads: on this machine; dask, spark: on a cluster' \
                '--scheduler='\t'Address of the cluster. dask: the scheduler, such as tcp://host:8786; spark: the master, such as spark://host:7077 or local[4]' \
                '-q|--quiet'\t'Hide notes and warnings; errors are still printed' \
                '-v|--verbose'\t'Print a summary of the run, also if standard error is not a terminal' \
                '--json'\t'Print the summary as one JSON object: on standard output if no results go there, else on standard error' \
                '--debug'\t'Show the traceback of an error' \
                '-h|--help'\t'Show the usual options (-h) or all options (--help)'
            set arguments '@model' '*@data'
        case explain-variance
            set options \
                '--format=table csv json markdown'\t'Format of the report' \
                '--threshold='\t'Print only the smallest number of components that keep this share of the variance' \
                '*-c|--columns='\t'Use only these columns' \
                '*-x|--exclude='\t'Leave out these columns, such as ids' \
                '--input-format=parquet tsv csv'\t'Format of the input' \
                '-d|--delimiter=tab comma semicolon pipe space blanks'\t'Field separator: one character, or one of the words tab, comma, semicolon, pipe, space and blanks (any number of spaces or tabs)' \
                '--header|--no-header'\t'--header: the first line contains the column names' \
                '--row-names'\t'The first field of each line is the name of the row, not a feature, as in tables of R and pandas' \
                '*--null-value='\t'Cells with this text count as missing, too; repeatable' \
                '--encoding=utf-8 latin-1 cp1252 utf-16'\t'Character encoding of text' \
                '--comment='\t'Ignore this character and the rest of its line, except inside quotes' \
                '--decimal=. ,'\t'Decimal mark' \
                '--thousands='\t'Thousands mark inside numbers' \
                '--strip='\t'Remove these characters before and after numbers, such as \'$\' or \'%\'; the numbers are not rescaled' \
                '--skip-lines='\t'Skip the first N lines of each input' \
                '--skip-bad'\t'Skip each file that cannot be read, is damaged, lacks a column or has a bad cell' \
                '--triples='\t'Read an input that has one line for each cell' \
                '--absent=missing zero'\t'With --triples: value of the cells that have no line. missing: no value; zero: 0, for counts such as words of documents' \
                '*--label='\t'Label columns; excluded from the features' \
                '--label-kernel=delta linear rbf'\t'Similarity of two labels. delta: 1 if they are equal, else 0; linear: their product; rbf: exp(-gamma |y - y\'|^2) for labels y and y\'' \
                '--label-gamma='\t'Coefficient gamma of --label-kernel rbf' \
                '--kernel=rbf linear polynomial sigmoid laplacian cosine precomputed mds isomap lle laplacian-eigenmap'\t'Kernel, the similarity of two rows: rbf, linear, polynomial, sigmoid, laplacian, cosine, precomputed, mds, isomap, lle, laplacian-eigenmap' \
                '--gamma='\t'Coefficient gamma of the rbf, polynomial, sigmoid and laplacian kernels' \
                '--degree='\t'Degree of the polynomial kernel' \
                '--coef0='\t'Constant term of the polynomial and sigmoid kernels' \
                '--neighbors|--neighbours='\t'Number of neighbours of each row in the isomap, lle and laplacian-eigenmap kernels' \
                '--landmarks='\t'Approximate the kernel from M random rows (Nystroem)' \
                '-k|--components=all ratio eigenvalue kaiser broken-stick elbow parallel parallel-95 mle gavish-donoho marchenko-pastur cross-validation'\t'Number of components: a whole number such as 10, all, a share of the variance such as 0.95 (the fewest components that keep this share), or a rule: ratio, eigenvalue, kaiser, broken-stick, elbow, parallel, parallel-95, mle, gavish-donoho, marchenko-pastur, cross-validation' \
                '-s|--standardize'\t'Divide each column by its standard deviation' \
                '--center|--no-center'\t'Whether to subtract the column means' \
                '--center-rows'\t'Subtract the mean of each row from the row, before anything else; for images' \
                '--ddof=0 1'\t'Divisor of variances. 0: n; 1: n - 1, as in scikit-learn and R' \
                '--method=pca kernel supervised'\t'Method of the fit. pca: linear PCA; kernel: kernel PCA; supervised: directions that depend most on labels' \
                '--solver=auto covariance tsqr svd dual randomized'\t'Algorithm for the eigenvalues; -v prints which solver was used, and why' \
                '--eigenvalues=auto all kept'\t'Eigenvalues to compute and to store. auto: all of them if there are at most 1,000, else as many as -k needs. all: all of them; scree --rules needs this. kept: store only those of the kept components' \
                '--whiten=none pca zca'\t'Whitening. pca: scale the scores to variance 1; zca: also rotate them back to the original columns' \
                '--epsilon='\t'With --whiten: divide each score by sqrt(eigenvalue + E); E may be 0' \
                '--missing=error drop mean em'\t'Treatment of rows with missing cells. error: end with an error; drop: leave these rows out, with a warning; mean: fill the cells with the column means; em: fit the observed cells (probabilistic PCA)' \
                '--weights='\t'Column of row weights; excluded from the features' \
                '--weights-kind=frequency reliability'\t'Meaning of a weight. frequency: how often the row occurs; reliability: how precise the row is' \
                '--updatable|--no-updatable'\t'Whether to store sums over the rows in the model' \
                '--seed='\t'Random seed' \
                '--memory='\t'Memory that a fit may use, such as 2GB; every fit needs about 100 MB or more' \
                '--align-to=@model'\t'Older model, such as last night\'s' \
                '--threads='\t'Number of threads that read, compute and format; the results are the same for every N' \
                '--engine=threads dask spark'\t'Where the work runs. threads: on this machine; dask, spark: on a cluster' \
                '--scheduler='\t'Address of the cluster. dask: the scheduler, such as tcp://host:8786; spark: the master, such as spark://host:7077 or local[4]' \
                '-q|--quiet'\t'Hide notes and warnings; errors are still printed' \
                '-v|--verbose'\t'Print a summary of the run, also if standard error is not a terminal' \
                '--json'\t'Print the summary as one JSON object: on standard output if no results go there, else on standard error' \
                '--debug'\t'Show the traceback of an error' \
                '-h|--help'\t'Show the usual options (-h) or all options (--help)'
            set arguments '*@model@data'
        case scree
            set options \
                '-o|--output=@any'\t'Write a picture to this file: .png, .svg or .pdf (needs matplotlib, the extra \'plot\')' \
                '--no-clobber'\t'Refuse to replace a file that exists' \
                '--format=chart table csv json markdown'\t'Print the chart, or its numbers' \
                '--rules=+all ratio eigenvalue kaiser broken-stick elbow parallel parallel-95 mle gavish-donoho marchenko-pastur cross-validation'\t'Print the number of components that each rule for -k chooses, and the number on which most rules agree; with -o, mark these numbers in the picture' \
                '--log'\t'With -o: make the axis of the eigenvalues logarithmic' \
                '--log-components'\t'With -o: make the horizontal axis, the number of the component, logarithmic' \
                '--all-components'\t'With -o: draw all components, not only the first 30' \
                '--size='\t'Width and height of the picture in inches' \
                '--dpi='\t'Pixels per inch, also for raster parts of .svg and .pdf' \
                '*-c|--columns='\t'Use only these columns' \
                '*-x|--exclude='\t'Leave out these columns, such as ids' \
                '--input-format=parquet tsv csv'\t'Format of the input' \
                '-d|--delimiter=tab comma semicolon pipe space blanks'\t'Field separator: one character, or one of the words tab, comma, semicolon, pipe, space and blanks (any number of spaces or tabs)' \
                '--header|--no-header'\t'--header: the first line contains the column names' \
                '--row-names'\t'The first field of each line is the name of the row, not a feature, as in tables of R and pandas' \
                '*--null-value='\t'Cells with this text count as missing, too; repeatable' \
                '--encoding=utf-8 latin-1 cp1252 utf-16'\t'Character encoding of text' \
                '--comment='\t'Ignore this character and the rest of its line, except inside quotes' \
                '--decimal=. ,'\t'Decimal mark' \
                '--thousands='\t'Thousands mark inside numbers' \
                '--strip='\t'Remove these characters before and after numbers, such as \'$\' or \'%\'; the numbers are not rescaled' \
                '--skip-lines='\t'Skip the first N lines of each input' \
                '--skip-bad'\t'Skip each file that cannot be read, is damaged, lacks a column or has a bad cell' \
                '--triples='\t'Read an input that has one line for each cell' \
                '--absent=missing zero'\t'With --triples: value of the cells that have no line. missing: no value; zero: 0, for counts such as words of documents' \
                '*--label='\t'Label columns; excluded from the features' \
                '--label-kernel=delta linear rbf'\t'Similarity of two labels. delta: 1 if they are equal, else 0; linear: their product; rbf: exp(-gamma |y - y\'|^2) for labels y and y\'' \
                '--label-gamma='\t'Coefficient gamma of --label-kernel rbf' \
                '--kernel=rbf linear polynomial sigmoid laplacian cosine precomputed mds isomap lle laplacian-eigenmap'\t'Kernel, the similarity of two rows: rbf, linear, polynomial, sigmoid, laplacian, cosine, precomputed, mds, isomap, lle, laplacian-eigenmap' \
                '--gamma='\t'Coefficient gamma of the rbf, polynomial, sigmoid and laplacian kernels' \
                '--degree='\t'Degree of the polynomial kernel' \
                '--coef0='\t'Constant term of the polynomial and sigmoid kernels' \
                '--neighbors|--neighbours='\t'Number of neighbours of each row in the isomap, lle and laplacian-eigenmap kernels' \
                '--landmarks='\t'Approximate the kernel from M random rows (Nystroem)' \
                '-k|--components=all ratio eigenvalue kaiser broken-stick elbow parallel parallel-95 mle gavish-donoho marchenko-pastur cross-validation'\t'Number of components: a whole number such as 10, all, a share of the variance such as 0.95 (the fewest components that keep this share), or a rule: ratio, eigenvalue, kaiser, broken-stick, elbow, parallel, parallel-95, mle, gavish-donoho, marchenko-pastur, cross-validation' \
                '-s|--standardize'\t'Divide each column by its standard deviation' \
                '--center|--no-center'\t'Whether to subtract the column means' \
                '--center-rows'\t'Subtract the mean of each row from the row, before anything else; for images' \
                '--ddof=0 1'\t'Divisor of variances. 0: n; 1: n - 1, as in scikit-learn and R' \
                '--method=pca kernel supervised'\t'Method of the fit. pca: linear PCA; kernel: kernel PCA; supervised: directions that depend most on labels' \
                '--solver=auto covariance tsqr svd dual randomized'\t'Algorithm for the eigenvalues; -v prints which solver was used, and why' \
                '--eigenvalues=auto all kept'\t'Eigenvalues to compute and to store. auto: all of them if there are at most 1,000, else as many as -k needs. all: all of them; scree --rules needs this. kept: store only those of the kept components' \
                '--whiten=none pca zca'\t'Whitening. pca: scale the scores to variance 1; zca: also rotate them back to the original columns' \
                '--epsilon='\t'With --whiten: divide each score by sqrt(eigenvalue + E); E may be 0' \
                '--missing=error drop mean em'\t'Treatment of rows with missing cells. error: end with an error; drop: leave these rows out, with a warning; mean: fill the cells with the column means; em: fit the observed cells (probabilistic PCA)' \
                '--weights='\t'Column of row weights; excluded from the features' \
                '--weights-kind=frequency reliability'\t'Meaning of a weight. frequency: how often the row occurs; reliability: how precise the row is' \
                '--updatable|--no-updatable'\t'Whether to store sums over the rows in the model' \
                '--seed='\t'Random seed' \
                '--memory='\t'Memory that a fit may use, such as 2GB; every fit needs about 100 MB or more' \
                '--align-to=@model'\t'Older model, such as last night\'s' \
                '--threads='\t'Number of threads that read, compute and format; the results are the same for every N' \
                '--engine=threads dask spark'\t'Where the work runs. threads: on this machine; dask, spark: on a cluster' \
                '--scheduler='\t'Address of the cluster. dask: the scheduler, such as tcp://host:8786; spark: the master, such as spark://host:7077 or local[4]' \
                '-q|--quiet'\t'Hide notes and warnings; errors are still printed' \
                '-v|--verbose'\t'Print a summary of the run, also if standard error is not a terminal' \
                '--json'\t'Print the summary as one JSON object: on standard output if no results go there, else on standard error' \
                '--debug'\t'Show the traceback of an error' \
                '-h|--help'\t'Show the usual options (-h) or all options (--help)'
            set arguments '*@model@data'
        case components
            set options \
                '-o|--output=@any'\t'File for the numbers; with --image, file for the picture: .png, .svg or .pdf (needs matplotlib, the extra \'plot\')' \
                '--no-clobber'\t'Refuse to replace a file that exists' \
                '--values=+loadings correlations contributions cos2'\t'Values to show for each column and component, separated by commas. loadings: weight of the column; correlations: correlation of the column with the scores; contributions: share of the column in the component, in per cent; cos2: share of the component in the column\'s variance' \
                '--first='\t'Show only the first K components' \
                '--image='\t'With -o: draw the mean and the components as images' \
                '--format=table csv json markdown'\t'Format of the numbers' \
                '--size='\t'Width and height of the picture in inches' \
                '--dpi='\t'Pixels per inch, also for raster parts of .svg and .pdf' \
                '*-c|--columns='\t'Use only these columns' \
                '*-x|--exclude='\t'Leave out these columns, such as ids' \
                '--input-format=parquet tsv csv'\t'Format of the input' \
                '-d|--delimiter=tab comma semicolon pipe space blanks'\t'Field separator: one character, or one of the words tab, comma, semicolon, pipe, space and blanks (any number of spaces or tabs)' \
                '--header|--no-header'\t'--header: the first line contains the column names' \
                '--row-names'\t'The first field of each line is the name of the row, not a feature, as in tables of R and pandas' \
                '*--null-value='\t'Cells with this text count as missing, too; repeatable' \
                '--encoding=utf-8 latin-1 cp1252 utf-16'\t'Character encoding of text' \
                '--comment='\t'Ignore this character and the rest of its line, except inside quotes' \
                '--decimal=. ,'\t'Decimal mark' \
                '--thousands='\t'Thousands mark inside numbers' \
                '--strip='\t'Remove these characters before and after numbers, such as \'$\' or \'%\'; the numbers are not rescaled' \
                '--skip-lines='\t'Skip the first N lines of each input' \
                '--skip-bad'\t'Skip each file that cannot be read, is damaged, lacks a column or has a bad cell' \
                '--triples='\t'Read an input that has one line for each cell' \
                '--absent=missing zero'\t'With --triples: value of the cells that have no line. missing: no value; zero: 0, for counts such as words of documents' \
                '*--label='\t'Label columns; excluded from the features' \
                '--label-kernel=delta linear rbf'\t'Similarity of two labels. delta: 1 if they are equal, else 0; linear: their product; rbf: exp(-gamma |y - y\'|^2) for labels y and y\'' \
                '--label-gamma='\t'Coefficient gamma of --label-kernel rbf' \
                '--kernel=rbf linear polynomial sigmoid laplacian cosine precomputed mds isomap lle laplacian-eigenmap'\t'Kernel, the similarity of two rows: rbf, linear, polynomial, sigmoid, laplacian, cosine, precomputed, mds, isomap, lle, laplacian-eigenmap' \
                '--gamma='\t'Coefficient gamma of the rbf, polynomial, sigmoid and laplacian kernels' \
                '--degree='\t'Degree of the polynomial kernel' \
                '--coef0='\t'Constant term of the polynomial and sigmoid kernels' \
                '--neighbors|--neighbours='\t'Number of neighbours of each row in the isomap, lle and laplacian-eigenmap kernels' \
                '--landmarks='\t'Approximate the kernel from M random rows (Nystroem)' \
                '-k|--components=all ratio eigenvalue kaiser broken-stick elbow parallel parallel-95 mle gavish-donoho marchenko-pastur cross-validation'\t'Number of components: a whole number such as 10, all, a share of the variance such as 0.95 (the fewest components that keep this share), or a rule: ratio, eigenvalue, kaiser, broken-stick, elbow, parallel, parallel-95, mle, gavish-donoho, marchenko-pastur, cross-validation' \
                '-s|--standardize'\t'Divide each column by its standard deviation' \
                '--center|--no-center'\t'Whether to subtract the column means' \
                '--center-rows'\t'Subtract the mean of each row from the row, before anything else; for images' \
                '--ddof=0 1'\t'Divisor of variances. 0: n; 1: n - 1, as in scikit-learn and R' \
                '--method=pca kernel supervised'\t'Method of the fit. pca: linear PCA; kernel: kernel PCA; supervised: directions that depend most on labels' \
                '--solver=auto covariance tsqr svd dual randomized'\t'Algorithm for the eigenvalues; -v prints which solver was used, and why' \
                '--eigenvalues=auto all kept'\t'Eigenvalues to compute and to store. auto: all of them if there are at most 1,000, else as many as -k needs. all: all of them; scree --rules needs this. kept: store only those of the kept components' \
                '--whiten=none pca zca'\t'Whitening. pca: scale the scores to variance 1; zca: also rotate them back to the original columns' \
                '--epsilon='\t'With --whiten: divide each score by sqrt(eigenvalue + E); E may be 0' \
                '--missing=error drop mean em'\t'Treatment of rows with missing cells. error: end with an error; drop: leave these rows out, with a warning; mean: fill the cells with the column means; em: fit the observed cells (probabilistic PCA)' \
                '--weights='\t'Column of row weights; excluded from the features' \
                '--weights-kind=frequency reliability'\t'Meaning of a weight. frequency: how often the row occurs; reliability: how precise the row is' \
                '--updatable|--no-updatable'\t'Whether to store sums over the rows in the model' \
                '--seed='\t'Random seed' \
                '--memory='\t'Memory that a fit may use, such as 2GB; every fit needs about 100 MB or more' \
                '--align-to=@model'\t'Older model, such as last night\'s' \
                '--threads='\t'Number of threads that read, compute and format; the results are the same for every N' \
                '--engine=threads dask spark'\t'Where the work runs. threads: on this machine; dask, spark: on a cluster' \
                '--scheduler='\t'Address of the cluster. dask: the scheduler, such as tcp://host:8786; spark: the master, such as spark://host:7077 or local[4]' \
                '-q|--quiet'\t'Hide notes and warnings; errors are still printed' \
                '-v|--verbose'\t'Print a summary of the run, also if standard error is not a terminal' \
                '--json'\t'Print the summary as one JSON object: on standard output if no results go there, else on standard error' \
                '--debug'\t'Show the traceback of an error' \
                '-h|--help'\t'Show the usual options (-h) or all options (--help)'
            set arguments '*@model@data'
        case plot
            set options \
                '-o|--output=@any'\t'File for the picture (.png, .svg or .pdf; needs matplotlib, the extra \'plot\'), or for the table of --format' \
                '--no-clobber'\t'Refuse to replace a file that exists' \
                '--format=picture table csv json markdown'\t'Draw the picture, or write its numbers as a table' \
                '--axes='\t'Components to draw: one or two for scores, two for biplot, any number for loadings' \
                '--color='\t'Colour the rows by this column' \
                '--scaling=rows columns'\t'Scaling of a biplot. rows: distances between points show distances between rows; columns: angles between arrows show correlations of columns' \
                '--from=scores rows'\t'Content of the input' \
                '--size='\t'Width and height of the picture in inches' \
                '--dpi='\t'Pixels per inch, also for raster parts of .svg and .pdf' \
                '*-c|--columns='\t'Use only these columns' \
                '*-x|--exclude='\t'Leave out these columns, such as ids' \
                '--input-format=parquet tsv csv'\t'Format of the input' \
                '-d|--delimiter=tab comma semicolon pipe space blanks'\t'Field separator: one character, or one of the words tab, comma, semicolon, pipe, space and blanks (any number of spaces or tabs)' \
                '--header|--no-header'\t'--header: the first line contains the column names' \
                '--row-names'\t'The first field of each line is the name of the row, not a feature, as in tables of R and pandas' \
                '*--null-value='\t'Cells with this text count as missing, too; repeatable' \
                '--encoding=utf-8 latin-1 cp1252 utf-16'\t'Character encoding of text' \
                '--comment='\t'Ignore this character and the rest of its line, except inside quotes' \
                '--decimal=. ,'\t'Decimal mark' \
                '--thousands='\t'Thousands mark inside numbers' \
                '--strip='\t'Remove these characters before and after numbers, such as \'$\' or \'%\'; the numbers are not rescaled' \
                '--skip-lines='\t'Skip the first N lines of each input' \
                '--skip-bad'\t'Skip each file that cannot be read, is damaged, lacks a column or has a bad cell' \
                '--triples='\t'Read an input that has one line for each cell' \
                '--absent=missing zero'\t'With --triples: value of the cells that have no line. missing: no value; zero: 0, for counts such as words of documents' \
                '*--label='\t'Label columns; excluded from the features' \
                '--label-kernel=delta linear rbf'\t'Similarity of two labels. delta: 1 if they are equal, else 0; linear: their product; rbf: exp(-gamma |y - y\'|^2) for labels y and y\'' \
                '--label-gamma='\t'Coefficient gamma of --label-kernel rbf' \
                '--kernel=rbf linear polynomial sigmoid laplacian cosine precomputed mds isomap lle laplacian-eigenmap'\t'Kernel, the similarity of two rows: rbf, linear, polynomial, sigmoid, laplacian, cosine, precomputed, mds, isomap, lle, laplacian-eigenmap' \
                '--gamma='\t'Coefficient gamma of the rbf, polynomial, sigmoid and laplacian kernels' \
                '--degree='\t'Degree of the polynomial kernel' \
                '--coef0='\t'Constant term of the polynomial and sigmoid kernels' \
                '--neighbors|--neighbours='\t'Number of neighbours of each row in the isomap, lle and laplacian-eigenmap kernels' \
                '--landmarks='\t'Approximate the kernel from M random rows (Nystroem)' \
                '-k|--components=all ratio eigenvalue kaiser broken-stick elbow parallel parallel-95 mle gavish-donoho marchenko-pastur cross-validation'\t'Number of components: a whole number such as 10, all, a share of the variance such as 0.95 (the fewest components that keep this share), or a rule: ratio, eigenvalue, kaiser, broken-stick, elbow, parallel, parallel-95, mle, gavish-donoho, marchenko-pastur, cross-validation' \
                '-s|--standardize'\t'Divide each column by its standard deviation' \
                '--center|--no-center'\t'Whether to subtract the column means' \
                '--center-rows'\t'Subtract the mean of each row from the row, before anything else; for images' \
                '--ddof=0 1'\t'Divisor of variances. 0: n; 1: n - 1, as in scikit-learn and R' \
                '--method=pca kernel supervised'\t'Method of the fit. pca: linear PCA; kernel: kernel PCA; supervised: directions that depend most on labels' \
                '--solver=auto covariance tsqr svd dual randomized'\t'Algorithm for the eigenvalues; -v prints which solver was used, and why' \
                '--eigenvalues=auto all kept'\t'Eigenvalues to compute and to store. auto: all of them if there are at most 1,000, else as many as -k needs. all: all of them; scree --rules needs this. kept: store only those of the kept components' \
                '--whiten=none pca zca'\t'Whitening. pca: scale the scores to variance 1; zca: also rotate them back to the original columns' \
                '--epsilon='\t'With --whiten: divide each score by sqrt(eigenvalue + E); E may be 0' \
                '--missing=error drop mean em'\t'Treatment of rows with missing cells. error: end with an error; drop: leave these rows out, with a warning; mean: fill the cells with the column means; em: fit the observed cells (probabilistic PCA)' \
                '--weights='\t'Column of row weights; excluded from the features' \
                '--weights-kind=frequency reliability'\t'Meaning of a weight. frequency: how often the row occurs; reliability: how precise the row is' \
                '--updatable|--no-updatable'\t'Whether to store sums over the rows in the model' \
                '--seed='\t'Random seed' \
                '--memory='\t'Memory that a fit may use, such as 2GB; every fit needs about 100 MB or more' \
                '--align-to=@model'\t'Older model, such as last night\'s' \
                '--threads='\t'Number of threads that read, compute and format; the results are the same for every N' \
                '--engine=threads dask spark'\t'Where the work runs. threads: on this machine; dask, spark: on a cluster' \
                '--scheduler='\t'Address of the cluster. dask: the scheduler, such as tcp://host:8786; spark: the master, such as spark://host:7077 or local[4]' \
                '-q|--quiet'\t'Hide notes and warnings; errors are still printed' \
                '-v|--verbose'\t'Print a summary of the run, also if standard error is not a terminal' \
                '--json'\t'Print the summary as one JSON object: on standard output if no results go there, else on standard error' \
                '--debug'\t'Show the traceback of an error' \
                '-h|--help'\t'Show the usual options (-h) or all options (--help)'
            set arguments 'scores loadings biplot' '*@model@data'
        case report
            set options \
                '-o|--output=@any'\t'File for the page' \
                '--no-clobber'\t'Refuse to replace a file that exists' \
                '--color='\t'Colour the scores by this input column' \
                '--axes='\t'Components whose scores are drawn at first, such as 1,3; the page can also show other components' \
                '--image='\t'Also show the mean and the components as images' \
                '--first='\t'Show only the first K components in loadings, scores and images' \
                '--input-format=parquet tsv csv'\t'Format of the input' \
                '-d|--delimiter=tab comma semicolon pipe space blanks'\t'Field separator: one character, or one of the words tab, comma, semicolon, pipe, space and blanks (any number of spaces or tabs)' \
                '--header|--no-header'\t'--header: the first line contains the column names' \
                '--row-names'\t'The first field of each line is the name of the row, not a feature, as in tables of R and pandas' \
                '*--null-value='\t'Cells with this text count as missing, too; repeatable' \
                '--encoding=utf-8 latin-1 cp1252 utf-16'\t'Character encoding of text' \
                '--comment='\t'Ignore this character and the rest of its line, except inside quotes' \
                '--decimal=. ,'\t'Decimal mark' \
                '--thousands='\t'Thousands mark inside numbers' \
                '--strip='\t'Remove these characters before and after numbers, such as \'$\' or \'%\'; the numbers are not rescaled' \
                '--skip-lines='\t'Skip the first N lines of each input' \
                '--skip-bad'\t'Skip each file that cannot be read, is damaged, lacks a column or has a bad cell' \
                '--triples='\t'Read an input that has one line for each cell' \
                '--absent=missing zero'\t'With --triples: value of the cells that have no line. missing: no value; zero: 0, for counts such as words of documents' \
                '-k|--components='\t'Use only the first K components' \
                '--missing=error mean project em keep'\t'Treatment of rows with missing cells. error: end with an error; mean: fill the cells with the column means; project: least-squares scores of the observed cells; em: expected scores, given the observed cells; keep: leave the results of these rows empty' \
                '*--keep='\t'Copy these input columns to the output, before the results' \
                '--keep-all'\t'Copy all input columns to the output' \
                '--with-error'\t'Add a column squared_error: the squared differences between the observed cells of the row and their reconstruction, added up' \
                '--with-coverage'\t'Add a column coverage: the share of the components\' variance that lies in the observed cells of the row' \
                '--threads='\t'Number of threads that read, compute and format; the results are the same for every N' \
                '-q|--quiet'\t'Hide notes and warnings; errors are still printed' \
                '-v|--verbose'\t'Print a summary of the run, also if standard error is not a terminal' \
                '--json'\t'Print the summary as one JSON object: on standard output if no results go there, else on standard error' \
                '--debug'\t'Show the traceback of an error' \
                '-h|--help'\t'Show the usual options (-h) or all options (--help)'
            set arguments '@model' '*@data'
        case inspect
            set options \
                '-q|--quiet'\t'Hide notes and warnings; errors are still printed' \
                '-v|--verbose'\t'Print every column and every component' \
                '--json'\t'Print the summary as one JSON object: on standard output if no results go there, else on standard error' \
                '--debug'\t'Show the traceback of an error' \
                '-h|--help'\t'Show the usual options (-h) or all options (--help)'
            set arguments '@model'
        case diff
            set options \
                '--format=text csv json markdown'\t'Format of the report. text: sentences and tables; csv, json, markdown: one table with a row for each comparison and the columns what, name, a, b, change' \
                '-q|--quiet'\t'Hide notes and warnings; errors are still printed' \
                '-v|--verbose'\t'Print all columns, also those that changed least' \
                '--json'\t'Print the summary as one JSON object: on standard output if no results go there, else on standard error' \
                '--debug'\t'Show the traceback of an error' \
                '-h|--help'\t'Show the usual options (-h) or all options (--help)'
            set arguments '@model' '@model'
        case update
            set options \
                '-o|--output=@any'\t'File for the model' \
                '--no-clobber'\t'Refuse to replace a file that exists' \
                '--input-format=parquet tsv csv'\t'Format of the input' \
                '-d|--delimiter=tab comma semicolon pipe space blanks'\t'Field separator: one character, or one of the words tab, comma, semicolon, pipe, space and blanks (any number of spaces or tabs)' \
                '--header|--no-header'\t'--header: the first line contains the column names' \
                '--row-names'\t'The first field of each line is the name of the row, not a feature, as in tables of R and pandas' \
                '*--null-value='\t'Cells with this text count as missing, too; repeatable' \
                '--encoding=utf-8 latin-1 cp1252 utf-16'\t'Character encoding of text' \
                '--comment='\t'Ignore this character and the rest of its line, except inside quotes' \
                '--decimal=. ,'\t'Decimal mark' \
                '--thousands='\t'Thousands mark inside numbers' \
                '--strip='\t'Remove these characters before and after numbers, such as \'$\' or \'%\'; the numbers are not rescaled' \
                '--skip-lines='\t'Skip the first N lines of each input' \
                '--skip-bad'\t'Skip each file that cannot be read, is damaged, lacks a column or has a bad cell' \
                '--align-to=@model'\t'Older model' \
                '--missing=error drop'\t'Treatment of rows with missing cells. error: end with an error; drop: leave these rows out, with a warning' \
                '--threads='\t'Number of threads that read, compute and format; the results are the same for every N' \
                '--engine=threads dask spark'\t'Where the work runs. threads: on this machine; dask, spark: on a cluster' \
                '--scheduler='\t'Address of the cluster. dask: the scheduler, such as tcp://host:8786; spark: the master, such as spark://host:7077 or local[4]' \
                '-q|--quiet'\t'Hide notes and warnings; errors are still printed' \
                '-v|--verbose'\t'Print a summary of the run, also if standard error is not a terminal' \
                '--json'\t'Print the summary as one JSON object: on standard output if no results go there, else on standard error' \
                '--debug'\t'Show the traceback of an error' \
                '-h|--help'\t'Show the usual options (-h) or all options (--help)'
            set arguments '@model' '*@data'
        case merge
            set options \
                '-o|--output=@any'\t'File for the model' \
                '--no-clobber'\t'Refuse to replace a file that exists' \
                '--align-to=@model'\t'Older model' \
                '-q|--quiet'\t'Hide notes and warnings; errors are still printed' \
                '-v|--verbose'\t'Print a summary of the run, also if standard error is not a terminal' \
                '--json'\t'Print the summary as one JSON object: on standard output if no results go there, else on standard error' \
                '--debug'\t'Show the traceback of an error' \
                '-h|--help'\t'Show the usual options (-h) or all options (--help)'
            set arguments '*@model'
        case subtract
            set options \
                '-o|--output=@any'\t'File for the model' \
                '--no-clobber'\t'Refuse to replace a file that exists' \
                '--input-format=parquet tsv csv'\t'Format of the input' \
                '-d|--delimiter=tab comma semicolon pipe space blanks'\t'Field separator: one character, or one of the words tab, comma, semicolon, pipe, space and blanks (any number of spaces or tabs)' \
                '--header|--no-header'\t'--header: the first line contains the column names' \
                '--row-names'\t'The first field of each line is the name of the row, not a feature, as in tables of R and pandas' \
                '*--null-value='\t'Cells with this text count as missing, too; repeatable' \
                '--encoding=utf-8 latin-1 cp1252 utf-16'\t'Character encoding of text' \
                '--comment='\t'Ignore this character and the rest of its line, except inside quotes' \
                '--decimal=. ,'\t'Decimal mark' \
                '--thousands='\t'Thousands mark inside numbers' \
                '--strip='\t'Remove these characters before and after numbers, such as \'$\' or \'%\'; the numbers are not rescaled' \
                '--skip-lines='\t'Skip the first N lines of each input' \
                '--skip-bad'\t'Skip each file that cannot be read, is damaged, lacks a column or has a bad cell' \
                '--align-to=@model'\t'Older model' \
                '--missing=error drop'\t'Treatment of rows with missing cells. error: end with an error; drop: leave these rows out, with a warning' \
                '--threads='\t'Number of threads that read, compute and format; the results are the same for every N' \
                '--engine=threads dask spark'\t'Where the work runs. threads: on this machine; dask, spark: on a cluster' \
                '--scheduler='\t'Address of the cluster. dask: the scheduler, such as tcp://host:8786; spark: the master, such as spark://host:7077 or local[4]' \
                '-q|--quiet'\t'Hide notes and warnings; errors are still printed' \
                '-v|--verbose'\t'Print a summary of the run, also if standard error is not a terminal' \
                '--json'\t'Print the summary as one JSON object: on standard output if no results go there, else on standard error' \
                '--debug'\t'Show the traceback of an error' \
                '-h|--help'\t'Show the usual options (-h) or all options (--help)'
            set arguments '@model' '*@model@data'
        case refit
            set options \
                '-o|--output=@any'\t'File for the model' \
                '--no-clobber'\t'Refuse to replace a file that exists' \
                '--align-to=@model'\t'Older model' \
                '-k|--components=all ratio eigenvalue kaiser broken-stick elbow parallel parallel-95 mle gavish-donoho marchenko-pastur cross-validation'\t'Number of components: a whole number, a share of the variance, all, or a rule; as in fit' \
                '-s|--standardize|--no-standardize'\t'Whether to divide each column by its standard deviation' \
                '--center|--no-center'\t'Whether to subtract the column means' \
                '--ddof=0 1'\t'Divisor of variances. 0: n; 1: n - 1' \
                '--whiten=none pca zca'\t'Whitening. pca: scale the scores to variance 1; zca: also rotate them back to the original columns' \
                '--epsilon='\t'With --whiten: divide each score by sqrt(eigenvalue + E); E may be 0' \
                '*-c|--columns='\t'Keep only these columns of the model' \
                '*-x|--exclude='\t'Leave out these columns' \
                '-q|--quiet'\t'Hide notes and warnings; errors are still printed' \
                '-v|--verbose'\t'Print a summary of the run, also if standard error is not a terminal' \
                '--json'\t'Print the summary as one JSON object: on standard output if no results go there, else on standard error' \
                '--debug'\t'Show the traceback of an error' \
                '-h|--help'\t'Show the usual options (-h) or all options (--help)'
            set arguments '@model'
        case completion
            set options \
                '-h|--help'\t'Show the usual options (-h) or all options (--help)'
            set arguments 'bash zsh fish powershell'
        case help
            set options \
                '-h|--help'\t'Show the usual options (-h) or all options (--help)'
            set arguments 'cluster coming-from files how-many limits methods missing models numbers oddities pictures python recipes tables unattended fit transform reconstruct explain-variance scree components plot report inspect diff update merge subtract refit completion help'
    end
end

function __pcatool_commands
    printf '%s\n' \
            'fit'\t'Fit a model to the rows of a table and save it' \
            'transform'\t'Compute the scores PC1, PC2, ... of rows' \
            'reconstruct'\t'Turn scores back into rows in original units' \
            'explain-variance'\t'Print the share of the variance that the first 1, 2, 3, ... components keep' \
            'scree'\t'Draw the eigenvalues and their cumulative shares' \
            'components'\t'Print or draw the loadings of the components' \
            'plot'\t'Draw scores of rows, loadings of columns, or both' \
            'report'\t'Write an HTML page about a model and its rows' \
            'inspect'\t'Describe a model file in plain words' \
            'diff'\t'Compare two models' \
            'update'\t'Add new rows to a model, without the old rows' \
            'merge'\t'Merge models into one model' \
            'subtract'\t'Remove rows from a model, as for a sliding window' \
            'refit'\t'Change the settings of a model, without the rows' \
            'completion'\t'Print a script for tab completion of pcatool in a shell' \
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
