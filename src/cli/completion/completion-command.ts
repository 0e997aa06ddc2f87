import { Argument, Command } from 'commander'
import { anySignal } from '../../base/scheduling/signals.ts'
import { firstWord } from '../chosen-profile.ts'
import type { Io } from '../io.ts'
import { addPrintOptions, type PrintOptions } from '../options.ts'
import { visible } from '../values.ts'
import { candidatesFor } from './candidates.ts'
import { type Shell, scripts } from './scripts.ts'

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

/**
 * The hidden command that the scripts run. Any failure yields an empty list and exit code 0. `rootFor` makes the root
 * command for a line that begins with the word.
 */
export function completeCommand(rootFor: (word: string | undefined) => Promise<Command>, io: Io): Command {
  return new Command('__complete')
    .argument('[words...]')
    .option('--line <text>')
    .helpOption(false)
    .passThroughOptions()
    .action(async (words: string[], { line }: { line?: string }) => {
      const typed = line === undefined ? words : splitLine(line).slice(1)
      const stop = anySignal(io.signal, AbortSignal.timeout(longest))
      const late = new Promise<undefined>((resolve) =>
        stop.addEventListener('abort', () => resolve(undefined)),
      )
      const root = await rootFor(firstWord(typed.slice(0, -1)))
      const found = await Promise.race([candidatesFor(root, typed, { ...io, signal: stop }), late]).catch(
        () => undefined,
      )
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
