# Completion of pcatool for fish, made from the program's own table of options; it needs no Python.
# Put it as 'pcatool.fish' into ~/.config/fish/completions/, or source it in config.fish.

# What a subcommand takes. An option is its names, = when it has a value, and what that can be: words; some of them,
# after a +; files, after @; nothing that could be told. A * before it: it can be given again. Behind the tab, its help.
function __pcatool_of --no-scope-shadowing
    set options
    set arguments
    switch $argv[1]
@TABLE@
    end
end

function __pcatool_commands
    printf '%s\n' \
@COMMANDS@
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
    string match -q '*@model*' -- $kinds; and set -a endings '@MODEL@'
    string match -q '*@data*' -- $kinds; and set -a endings '(?i:(?:@TABLES@)(?:@PACKED@)?)'
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
