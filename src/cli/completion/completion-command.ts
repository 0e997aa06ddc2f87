import { Argument, Command } from 'commander'
import type { Io } from '../io.ts'
import { addPrintOptions, type PrintOptions } from '../options.ts'
import { visible } from '../values.ts'
import { candidatesFor } from './candidates.ts'

const examples = `
Examples:
  $ source <(tabularium completion bash)                   in ~/.bashrc
  $ source <(tabularium completion zsh)                    in ~/.zshrc
  $ tabularium completion fish | source                    in ~/.config/fish/config.fish
`

/** The command that prints a completion script for a shell. */
export function completionCommand(io: Io): Command {
  const summary = 'Print a script by which a shell completes command lines.'
  const shell = new Argument('<shell>', 'the shell').choices(Object.keys(scripts))
  return addPrintOptions(
    new Command('completion')
      .summary(summary)
      .description(
        `${summary} It completes commands, options, profiles, and the names of namespaces, tables, tags and branches.`,
      )
      .helpGroup('The command line:')
      .addArgument(shell)
      .addHelpText('after', examples),
  ).action((name: Shell, { json }: PrintOptions) => {
    // The raw script, which a shell can source, unless JSON is asked for.
    io.stdout.write(json ? `${JSON.stringify({ shell: name, script: scripts[name] })}\n` : scripts[name])
  })
}

/** The timeout of a completion, in milliseconds. */
const longest = 2_000

/** The hidden command that the scripts run. Any failure yields an empty list and exit code 0. */
export function completeCommand(root: Command, io: Io, signal: AbortSignal): Command {
  return new Command('__complete')
    .argument('[words...]')
    .option('--line <text>')
    .helpOption(false)
    .passThroughOptions()
    .action(async (words: string[], { line }: { line?: string }) => {
      const typed = line === undefined ? words : splitLine(line).slice(1)
      const stop = AbortSignal.any([signal, AbortSignal.timeout(longest)])
      const late = new Promise<undefined>((resolve) =>
        stop.addEventListener('abort', () => resolve(undefined)),
      )
      const found = await Promise.race([candidatesFor(root, typed, io, stop), late]).catch(() => undefined)
      const lines = (found?.found ?? []).map(({ value, about }) =>
        about === undefined ? visible(value) : `${visible(value)}\t${visible(about)}`,
      )
      io.stdout.write(`${[found?.files ? 'files' : 'none', ...lines].join('\n')}\n`)
    })
}

/** Splits a command line up to the cursor like a shell. The last word is under the cursor and may be empty. */
export function splitLine(line: string): string[] {
  const words: string[] = []
  let word: string | undefined
  let quote: string | undefined
  for (let i = 0; i < line.length; i++) {
    const char = line[i]!
    if (quote !== undefined) {
      if (char === quote) quote = undefined
      else if (char === '\\' && quote === '"' && i + 1 < line.length) word += line[++i]!
      else word += char
    } else if (char === "'" || char === '"') {
      quote = char
      word ??= ''
    } else if (char === '\\' && i + 1 < line.length) {
      word = (word ?? '') + line[++i]!
    } else if (/\s/.test(char)) {
      if (word !== undefined) words.push(word)
      word = undefined
    } else {
      word = (word ?? '') + char
    }
  }
  return [...words, word ?? '']
}

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

type Shell = keyof typeof scripts
