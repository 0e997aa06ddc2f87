import { Command, Option } from 'commander'
import {
  CatalogError,
  type CommittedChange,
  type SubjectChange,
  type VersionSpan,
} from '../tabularium/index.ts'
import type { Io } from './io.ts'
import { openLocation } from './open.ts'
import { readIdentifier } from './request.ts'
import { visible } from './values.ts'

interface Typed {
  readonly since?: string
  readonly follow: boolean
  readonly json?: boolean
  readonly delimiter: string
  readonly token?: string
  readonly apiKey?: string
}

const examples = `
Examples:
  $ tabularium changes ./catalog
  $ tabularium changes http://127.0.0.1:2333 prod --json
  $ tabularium changes ./catalog --since "$(tail -n 1 seen.jsonl | jq -r .token)" --no-follow --json
`

/** The command that prints commits until an interrupt. */
export function changesCommand(io: Io): Command {
  const summary = 'Print changes as they are committed.'
  const command = new Command('changes')
    .summary(summary)
    .description(
      `${summary} Each commit comes once, in order, whoever made it. With --since, those behind a token come first. An interrupt ends it.`,
    )
    .helpGroup('The catalog itself:')
    .argument('<location>', 'directory of a catalog, or the URL of a database or of a server')
    .argument('[id]', 'a namespace or a table, such as prod.flights; everything when left out')
    .option('--since <token>', 'the token of a change: begin behind it (default: now)')
    .option('--no-follow', 'end at the last change that is there')
    .option('--delimiter <text>', 'the text between the names of identifiers', '.')
    .addOption(new Option('--token <token>', 'bearer token for a server').env('TABULARIUM_TOKEN'))
    .addOption(new Option('--api-key <key>', 'API key for a server').env('TABULARIUM_API_KEY'))
    .option('--json', 'print lines of JSON (default when the output is no terminal)')
    .option('--no-json', 'print lines for people')
    .addHelpText('after', examples)
  command.setOptionValueWithSource('json', undefined, 'default')
  return command.action(async (location: string, id: string | undefined, typed: Typed) => {
    const { since, follow, delimiter } = typed
    await using catalog = await openLocation(location, false, typed)
    const isJson = typed.json ?? !io.stdout.isTTY
    const end = follow ? undefined : await catalog.watch().token()
    const changes = catalog.watch({
      ...(id !== undefined && { id: readIdentifier(id, delimiter) }),
      ...(since !== undefined && { since }),
      signal: io.signal,
    })
    try {
      if (end !== undefined && (await changes.token()) === end) return
      for await (const change of changes) {
        io.stdout.write(isJson ? `${JSON.stringify(change)}\n` : linesOf(change, delimiter))
        if (change.token === end) return
      }
    } catch (error) {
      // An interrupt is the normal end of this command.
      if (!(io.signal.aborted && error === io.signal.reason)) throw error
    }
    if (follow && !io.signal.aborted)
      throw new CatalogError(
        'ServiceUnavailable',
        'The catalog was closed. Run the command again, with --since.',
      )
  })
}

/** A line for each subject of a change, with its time and principal. */
function linesOf({ timestamp_millis, principal, changes }: CommittedChange, delimiter: string): string {
  const time = new Date(timestamp_millis).toISOString()
  const who = principal === undefined ? '' : `  by ${visible(principal)}`
  return changes.map((change) => `${time}  ${textOf(change, delimiter)}${who}\n`).join('')
}

function textOf(change: SubjectChange, delimiter: string): string {
  const { operation, id, to, versions = [], removed_versions = [], tags = [], removed_tags = [] } = change
  const parts = [
    operation,
    visible(id.join(delimiter)),
    to && `→ ${visible(to.join(delimiter))}`,
    ...versions.map((span) => spanText('version', span)),
    ...removed_versions.map((span) => spanText('without version', span)),
    ...tags.map(({ name, version }) => `tag ${visible(name)} on ${version}`),
    ...removed_tags.map((name) => `without tag ${visible(name)}`),
    ...(change.branches ?? []).map((name) => `branch ${visible(name)}`),
    ...(change.removed_branches ?? []).map((name) => `without branch ${visible(name)}`),
  ]
  return parts.filter((part) => part !== undefined).join('  ')
}

function spanText(what: string, { branch, first, last }: VersionSpan): string {
  const where = branch === undefined ? '' : ` of ${visible(branch)}`
  return `${what} ${first === last ? first : `${first}–${last}`}${where}`
}
