# Completion of pcatool for bash, made from the program's own table of options.
# It needs bash 4 (3.2 does, almost) and nothing else: no bash-completion, no Python.
# Source it in ~/.bashrc, or put it as 'pcatool' into ~/.local/share/bash-completion/completions/.

# What a subcommand takes. An option is its names, = when it has a value, and what that can be: words; some of them,
# after a +; files, after @; nothing that could be told. A * before it: it can be given again.
_pcatool_of() {
    options=() arguments=()
    case $1 in
        '')
            options=(
                '-V|--version'
                '-h|--help'
            )
            arguments=('fit transform reconstruct explain-variance scree components plot report inspect diff update merge subtract refit completion help')
            ;;
        fit)
            options=(
                '-o|--output=@any'
                '--no-clobber'
                '--plan'
                '--scores=@any'
                '*--keep='
                '--keep-all'
                '*-c|--columns='
                '*-x|--exclude='
                '--input-format=parquet tsv csv'
                '-d|--delimiter=tab comma semicolon pipe space blanks'
                '--header|--no-header'
                '--row-names'
                '*--null-value='
                '--encoding=utf-8 latin-1 cp1252 utf-16'
                '--comment='
                '--decimal=. ,'
                '--thousands='
                '--strip='
                '--skip-lines='
                '--skip-bad'
                '--triples='
                '--absent=missing zero'
                '*--label='
                '--label-kernel=delta linear rbf'
                '--label-gamma='
                '--kernel=rbf linear polynomial sigmoid laplacian cosine precomputed mds isomap lle laplacian-eigenmap'
                '--gamma='
                '--degree='
                '--coef0='
                '--neighbors|--neighbours='
                '--landmarks='
                '-k|--components=all ratio eigenvalue kaiser broken-stick elbow parallel parallel-95 mle gavish-donoho marchenko-pastur cross-validation'
                '-s|--standardize'
                '--center|--no-center'
                '--center-rows'
                '--ddof=0 1'
                '--method=pca kernel supervised'
                '--solver=auto covariance tsqr svd dual randomized'
                '--eigenvalues=auto all kept'
                '--whiten=none pca zca'
                '--epsilon='
                '--missing=error drop mean em'
                '--weights='
                '--weights-kind=frequency reliability'
                '--updatable|--no-updatable'
                '--seed='
                '--memory='
                '--align-to=@model'
                '--threads='
                '--engine=threads dask spark'
                '--scheduler='
                '-q|--quiet'
                '-v|--verbose'
                '--json'
                '--debug'
                '-h|--help'
            )
            arguments=('*@data')
            ;;
        transform)
            options=(
                '--input-format=parquet tsv csv'
                '-d|--delimiter=tab comma semicolon pipe space blanks'
                '--header|--no-header'
                '--row-names'
                '*--null-value='
                '--encoding=utf-8 latin-1 cp1252 utf-16'
                '--comment='
                '--decimal=. ,'
                '--thousands='
                '--strip='
                '--skip-lines='
                '--skip-bad'
                '--triples='
                '--absent=missing zero'
                '-k|--components='
                '--missing=error mean project em keep'
                '*--keep='
                '--keep-all'
                '--with-error'
                '--with-coverage'
                '-o|--output=@any'
                '--output-format=csv tsv parquet jsonl'
                '--output-header|--no-output-header'
                '--float-format='
                '--no-clobber'
                '--resume'
                '--threads='
                '--engine=threads dask spark'
                '--scheduler='
                '-q|--quiet'
                '-v|--verbose'
                '--json'
                '--debug'
                '-h|--help'
            )
            arguments=('@model' '*@data')
            ;;
        reconstruct)
            options=(
                '--from=scores rows'
                '--preimage'
                '--fill'
                '--input-format=parquet tsv csv'
                '-d|--delimiter=tab comma semicolon pipe space blanks'
                '--header|--no-header'
                '--row-names'
                '*--null-value='
                '--encoding=utf-8 latin-1 cp1252 utf-16'
                '--comment='
                '--decimal=. ,'
                '--thousands='
                '--strip='
                '--skip-lines='
                '--skip-bad'
                '--triples='
                '--absent=missing zero'
                '-k|--components='
                '--missing=error mean project em keep'
                '*--keep='
                '--keep-all'
                '--with-error'
                '--with-coverage'
                '-o|--output=@any'
                '--output-format=csv tsv parquet jsonl'
                '--output-header|--no-output-header'
                '--float-format='
                '--no-clobber'
                '--resume'
                '--threads='
                '--engine=threads dask spark'
                '--scheduler='
                '-q|--quiet'
                '-v|--verbose'
                '--json'
                '--debug'
                '-h|--help'
            )
            arguments=('@model' '*@data')
            ;;
        explain-variance)
            options=(
                '--format=table csv json markdown'
                '--threshold='
                '*-c|--columns='
                '*-x|--exclude='
                '--input-format=parquet tsv csv'
                '-d|--delimiter=tab comma semicolon pipe space blanks'
                '--header|--no-header'
                '--row-names'
                '*--null-value='
                '--encoding=utf-8 latin-1 cp1252 utf-16'
                '--comment='
                '--decimal=. ,'
                '--thousands='
                '--strip='
                '--skip-lines='
                '--skip-bad'
                '--triples='
                '--absent=missing zero'
                '*--label='
                '--label-kernel=delta linear rbf'
                '--label-gamma='
                '--kernel=rbf linear polynomial sigmoid laplacian cosine precomputed mds isomap lle laplacian-eigenmap'
                '--gamma='
                '--degree='
                '--coef0='
                '--neighbors|--neighbours='
                '--landmarks='
                '-k|--components=all ratio eigenvalue kaiser broken-stick elbow parallel parallel-95 mle gavish-donoho marchenko-pastur cross-validation'
                '-s|--standardize'
                '--center|--no-center'
                '--center-rows'
                '--ddof=0 1'
                '--method=pca kernel supervised'
                '--solver=auto covariance tsqr svd dual randomized'
                '--eigenvalues=auto all kept'
                '--whiten=none pca zca'
                '--epsilon='
                '--missing=error drop mean em'
                '--weights='
                '--weights-kind=frequency reliability'
                '--updatable|--no-updatable'
                '--seed='
                '--memory='
                '--align-to=@model'
                '--threads='
                '--engine=threads dask spark'
                '--scheduler='
                '-q|--quiet'
                '-v|--verbose'
                '--json'
                '--debug'
                '-h|--help'
            )
            arguments=('*@model@data')
            ;;
        scree)
            options=(
                '-o|--output=@any'
                '--no-clobber'
                '--format=chart table csv json markdown'
                '--rules=+all ratio eigenvalue kaiser broken-stick elbow parallel parallel-95 mle gavish-donoho marchenko-pastur cross-validation'
                '--log'
                '--log-components'
                '--all-components'
                '--size='
                '--dpi='
                '*-c|--columns='
                '*-x|--exclude='
                '--input-format=parquet tsv csv'
                '-d|--delimiter=tab comma semicolon pipe space blanks'
                '--header|--no-header'
                '--row-names'
                '*--null-value='
                '--encoding=utf-8 latin-1 cp1252 utf-16'
                '--comment='
                '--decimal=. ,'
                '--thousands='
                '--strip='
                '--skip-lines='
                '--skip-bad'
                '--triples='
                '--absent=missing zero'
                '*--label='
                '--label-kernel=delta linear rbf'
                '--label-gamma='
                '--kernel=rbf linear polynomial sigmoid laplacian cosine precomputed mds isomap lle laplacian-eigenmap'
                '--gamma='
                '--degree='
                '--coef0='
                '--neighbors|--neighbours='
                '--landmarks='
                '-k|--components=all ratio eigenvalue kaiser broken-stick elbow parallel parallel-95 mle gavish-donoho marchenko-pastur cross-validation'
                '-s|--standardize'
                '--center|--no-center'
                '--center-rows'
                '--ddof=0 1'
                '--method=pca kernel supervised'
                '--solver=auto covariance tsqr svd dual randomized'
                '--eigenvalues=auto all kept'
                '--whiten=none pca zca'
                '--epsilon='
                '--missing=error drop mean em'
                '--weights='
                '--weights-kind=frequency reliability'
                '--updatable|--no-updatable'
                '--seed='
                '--memory='
                '--align-to=@model'
                '--threads='
                '--engine=threads dask spark'
                '--scheduler='
                '-q|--quiet'
                '-v|--verbose'
                '--json'
                '--debug'
                '-h|--help'
            )
            arguments=('*@model@data')
            ;;
        components)
            options=(
                '-o|--output=@any'
                '--no-clobber'
                '--values=+loadings correlations contributions cos2'
                '--first='
                '--image='
                '--format=table csv json markdown'
                '--size='
                '--dpi='
                '*-c|--columns='
                '*-x|--exclude='
                '--input-format=parquet tsv csv'
                '-d|--delimiter=tab comma semicolon pipe space blanks'
                '--header|--no-header'
                '--row-names'
                '*--null-value='
                '--encoding=utf-8 latin-1 cp1252 utf-16'
                '--comment='
                '--decimal=. ,'
                '--thousands='
                '--strip='
                '--skip-lines='
                '--skip-bad'
                '--triples='
                '--absent=missing zero'
                '*--label='
                '--label-kernel=delta linear rbf'
                '--label-gamma='
                '--kernel=rbf linear polynomial sigmoid laplacian cosine precomputed mds isomap lle laplacian-eigenmap'
                '--gamma='
                '--degree='
                '--coef0='
                '--neighbors|--neighbours='
                '--landmarks='
                '-k|--components=all ratio eigenvalue kaiser broken-stick elbow parallel parallel-95 mle gavish-donoho marchenko-pastur cross-validation'
                '-s|--standardize'
                '--center|--no-center'
                '--center-rows'
                '--ddof=0 1'
                '--method=pca kernel supervised'
                '--solver=auto covariance tsqr svd dual randomized'
                '--eigenvalues=auto all kept'
                '--whiten=none pca zca'
                '--epsilon='
                '--missing=error drop mean em'
                '--weights='
                '--weights-kind=frequency reliability'
                '--updatable|--no-updatable'
                '--seed='
                '--memory='
                '--align-to=@model'
                '--threads='
                '--engine=threads dask spark'
                '--scheduler='
                '-q|--quiet'
                '-v|--verbose'
                '--json'
                '--debug'
                '-h|--help'
            )
            arguments=('*@model@data')
            ;;
        plot)
            options=(
                '-o|--output=@any'
                '--no-clobber'
                '--format=picture table csv json markdown'
                '--axes='
                '--color='
                '--scaling=rows columns'
                '--from=scores rows'
                '--size='
                '--dpi='
                '*-c|--columns='
                '*-x|--exclude='
                '--input-format=parquet tsv csv'
                '-d|--delimiter=tab comma semicolon pipe space blanks'
                '--header|--no-header'
                '--row-names'
                '*--null-value='
                '--encoding=utf-8 latin-1 cp1252 utf-16'
                '--comment='
                '--decimal=. ,'
                '--thousands='
                '--strip='
                '--skip-lines='
                '--skip-bad'
                '--triples='
                '--absent=missing zero'
                '*--label='
                '--label-kernel=delta linear rbf'
                '--label-gamma='
                '--kernel=rbf linear polynomial sigmoid laplacian cosine precomputed mds isomap lle laplacian-eigenmap'
                '--gamma='
                '--degree='
                '--coef0='
                '--neighbors|--neighbours='
                '--landmarks='
                '-k|--components=all ratio eigenvalue kaiser broken-stick elbow parallel parallel-95 mle gavish-donoho marchenko-pastur cross-validation'
                '-s|--standardize'
                '--center|--no-center'
                '--center-rows'
                '--ddof=0 1'
                '--method=pca kernel supervised'
                '--solver=auto covariance tsqr svd dual randomized'
                '--eigenvalues=auto all kept'
                '--whiten=none pca zca'
                '--epsilon='
                '--missing=error drop mean em'
                '--weights='
                '--weights-kind=frequency reliability'
                '--updatable|--no-updatable'
                '--seed='
                '--memory='
                '--align-to=@model'
                '--threads='
                '--engine=threads dask spark'
                '--scheduler='
                '-q|--quiet'
                '-v|--verbose'
                '--json'
                '--debug'
                '-h|--help'
            )
            arguments=('scores loadings biplot' '*@model@data')
            ;;
        report)
            options=(
                '-o|--output=@any'
                '--no-clobber'
                '--color='
                '--axes='
                '--image='
                '--first='
                '--input-format=parquet tsv csv'
                '-d|--delimiter=tab comma semicolon pipe space blanks'
                '--header|--no-header'
                '--row-names'
                '*--null-value='
                '--encoding=utf-8 latin-1 cp1252 utf-16'
                '--comment='
                '--decimal=. ,'
                '--thousands='
                '--strip='
                '--skip-lines='
                '--skip-bad'
                '--triples='
                '--absent=missing zero'
                '-k|--components='
                '--missing=error mean project em keep'
                '*--keep='
                '--keep-all'
                '--with-error'
                '--with-coverage'
                '--threads='
                '-q|--quiet'
                '-v|--verbose'
                '--json'
                '--debug'
                '-h|--help'
            )
            arguments=('@model' '*@data')
            ;;
        inspect)
            options=(
                '-q|--quiet'
                '-v|--verbose'
                '--json'
                '--debug'
                '-h|--help'
            )
            arguments=('@model')
            ;;
        diff)
            options=(
                '--format=text csv json markdown'
                '-q|--quiet'
                '-v|--verbose'
                '--json'
                '--debug'
                '-h|--help'
            )
            arguments=('@model' '@model')
            ;;
        update)
            options=(
                '-o|--output=@any'
                '--no-clobber'
                '--input-format=parquet tsv csv'
                '-d|--delimiter=tab comma semicolon pipe space blanks'
                '--header|--no-header'
                '--row-names'
                '*--null-value='
                '--encoding=utf-8 latin-1 cp1252 utf-16'
                '--comment='
                '--decimal=. ,'
                '--thousands='
                '--strip='
                '--skip-lines='
                '--skip-bad'
                '--align-to=@model'
                '--missing=error drop'
                '--threads='
                '--engine=threads dask spark'
                '--scheduler='
                '-q|--quiet'
                '-v|--verbose'
                '--json'
                '--debug'
                '-h|--help'
            )
            arguments=('@model' '*@data')
            ;;
        merge)
            options=(
                '-o|--output=@any'
                '--no-clobber'
                '--align-to=@model'
                '-q|--quiet'
                '-v|--verbose'
                '--json'
                '--debug'
                '-h|--help'
            )
            arguments=('*@model')
            ;;
        subtract)
            options=(
                '-o|--output=@any'
                '--no-clobber'
                '--input-format=parquet tsv csv'
                '-d|--delimiter=tab comma semicolon pipe space blanks'
                '--header|--no-header'
                '--row-names'
                '*--null-value='
                '--encoding=utf-8 latin-1 cp1252 utf-16'
                '--comment='
                '--decimal=. ,'
                '--thousands='
                '--strip='
                '--skip-lines='
                '--skip-bad'
                '--align-to=@model'
                '--missing=error drop'
                '--threads='
                '--engine=threads dask spark'
                '--scheduler='
                '-q|--quiet'
                '-v|--verbose'
                '--json'
                '--debug'
                '-h|--help'
            )
            arguments=('@model' '*@model@data')
            ;;
        refit)
            options=(
                '-o|--output=@any'
                '--no-clobber'
                '--align-to=@model'
                '-k|--components=all ratio eigenvalue kaiser broken-stick elbow parallel parallel-95 mle gavish-donoho marchenko-pastur cross-validation'
                '-s|--standardize|--no-standardize'
                '--center|--no-center'
                '--ddof=0 1'
                '--whiten=none pca zca'
                '--epsilon='
                '*-c|--columns='
                '*-x|--exclude='
                '-q|--quiet'
                '-v|--verbose'
                '--json'
                '--debug'
                '-h|--help'
            )
            arguments=('@model')
            ;;
        completion)
            options=(
                '-h|--help'
            )
            arguments=('bash zsh fish powershell')
            ;;
        help)
            options=(
                '-h|--help'
            )
            arguments=('cluster coming-from files how-many limits methods missing models numbers oddities pictures python recipes tables unattended fit transform reconstruct explain-variance scree components plot report inspect diff update merge subtract refit completion help')
            ;;
    esac
}

_pcatool_is_data() {
    local name=$1
    case $name in
        *.[gG][zZ] | *.[bB][zZ]2 | *.[zZ][sS][tT] | *.[zZ][sS][tT][dD]) name=${name%.*} ;;
    esac
    case $name in
        *.[pP][aA][rR][qQ][uU][eE][tT] | *.[pP][qQ] | *.[tT][sS][vV] | *.[tT][aA][bB] | *.[cC][sS][vV] | *.[tT][xX][tT]) return 0 ;;
    esac
    return 1
}

# Cuts the beginning of a line into words without their quotes: all but the last into `words`, that into `current`.
# `redirected` says that the last is where a stream comes from or goes to. Bash itself cuts at = and :, too.
_pcatool_split() {
    local rest=$1 word= piece= begun= target=
    words=()
    while [[ -n $rest ]]; do
        case $rest in
            [[:blank:]]*)
                if [[ -n $begun ]]; then
                    [[ -n $target ]] || words+=("$word")
                    word= begun= target=
                fi
                rest=${rest:1}
                ;;
            [\<\>]*)
                [[ -z $begun || -n $target || $word == [0-9\&] ]] || words+=("$word")
                word= begun= target=1
                piece=${rest%%[!\<\>&|]*}
                rest=${rest:${#piece}}
                ;;
            \\*) word+=${rest:1:1} begun=1 rest=${rest:2} ;;
            \'*)
                piece=${rest:1}
                piece=${piece%%\'*}
                word+=$piece begun=1 rest=${rest:$((${#piece} + 2))}
                ;;
            \"*)
                begun=1 rest=${rest:1}
                while [[ -n $rest && $rest != \"* ]]; do
                    if [[ $rest == \\[\"\\\$\`]* ]]; then
                        word+=${rest:1:1} rest=${rest:2}
                    else
                        word+=${rest:0:1} rest=${rest:1}
                    fi
                done
                rest=${rest:1}
                ;;
            *)
                piece=${rest%%[[:blank:]\\\'\"\<\>]*}
                word+=$piece begun=1 rest=${rest:${#piece}}
                ;;
        esac
    done
    current=$word redirected=$target
}

# Which of the options has this name: its number into `found`.
_pcatool_find() {
    local names
    for ((found = 0; found < ${#options[@]}; found++)); do
        names=${options[found]%%=*}
        [[ "|${names#\*}|" == *"|$1|"* ]] && return 0
    done
    return 1
}

# An option as it was given, or several letters in one word: notes it, and whether its value comes next.
_pcatool_take() {
    local letters
    if [[ $1 == --* ]]; then
        _pcatool_find "${1%%=*}" || return 0
        given+="$found "
        [[ ${options[found]} == *=* && $1 != *=* ]] && pending=$found
        return 0
    fi
    letters=${1:1}
    while [[ -n $letters ]]; do
        _pcatool_find "-${letters:0:1}" || return 0
        given+="$found "
        letters=${letters:1}
        if [[ ${options[found]} == *=* ]]; then
            [[ -n $letters ]] || pending=$found
            return 0
        fi
    done
}

# Replies with each word that begins as what was typed does; what bash leaves standing on the line is taken off.
_pcatool_words() {
    local text=$1 before=$2 word
    shift 2
    for word in "$@"; do
        [[ $word == "$text"* ]] && COMPREPLY+=("${before:cut}${word:$((cut > ${#before} ? cut - ${#before} : 0))}")
    done
}

_pcatool_listed() {
    local text=$1 before=$2 typed= word
    local -a left=()
    [[ $text == *,* ]] && typed=${text%,*},
    for word in $3; do
        [[ ",$typed" == *",$word,"* ]] || left+=("$typed$word")
    done
    ((${#left[@]} == 0)) || _pcatool_words "$text" "$before" "${left[@]}"
}

# Replies with folders, and with the files of the kinds wanted.
_pcatool_files() {
    local kinds=$1 text=$2 before=$3 typed= real= name variable restore=
    case $text in
        '~' | '~/'*) typed='~' real=$HOME ;;
        \$[A-Za-z_]*/* | \$\{[A-Za-z_]*\}/*)
            typed=${text%%/*} variable=${text%%/*}
            variable=${variable#\$} variable=${variable#\{} variable=${variable%\}}
            [[ $variable == *[!A-Za-z0-9_]* ]] || real=${!variable-}
            text=$real${text#"$typed"} typed=$real # written out: bash would put a backslash before the dollar
            ;;
    esac
    if shopt -q failglob; then
        restore='shopt -s failglob;'
        shopt -u failglob
    fi
    if [[ $- == *f* ]]; then
        restore+='set -f'
        set +f
    fi
    local -a names=()
    for name in "$real${text#"$typed"}"*; do
        if [[ -d $name || $kinds == *@any* && (-e $name || -L $name) ]] ||
            [[ $kinds == *@model* && $name == *.npz && -e $name ]] ||
            { [[ $kinds == *@data* && -e $name ]] && _pcatool_is_data "$name"; }; then
            names+=("$typed${name#"$real"}")
        fi
    done
    eval "$restore"
    ((${#names[@]} == 0)) && return 0
    compopt -o filenames 2> /dev/null # bash puts quotes where a name needs them, and / behind a folder
    _pcatool_words "$text" "$before" "${names[@]}"
}

_pcatool_value() {
    case $1 in
        @*) _pcatool_files "$1" "$2" "$3" ;;
        +*) _pcatool_listed "$2" "$3" "${1:1}" ;;
        *) _pcatool_words "$2" "$3" $1 ;;
    esac
}

# Replies with the names of options that can still be given.
_pcatool_flags() {
    local i names
    for ((i = 0; i < ${#options[@]}; i++)); do
        names=${options[i]%%=*}
        [[ $names != \** && $given == *" $i "* ]] || _pcatool_words "$current" '' ${names//[|*]/ }
    done
}

_pcatool_place() {
    local last=$((${#arguments[@]} - 1))
    if ((place > last)); then
        [[ $last -ge 0 && ${arguments[last]} == \** ]] || return 0
        place=$last
    fi
    _pcatool_value "${arguments[place]#\*}" "$current" ''
}

_pcatool() {
    local IFS=$' \t\n' LINE=${COMP_LINE:0:COMP_POINT}
    local -a words=() options=() arguments=()
    local current= redirected= cut=0 found= command= given=' ' pending= ended= place=0 i word
    COMPREPLY=()
    if [[ -n ${2-} && $LINE == *"$2" ]]; then
        _pcatool_split "${LINE:0:$((${#LINE} - ${#2}))}"
        cut=${#current}
    elif [[ -z ${2-} ]]; then
        _pcatool_split "$LINE"
        cut=${#current}
    fi
    _pcatool_split "$LINE"
    if [[ -n $redirected ]]; then
        _pcatool_files @any "$current" ''
        return 0
    fi
    _pcatool_of ''
    for ((i = 1; i < ${#words[@]}; i++)); do
        word=${words[i]}
        if [[ -n $pending ]]; then
            pending=
        elif [[ -z $ended && $word == -- ]]; then
            ended=1
        elif [[ -z $ended && $word == -?* ]]; then
            _pcatool_take "$word"
        elif [[ -z $command ]]; then
            command=$word given=' '
            _pcatool_of "$command"
        else
            place=$((place + 1))
        fi
    done
    if [[ -n $pending ]]; then
        _pcatool_value "${options[pending]#*=}" "$current" ''
    elif [[ -z $ended && $current == --*=* ]]; then
        _pcatool_find "${current%%=*}" && [[ ${options[found]} == *=* ]] &&
            _pcatool_value "${options[found]#*=}" "${current#*=}" "${current%%=*}="
    elif [[ -z $ended && $current == -* ]]; then
        _pcatool_flags
    else
        _pcatool_place
    fi
    return 0
}

if type compopt > /dev/null 2>&1; then
    complete -F _pcatool pcatool
else
    complete -o filenames -F _pcatool pcatool # bash 3.2 knows it for all or for none
fi
