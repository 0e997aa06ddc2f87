/*
 * Completion scripts. Each runs the program by the name it was called by. The first line of the output is `files` or
 * `none`: whether to offer file names as well. A line for each candidate follows: value, tab, description.
 */

const bash = `# Completion of tabularium for bash.
_tabularium() {
  local line="\${COMP_LINE:0:COMP_POINT}" current cut answer value
  local -a found
  current="\${line##*[[:space:]]}"
  # What stands before the last of these characters stays where it is.
  cut=""
  for value in @ = :; do
    if [[ "$COMP_WORDBREAKS" == *"$value"* && "$current" == *"$value"* ]]; then
      answer="\${current%"\${current##*"$value"}"}"
      (( \${#answer} > \${#cut} )) && cut="$answer"
    fi
  done
  COMPREPLY=()
  mapfile -t found < <("\${COMP_WORDS[0]}" __complete --line "$line" 2>/dev/null)
  [[ "\${found[0]}" == files ]] && compopt -o default -o bashdefault 2>/dev/null
  for value in "\${found[@]:1}"; do
    value="\${value%%$'\\t'*}"
    [[ "$value" == *. ]] && compopt -o nospace 2>/dev/null
    printf -v value %q "\${value#"$cut"}"
    COMPREPLY+=("$value")
  done
}
complete -F _tabularium tabularium
`

const zsh = `#compdef tabularium
# Completion of tabularium for zsh.
_tabularium() {
  local -a answer open closed openShown closedShown
  local line value
  answer=("\${(@f)$("\${words[1]}" __complete -- "\${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
  for line in "\${(@)answer[2,-1]}"; do
    value="\${line%%$'\\t'*}"
    if [[ "$value" == *. ]]; then
      open+=("$value"); openShown+=("\${line//$'\\t'/  }")
    else
      closed+=("$value"); closedShown+=("\${line//$'\\t'/  }")
    fi
  done
  (( $#open )) && compadd -S '' -l -d openShown -a open
  (( $#closed )) && compadd -l -d closedShown -a closed
  [[ "\${answer[1]}" == files ]] && _files
  return 0
}
if [[ "\${funcstack[1]}" == _tabularium ]]; then
  _tabularium "$@"
else
  (( $+functions[compdef] )) || { autoload -Uz compinit && compinit }
  compdef _tabularium tabularium
fi
`

const fish = `# Completion of tabularium for fish.
function __tabularium_complete
    set -l typed (commandline -opc)
    set -l current (commandline -ct)
    set -l answer ($typed[1] __complete -- $typed[2..] "$current" 2>/dev/null)
    test (count $answer) -gt 1; and printf '%s\\n' $answer[2..]
    test "$answer[1]" = files; and __fish_complete_path "$current"
    return 0
end
complete -c tabularium -f -a '(__tabularium_complete)'
`

export const scripts = { bash, zsh, fish } as const

export type Shell = keyof typeof scripts
