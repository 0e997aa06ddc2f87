import { CatalogError, type LocalCatalog, type Transaction } from 'tabularium'

type Row = Readonly<Record<string, unknown>>

/** The tables of one session of an agent: a namespace of its own, which is left as it was when a step fails. */
export class Session {
  readonly #catalog: LocalCatalog
  readonly #id: string[]

  private constructor(catalog: LocalCatalog, id: string[]) {
    this.#catalog = catalog
    this.#id = id
  }

  /** Opens a session, a new one or one of an earlier run. */
  static async open(catalog: LocalCatalog, name: string): Promise<Session> {
    await catalog.createNamespace({ id: ['sessions'], mode: 'ExistOk' })
    await catalog.createNamespace({ id: ['sessions', name], mode: 'ExistOk' })
    return new Session(catalog, ['sessions', name])
  }

  /** Runs a step of the agent. What it changes in all tables is there at once, or nothing of it when it throws. */
  step<T>(work: (tx: Transaction, id: (table: string) => string[]) => Promise<T>): Promise<T> {
    return this.#catalog.transaction((tx) => work(tx, (table) => this.id(table)))
  }

  /** Names what all tables of the session hold now. */
  checkpoint(name: string): Promise<void> {
    return this.#catalog.transaction(async (tx) => {
      for await (const id of tx.tables({ id: this.#id })) {
        const { version } = await tx.describeTable({ id, load_detailed_metadata: true })
        await tx.createTableTag({ id, tag: name, version: version! })
      }
    })
  }

  /** Takes all tables back to a checkpoint. Those that came later are dropped. The way there stays in the history. */
  goBack(name: string): Promise<void> {
    return this.#catalog.transaction(async (tx) => {
      for await (const id of tx.tables({ id: this.#id })) {
        const version = await versionOf(tx, id, name)
        if (version === undefined) await tx.dropTable({ id })
        else await tx.restoreTable({ id, version })
      }
    })
  }

  /**
   * Tries new rows on a branch, where nobody else sees them. They come to the table when `judge` says so. The branch
   * is gone afterwards.
   */
  async attempt(
    table: string,
    rows: readonly Row[],
    judge: (count: (predicate: string) => Promise<number>) => Promise<boolean>,
  ): Promise<boolean> {
    const id = this.id(table)
    const branch = 'attempt'
    await this.#catalog.createTableBranch({ id, name: branch })
    try {
      await this.#catalog.insertIntoTable({ id, branch, data: rows })
      const isGood = await judge(
        async (predicate) => (await this.#catalog.countTableRows({ id, branch, predicate })).count,
      )
      if (isGood) await this.#catalog.insertIntoTable({ id, data: rows })
      return isGood
    } finally {
      await this.#catalog.deleteTableBranch({ id, name: branch })
    }
  }

  /** Forgets the session and its tables. */
  async end(): Promise<void> {
    await this.#catalog.transaction(async (tx) => {
      for await (const id of tx.tables({ id: this.#id })) await tx.dropTable({ id })
      await tx.dropNamespace({ id: this.#id })
    })
  }

  id(table: string): string[] {
    return [...this.#id, table]
  }
}

async function versionOf(tx: Transaction, id: readonly string[], tag: string): Promise<number | undefined> {
  try {
    return (await tx.getTableTagVersion({ id, tag })).version
  } catch (error) {
    if (error instanceof CatalogError && error.code === 'TableTagNotFound') return undefined
    throw error
  }
}
