import type {
  Connection,
  LancePackage,
  NativeBatches,
  NativeBlobFile,
  NativeMerge,
  NativeQuery,
  NativeTable,
  TextQueryMade,
} from '../native.ts'
import { type Recipe, recipeOf, type Step } from './messages.ts'

/* Lance's package, where it runs in another process: its methods are calls there. */

/** Where calls go. */
export interface Caller {
  /** Calls methods of a handle. Resolves to what the last one answers, and the number of its handle if it is kept. */
  call(
    on: number,
    steps: readonly Step[],
    keeps?: boolean,
  ): Promise<{ readonly value: unknown; readonly id: number }>
  release(handle: number): void
}

/** Batches of a query that were found together. */
export interface BatchesFound {
  readonly batches: readonly Uint8Array[]
  /** Whether there are no more. */
  readonly isLast: boolean
}

/** The package behind a caller. */
export function remotePackage(caller: Caller): LancePackage {
  return {
    async connectNamespace(implementation, properties, { session }) {
      const args = [implementation, properties, { session: toWire(session) }]
      const { id } = await caller.call(0, [['connectNamespace', args]], true)
      return remoteConnection(caller, id)
    },
    Session: maker('Session'),
    Index: new Proxy({} as LancePackage['Index'], {
      get: (_, name) => (options: unknown) => new Made(`Index.${String(name)}`, [options]),
    }),
    MatchQuery: maker('MatchQuery'),
    PhraseQuery: maker('PhraseQuery'),
    BoostQuery: maker('BoostQuery'),
    MultiMatchQuery: maker('MultiMatchQuery'),
    BooleanQuery: maker('BooleanQuery'),
  }
}

/** A value that is made there, where it is an argument. */
class Made implements TextQueryMade {
  readonly #recipe: Omit<Recipe, 'isInner'>

  constructor(name: string, args: readonly unknown[]) {
    this.#recipe = { name, args: args.map(toWire) }
  }

  get whole() {
    return recipeOf({ ...this.#recipe, isInner: false })
  }

  get inner() {
    return recipeOf({ ...this.#recipe, isInner: true })
  }
}

function maker(name: string): new (...args: unknown[]) => TextQueryMade {
  return class extends Made {
    constructor(...args: unknown[]) {
      super(name, args)
    }
  }
}

function toWire(value: unknown): unknown {
  if (value instanceof Made) return value.whole
  return Array.isArray(value) ? value.map(toWire) : value
}

function remoteConnection(caller: Caller, connection: number): Connection {
  return {
    async openTable(...args) {
      const { id } = await caller.call(connection, [['openTable', args]], true)
      return { inner: remoteTable(caller, id) }
    },
    inner: {
      async createTable(...args) {
        const { id } = await caller.call(connection, [['createTable', args]], true)
        return remoteTable(caller, id)
      },
    },
    close: () => caller.release(connection),
  }
}

function remoteTable(caller: Caller, table: number): NativeTable {
  return recording((name, args) => {
    if (name === 'query' || name === 'takeRowIds') return remoteQuery(caller, table, [name, args])
    if (name === 'fetchBlobFiles') return remoteBlobFiles(caller, table, args)
    if (name === 'mergeInsert') return remoteMerge(caller, table, args)
    if (name === 'close') return caller.release(table)
    return caller.call(table, [[name, args]]).then(({ value }) => value)
  })
}

/** The handle of a blob. The list of one handle is what stays there. */
async function remoteBlobFiles(
  caller: Caller,
  table: number,
  args: readonly unknown[],
): Promise<readonly NativeBlobFile[]> {
  const { id } = await caller.call(table, [['fetchBlobFiles', args]], true)
  const first: Step = ['at', [0]]
  return [
    {
      readRange: (...range) =>
        caller.call(id, [first, ['readRange', range]]).then(({ value }) => value as Uint8Array),
      close: () => caller.release(id),
    },
  ]
}

function remoteQuery(caller: Caller, table: number, begin: Step): NativeQuery {
  const made: Step[] = [begin]
  const query: NativeQuery = recording<NativeQuery>((name, args): unknown => {
    const steps: Step[] = [...made, [name, args]]
    if (name === 'execute') {
      return caller
        .call(table, steps, true)
        .then(({ value, id }) => remoteBatches(caller, id, value as BatchesFound))
    }
    if (name === 'outputSchema' || name === 'explainPlan') {
      return caller.call(table, steps).then(({ value }) => value)
    }
    made.push([name, args])
    return query
  })
  return query
}

function remoteMerge(caller: Caller, table: number, args: readonly unknown[]): NativeMerge {
  const made: Step[] = [['mergeInsert', args]]
  const merge: NativeMerge = recording<NativeMerge>((name, given): unknown => {
    made.push([name, given])
    return name === 'execute' ? caller.call(table, made).then(({ value }) => value) : merge
  })
  return merge
}

/** An object whose methods are told. It is no promise. */
function recording<T extends object>(told: (name: string, args: readonly unknown[]) => unknown): T {
  return new Proxy({} as T, {
    get: (_, name) =>
      typeof name === 'string' && name !== 'then'
        ? (...args: readonly unknown[]) => told(name, args)
        : undefined,
  })
}

/** Batches of an answer. The next ones are on their way while these are read. */
function remoteBatches(caller: Caller, batches: number, first: BatchesFound): NativeBatches {
  const ask = () => {
    const asked = caller.call(batches, []).then(({ value }) => value as BatchesFound)
    // Whoever asks for it gets the error.
    asked.catch(() => {})
    return asked
  }
  let found = first
  let at = 0
  let coming = first.isLast ? undefined : ask()
  return {
    async next() {
      while (at === found.batches.length) {
        if (coming === undefined) return null
        found = await coming
        at = 0
        coming = found.isLast ? undefined : ask()
      }
      return found.batches[at++]!
    },
    close: () => caller.release(batches),
  }
}
