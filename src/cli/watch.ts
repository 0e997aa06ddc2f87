import { Command } from 'commander'
import { sleep } from '../base/time.ts'
import { type Catalog, CatalogError, type ListTransactionsResponse } from '../tabularium/index.ts'
import type { Io } from './io.ts'
import { locationArgument } from './location-argument.ts'
import { openLocation } from './open.ts'
import { addCatalogOptions, type CatalogOptions, toNumber } from './options.ts'
import { readIdentifier } from './request.ts'
import { UsageError } from './usage.ts'
import { visible } from './values.ts'

type Transaction = ListTransactionsResponse['transactions'][number]

interface Typed extends CatalogOptions {
  readonly interval: number
}

const examples = `
Examples:
  $ tabularium watch ./catalog
  $ tabularium watch http://127.0.0.1:2333 prod.flights
  $ tabularium watch ./catalog --json | jq -r 'select(.status == "Failed").failure'
`

/** The command that prints transactions as they begin, change and end, until an interrupt. */
export function watchCommand(io: Io): Command {
  const summary = 'Watch transactions: a line for each that begins, changes or ends.'
  const command = new Command('watch')
    .summary(summary)
    .description(`${summary} It begins with those under way, and ends by Ctrl-C.`)
    .helpGroup('Transactions and batches:')
    .addArgument(
      locationArgument('<location>', 'directory of a catalog, or the URL of a database or of a server'),
    )
    .argument('[table]', 'only those of this table, or of what is in this namespace, such as prod.flights')
    .option('--interval <seconds>', 'how long to wait between looks', toNumber, 1)
    .addHelpText('after', examples)
  addCatalogOptions(command)
  return command.action(async (location: string, about: string | undefined, typed: Typed) => {
    const { interval, delimiter, json } = typed
    if (!(interval >= 0.1 && interval <= 3_600))
      throw new UsageError('--interval is from 0.1 to 3600 seconds')
    const names = about === undefined ? [] : readIdentifier(about, delimiter)
    await using catalog = await openLocation(location, false, typed)
    const show = (transaction: Transaction) => {
      if (names.some((name, i) => transaction.subject[i] !== name)) return
      const asJson = json ?? !io.stdout.isTTY
      io.stdout.write(`${asJson ? JSON.stringify(transaction) : lineOf(transaction, delimiter)}\n`)
    }
    try {
      await watch(catalog, show, interval * 1_000, io)
    } catch (error) {
      // An interrupt is the normal end of this command.
      if (!io.signal.aborted || error !== io.signal.reason) throw error
    }
  })
}

/** How far back each poll goes: a record may become visible after one that began later. */
const overlapMillis = 5_000

async function watch(
  catalog: Catalog,
  show: (transaction: Transaction) => void,
  interval: number,
  io: Io,
): Promise<void> {
  const shown = new ShownTransactions(show)
  const underWay = await inOrder(
    catalog.transactions({ status: ['Queued', 'Running'] }, { signal: io.signal }),
  )
  const { transactions: newest } = await catalog.listTransactions({ limit: 1 }, { signal: io.signal })
  // All times come from the catalog's clock, never from this machine's.
  for (const known of newest) {
    shown.advanceTo(known)
    for (const before of await inOrder(
      catalog.transactions({ since_millis: shown.since }, { signal: io.signal }),
    ))
      shown.markShown(before)
  }
  for (const transaction of underWay) shown.update(transaction)
  let isReported = false
  for (;;) {
    await sleep(interval, { signal: io.signal }).catch(() => io.signal.throwIfAborted())
    try {
      await poll(catalog, shown, io.signal)
      isReported = false
    } catch (error) {
      io.signal.throwIfAborted()
      if (!(error instanceof CatalogError && isTransient(error))) throw error
      if (!isReported)
        io.stderr.write(`tabularium: ${visible(`${error.code}: ${error.message}`)} Trying again.\n`)
      isReported = true
    }
  }
}

function isTransient({ code }: CatalogError): boolean {
  return code === 'ServiceUnavailable' || code === 'Throttling'
}

/** One poll: recent transactions, and older ones that are still running. */
async function poll(catalog: Catalog, shown: ShownTransactions, signal: AbortSignal): Promise<void> {
  const recent = await inOrder(catalog.transactions({ since_millis: shown.since }, { signal }))
  const listed = new Set(recent.map(({ transaction_id }) => transaction_id))
  for (const transaction of shown.underWay().filter(({ transaction_id }) => !listed.has(transaction_id)))
    shown.update(await currentState(catalog, transaction, signal))
  for (const transaction of recent) shown.update(transaction)
  shown.forget()
}

/** Collects transactions, oldest first. */
async function inOrder(transactions: AsyncIterable<Transaction>): Promise<Transaction[]> {
  const found: Transaction[] = []
  for await (const transaction of transactions) found.push(transaction)
  return found.reverse()
}

/** The current state of a transaction. One without a record has ended with an unknown outcome. */
async function currentState(catalog: Catalog, known: Transaction, signal: AbortSignal): Promise<Transaction> {
  try {
    const { status, properties } = await catalog.describeTransaction(
      { id: [known.transaction_id] },
      { signal },
    )
    const { finished_at, failure, failure_code } = properties
    return {
      ...known,
      status,
      ...(finished_at !== undefined && { finished_at }),
      ...(failure !== undefined && { failure }),
      ...(failure_code !== undefined && { failure_code }),
    }
  } catch (error) {
    if (!(error instanceof CatalogError) || error.code !== 'TransactionNotFound') throw error
    return { ...known, status: 'Failed', failure: 'Its record was removed.' }
  }
}

/** The transactions shown so far, so that each change of status is shown once. */
class ShownTransactions {
  readonly #show: (transaction: Transaction) => void
  readonly #known = new Map<string, Transaction>()
  /** When the newest transaction began, in milliseconds since 1970. */
  #newest = 0

  constructor(show: (transaction: Transaction) => void) {
    this.#show = show
  }

  get since(): number {
    return Math.max(0, this.#newest - overlapMillis)
  }

  advanceTo({ created_at }: Transaction): void {
    this.#newest = Math.max(this.#newest, Date.parse(created_at))
  }

  /** Records a transaction that ended before the watch began, without showing it. */
  markShown(transaction: Transaction): void {
    if (!isUnderWay(transaction)) this.#known.set(transaction.transaction_id, transaction)
  }

  update(transaction: Transaction): void {
    const before = this.#known.get(transaction.transaction_id)
    this.#known.set(transaction.transaction_id, transaction)
    this.advanceTo(transaction)
    if (before?.status !== transaction.status) this.#show(transaction)
  }

  underWay(): Transaction[] {
    return [...this.#known.values()].filter(isUnderWay)
  }

  /** Drops ended transactions that no further poll returns. */
  forget(): void {
    for (const [id, transaction] of this.#known)
      if (!isUnderWay(transaction) && Date.parse(transaction.created_at) < this.since) this.#known.delete(id)
  }
}

function isUnderWay({ status }: Transaction): boolean {
  return status === 'Queued' || status === 'Running'
}

/** A line of text: time, status, id, operation, subject, duration and failure. */
function lineOf(transaction: Transaction, delimiter: string): string {
  const { transaction_id, status, operation, subject, created_at, finished_at, failure, failure_code } =
    transaction
  const [began, ended] = [
    Date.parse(created_at),
    finished_at === undefined ? undefined : Date.parse(finished_at),
  ]
  const parts = [
    finished_at ?? created_at,
    status.padEnd(9),
    transaction_id,
    operation,
    subject.length === 0 ? '(several)' : subject.join(delimiter),
    ended === undefined ? `since ${created_at}` : `in ${((ended - began) / 1_000).toFixed(1)} s`,
    failure === undefined ? '' : `${failure_code === undefined ? '' : `${failure_code}: `}${failure}`,
  ]
  return visible(parts.filter((part) => part !== '').join('  '))
}
