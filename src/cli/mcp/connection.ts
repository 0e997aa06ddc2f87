import { semaphore } from '../../base/scheduling/semaphore.ts'
import {
  type Catalog,
  CatalogError,
  type OperationName,
  type OperationOptions,
} from '../../tabularium/index.ts'
import { withTypedRows } from '../perform.ts'
import { parseJson } from '../rows/json.ts'
import { TextRows } from '../rows/text-rows.ts'
import { UsageError } from '../usage.ts'
import { type AnswerLimits, answerText, isCount, limitFor, requireSize, rowsText } from './answers.ts'
import { checkArguments, type Tool, toolName, toolsFor } from './tools.ts'
import { Workspace } from './workspace.ts'

type Fields = Readonly<Record<string, unknown>>

/** What connections have in common. */
export interface Served {
  readonly catalog: Catalog
  /** Whether tools may change the catalog. */
  readonly writes: boolean
  readonly limits: AnswerLimits
}

/** The options of a call. The signal aborts when the client cancels it, or has gone. */
export type CallOptions = OperationOptions & { readonly signal: AbortSignal }

/** A tool about the changes of a connection, in place of an operation. */
export interface OwnTool {
  readonly name: 'commit' | 'undo' | 'rollback'
  readonly description: string
}

export const ownTools: readonly OwnTool[] = [
  {
    name: 'commit',
    description:
      'Commit all uncommitted changes of this connection at once, so that others see them. When others changed what they depend on, nothing is committed, and the error says so.',
  },
  { name: 'undo', description: 'Take back the last uncommitted change of this connection.' },
  { name: 'rollback', description: 'Take back all uncommitted changes of this connection.' },
]

/** Reads that run at once. Calls of a connection with changes run one by one, in the order in which they came. */
const readsAtOnce = 4
/** Most calls that wait. */
const maxWaiting = 256

/** One client: its tools, and the changes that it has not committed. */
export class Connection {
  readonly tools: readonly Tool[]
  readonly #served: Served
  readonly #workspace: Workspace
  readonly #turns
  #waiting = 0

  constructor(served: Served, owner: string | undefined) {
    this.tools = toolsFor(served.writes)
    this.#served = served
    this.#workspace = new Workspace(served.catalog, owner)
    this.#turns = semaphore(served.writes ? 1 : readsAtOnce)
  }

  /** Runs the tool of this name, and answers with text. Undefined when there is none. */
  call(name: string, given: Fields, options: CallOptions): Promise<string> | undefined {
    const tool = this.tools.find((one) => one.name === name)
    if (tool !== undefined) return this.#inTurn(options, () => this.#perform(tool, given, options))
    const own = this.#served.writes ? ownTools.find((one) => one.name === name) : undefined
    return own && this.#inTurn(options, () => this.#performOwn(own, given, options))
  }

  /** Runs an operation that only reads, for resources. */
  read(operation: OperationName, request: Fields, options: CallOptions): Promise<Fields> {
    return this.#inTurn(options, () => this.#workspace.run(operation, request, options))
  }

  /** Takes everything back that is not committed. */
  close(): Promise<void> {
    return this.#workspace.close()
  }

  async #inTurn<T>({ signal }: CallOptions, run: () => Promise<T>): Promise<T> {
    if (this.#waiting >= maxWaiting)
      throw new CatalogError(
        'ServiceUnavailable',
        `${maxWaiting} calls of this connection wait already, which is the most. Wait for their answers first.`,
      )
    this.#waiting++
    try {
      await this.#turns.acquire(signal)
    } finally {
      this.#waiting--
    }
    try {
      signal.throwIfAborted()
      return await run()
    } finally {
      this.#turns.release()
    }
  }

  async #perform(tool: Tool, given: Fields, options: CallOptions): Promise<string> {
    const { limits } = this.#served
    const { operation, defaults } = tool
    checkArguments(tool.name, tool.inputSchema, given)
    const request = { ...defaults, ...given }
    if (operation.name === 'queryTable' || operation.name === 'tableChanges')
      return this.#rows(operation.name, request, options)
    if (!operation.changes) {
      const isListed = operation.command?.lists !== undefined
      const asked = isListed ? { ...request, limit: limitFor(request.limit, limits) } : request
      return answerText(operation, await this.#workspace.run(operation.name, asked, options), limits)
    }
    const notes: string[] = []
    const { typed, bytes } = await this.#typed(operation.name, request, options, notes)
    const answer = await this.#workspace.change(operation.name, typed, bytes, options)
    return answerText(
      operation,
      { ...answer, ...(notes.length > 0 && { notes }), uncommitted_changes: this.#workspace.size },
      limits,
    )
  }

  async #rows(
    name: 'queryTable' | 'tableChanges',
    request: Fields,
    options: OperationOptions,
  ): Promise<string> {
    const { limits } = this.#served
    const limit = limitFor(request.limit, limits)
    // One row more tells whether there are others.
    const asked = { ...request, limit: isCount(limit) ? limit + 1 : limit }
    const { data } = await this.#workspace.run(name, asked, options)
    return rowsText(data as Uint8Array, (request.offset ?? 0) as number, limit as number, limits)
  }

  /** The request with its rows in the types of their columns, and the bytes that it takes about. */
  async #typed(name: OperationName, request: Fields, options: OperationOptions, notes: string[]) {
    const text = JSON.stringify(request)
    const bytes = Buffer.byteLength(text)
    if (!Array.isArray(request.data)) return { typed: request, bytes }
    try {
      const rows = parseJson(JSON.stringify(request.data)) as readonly unknown[]
      const data = TextRows.of(rows, (row) => `row ${row}`)
      const typed = await this.#workspace.read(options, (catalog, inside) =>
        withTypedRows(catalog, name, { ...request, data }, inside, (note) => notes.push(inTool(note))),
      )
      return { typed, bytes }
    } catch (error) {
      throw error instanceof UsageError
        ? new CatalogError('InvalidInput', `data: ${inTool(error.message).replace(/\.?$/, '.')}`)
        : error
    }
  }

  /** The tool whose last change was taken back; null when there was none. */
  async #undo(options: CallOptions): Promise<string | null> {
    const undone = await this.#workspace.undo(options)
    return undone === undefined ? null : toolName(undone)
  }

  async #performOwn({ name }: OwnTool, given: Fields, options: CallOptions): Promise<string> {
    checkArguments(name, { properties: {} }, given)
    const workspace = this.#workspace
    const answer =
      name === 'commit'
        ? // A commit that began is not stopped.
          { committed_changes: await workspace.commit() }
        : name === 'rollback'
          ? { undone_changes: await workspace.rollBack() }
          : { undone: await this.#undo(options) }
    const text = JSON.stringify({ ...answer, uncommitted_changes: workspace.size })
    return requireSize(text, this.#served.limits, 'Ask for less')
  }
}

/** The texts about rows name options of the command line. */
function inTool(text: string): string {
  return text.replaceAll('--schema', 'schema')
}
