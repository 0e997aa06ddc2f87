import type { Command } from 'commander'
import { allNearest, nearest } from '../base/model/nearest.ts'
import { UsageError } from './usage.ts'

/** Words from other tools, and the commands that do the same here. */
export const synonyms: Readonly<Record<string, readonly string[]>> = {
  add: ['insert'],
  append: ['insert'],
  cancel: ['alter-transaction'],
  cat: ['query', 'head'],
  catalogs: ['profile'],
  check: ['verify'],
  columns: ['schema'],
  compact: ['optimize'],
  config: ['profile'],
  cp: ['copy'],
  del: ['delete', 'drop'],
  desc: ['describe'],
  dir: ['list'],
  dump: ['export'],
  fetch: ['query'],
  find: ['query', 'list'],
  fsck: ['verify'],
  gc: ['vacuum'],
  get: ['query', 'describe'],
  info: ['describe'],
  load: ['create', 'import'],
  log: ['history'],
  login: ['profile'],
  mkdir: ['create-namespace'],
  monitor: ['watch'],
  new: ['create'],
  peek: ['head'],
  ps: ['transactions', 'watch'],
  put: ['insert'],
  remove: ['drop', 'delete'],
  rmdir: ['drop-namespace'],
  rows: ['query', 'count'],
  run: ['serve'],
  search: ['query'],
  select: ['query'],
  server: ['serve'],
  show: ['describe', 'head'],
  size: ['stats'],
  sql: ['query'],
  start: ['serve'],
  tables: ['list'],
  tail: ['query'],
  top: ['watch'],
  truncate: ['delete'],
  undo: ['revert'],
  upload: ['create', 'insert'],
  upsert: ['merge'],
  view: ['head'],
  wc: ['count'],
}

/** Suggests commands for an unknown word. */
export function suggestionsFor(word: string, commands: readonly string[]): readonly string[] {
  const asTyped = word.toLowerCase()
  if (Object.hasOwn(synonyms, asTyped)) return synonyms[asTyped]!
  const begun = commands.filter((command) => asTyped.length >= 3 && command.startsWith(asTyped))
  if (begun.length > 0) return [begun.reduce((a, b) => (b.length < a.length ? b : a))]
  return allNearest(asTyped, commands)
}

/**
 * The text of an error with the option that an unknown one is a typo of. Commander compares the last name of each option
 * only, and some have two.
 */
export function withNearOption({ options }: Command, text: string): string {
  const [, typed] = /unknown option '(--[^']+)'\n$/.exec(text) ?? []
  if (typed === undefined) return text
  const flags = options
    .filter(({ hidden }) => !hidden)
    .flatMap(({ short, long }) => [short, long])
    .filter((flag) => flag !== undefined)
  const near = nearest(
    typed,
    flags.filter((flag) => flag.startsWith('--')),
  )
  return near === undefined ? text : `${text}(Did you mean ${near}?)\n`
}

/** The error for an unknown command, with suggestions. */
export function unknownCommand(root: Command, word: string): UsageError {
  const commands = root.createHelp().visibleCommands(root)
  const near = suggestionsFor(
    word,
    commands.flatMap((command) => [command.name(), ...command.aliases()]),
  )
  const next = near.length === 0 ? 'see tabularium --help' : `did you mean ${near.join(' or ')}?`
  return new UsageError(`unknown command ${JSON.stringify(word.slice(0, 80))}; ${next}`)
}
