import { open } from 'lmdb'

/*
 * The least a durable catalog over lmdb must do, with none of its checks: to declare a table, two puts (name,
 * table), which lmdb commits together; to describe one, two gets.
 */

const table = {
  v: 1,
  parent: '01M7WCEFDJZWA8A0J57NKEXEMR',
  name: 't0123456',
  location: null,
  properties: {},
  created_at: 1795175169456,
  main: { latest: null, last: null },
  registered: false,
}

const idOf = (name: string) => `01M7WCEFDJZWA8A0J57N${name}`

export interface RawLmdb {
  declare(name: string): Promise<unknown>
  /** Declares many in one commit. */
  declareAll(names: readonly string[]): Promise<unknown>
  /** Fills a new one, ten thousand names in a commit. */
  fill(names: readonly string[]): Promise<void>
  describe(name: string): unknown
  /** Names after a name, so many of them. */
  page(after: string, limit: number): string[]
  close(): Promise<void>
}

export function openRawLmdb(path: string): RawLmdb {
  const db = open({ path, overlappingSync: false, encoding: 'json', maxReaders: 1_024 })
  const put = (name: string) => {
    const id = idOf(name)
    // What is put in one turn is committed together, and the last promise tells of all.
    void db.put(['n', 'ns', name], id)
    return db.put(['t', id], { ...table, name })
  }
  const declareAll = (names: readonly string[]) =>
    db.childTransaction(() => {
      // Within a transaction, that one's promise tells of a failure.
      for (const name of names) void put(name)
    })
  return {
    declare: put,
    declareAll,
    async fill(names) {
      for (let from = 0; from < names.length; from += 10_000) {
        await declareAll(names.slice(from, from + 10_000))
      }
    },
    describe: (name) => db.get(['t', db.get(['n', 'ns', name]) as string]),
    page: (after, limit) => {
      const names: string[] = []
      const end = ['n', 'ns', '\u{10FFFF}']
      for (const key of db.getKeys({ start: ['n', 'ns', after], end, limit }))
        names.push((key as string[])[2]!)
      return names
    },
    close: () => db.close(),
  }
}
