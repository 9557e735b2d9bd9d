#compdef pcatool
# Completion of pcatool for zsh, made from the program's own table of options; it needs no Python.
# Put it as '_pcatool' into a folder of $fpath; or source it in ~/.zshrc, after compinit.

_pcatool_model() { _path_files "$@" -g '@MODEL@(-.) *(-/)' }
_pcatool_data() { _path_files "$@" -g '@DATA@(-.) *(-/)' }
_pcatool_model_or_data() { _path_files "$@" -g '@MODEL@(-.) @DATA@(-.) *(-/)' }

_pcatool_commands() {
  local -a commands=(
@COMMANDS@
  )
  _describe -t commands 'command' commands
}

_pcatool() {
  local curcontext=$curcontext state ret=1
  local -a line
  local -A opt_args
  _arguments -C -s : \
@PROGRAM@
    '1: :_pcatool_commands' \
    '*:: :->rest' \
    && ret=0
  [[ $state == rest ]] || return ret
  curcontext=${curcontext%:*:*}:pcatool-$words[1]:
  case $words[1] in
@TABLE@
  esac
  return ret
}

if [[ $funcstack[1] == _pcatool ]]; then
  _pcatool "$@"
else
  compdef _pcatool pcatool
fi
