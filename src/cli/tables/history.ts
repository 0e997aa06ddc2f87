import type { Command } from 'commander'
import type { Io } from '../io.ts'
import { toNumber } from '../options.ts'
import { type TableWork, tableCommand } from './table-command.ts'

interface Typed {
  readonly branch?: string
  readonly limit?: number
}

/** The most tags that are read to show them beside versions. */
const mostTags = 10_000

/** The command that lists the versions of a table with the operations that made them. */
export function historyCommand(io: Io, signal: AbortSignal): Command {
  return tableCommand<Typed>(
    {
      name: 'history',
      group: 'Versions, tags and branches',
      summary: 'List the versions of a table with what made each.',
      description:
        'The latest comes first. The operation is null where its transaction is no longer recorded, or where another engine made the version.',
      examples: ['./catalog prod.flights', './catalog prod.flights -n 5 --branch experiment'],
    },
    io,
    signal,
    listHistory,
  )
    .option('-n, --limit <number>', 'at most so many versions (default: all)', toNumber)
    .option('--branch <text>', 'the branch (default: the main branch)')
}

async function listHistory({ catalog, id, typed, printer, options }: TableWork<Typed>): Promise<void> {
  const { branch, limit } = typed
  const request = { id, branch, limit, descending: true, with_transactions: true }
  const tags = await tagsOf({ catalog, id, typed, options })
  for await (const found of catalog.versions(request, options)) {
    const { version, timestamp_millis, operation, transaction_id, metadata } = found
    printer.rows([
      {
        version,
        time: timestamp_millis === undefined ? null : new Date(timestamp_millis).toISOString(),
        operation: operation ?? null,
        transaction: transaction_id ?? null,
        tags: tags.get(version) ?? [],
        ...(metadata && Object.keys(metadata).length > 0 && { metadata }),
      },
    ])
  }
  printer.rows([])
}

/** The tags of a branch, by version. */
async function tagsOf({ catalog, id, typed, options }: Omit<TableWork<Typed>, 'printer'>) {
  const wanted = typed.branch === 'main' ? '' : (typed.branch ?? '')
  const tags = new Map<number, string[]>()
  for await (const { name, branch = '', version } of catalog.tags({ id, limit: mostTags }, options)) {
    if (branch !== wanted) continue
    const others = tags.get(version)
    if (others) others.push(name)
    else tags.set(version, [name])
  }
  return tags
}
