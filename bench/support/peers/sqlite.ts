/*
 * A catalog as one would write it by hand: one table of SQLite, an index for its key, prepared statements.
 * It checks nothing, keeps no transactions, and knows namespaces by name only.
 */

/** What is kept for each commit: `full` syncs it before it is acknowledged, `normal` later, `none` never. */
export type Durability = 'full' | 'normal' | 'none'

export interface SqliteCatalog {
  describe(name: string): unknown
  exists(name: string): unknown
  page(after: string, limit: number): unknown[]
  /** The same, counting from the beginning, as many do it. */
  pageAt(offset: number, limit: number): unknown[]
  declare(name: string): void
  rename(name: string, to: string): void
  drop(name: string): void
  createVersion(name: string, version: number): void
  /** Declares many in one commit. */
  declareAll(names: Iterable<string>): void
  close(): void
}

export async function openSqlite(path: string, durability: Durability): Promise<SqliteCatalog> {
  const { default: Database } = await import('better-sqlite3')
  // Its writers wait for each other in no order, some for long.
  const db = new Database(path, { timeout: 60_000 })
  if (durability !== 'none') db.pragma('journal_mode = WAL')
  db.pragma(`synchronous = ${{ full: 'FULL', normal: 'NORMAL', none: 'OFF' }[durability]}`)
  db.exec(`
    CREATE TABLE IF NOT EXISTS tables (
      namespace TEXT, name TEXT, location TEXT, properties TEXT, created_at INTEGER,
      PRIMARY KEY (namespace, name)) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS versions (
      namespace TEXT, name TEXT, version INTEGER, manifest TEXT, created_at INTEGER,
      PRIMARY KEY (namespace, name, version)) WITHOUT ROWID`)
  const describe = db.prepare("SELECT * FROM tables WHERE namespace = 'ns' AND name = ?")
  const exists = db.prepare("SELECT 1 FROM tables WHERE namespace = 'ns' AND name = ?")
  const page = db.prepare("SELECT name FROM tables WHERE namespace = 'ns' AND name > ? ORDER BY name LIMIT ?")
  const pageAt = db.prepare("SELECT name FROM tables WHERE namespace = 'ns' ORDER BY name LIMIT ? OFFSET ?")
  const declare = db.prepare("INSERT INTO tables VALUES ('ns', ?, ?, '{}', ?)")
  const rename = db.prepare("UPDATE tables SET name = ? WHERE namespace = 'ns' AND name = ?")
  const drop = db.prepare("DELETE FROM tables WHERE namespace = 'ns' AND name = ?")
  const version = db.prepare("INSERT INTO versions VALUES ('ns', ?, ?, ?, ?)")
  const insert = (name: string) => declare.run(name, `file:///catalog/tables/${name}`, Date.now())
  const described = (name: string) => {
    const row = describe.get(name)
    return { ...row, properties: JSON.parse(row.properties) }
  }
  return {
    describe: described,
    exists: (name) => exists.get(name),
    page: (after, limit) => page.all(after, limit),
    pageAt: (offset, limit) => pageAt.all(limit, offset),
    declare: insert,
    rename: (name, to) => rename.run(to, name),
    drop: (name) => drop.run(name),
    createVersion: (name, number) => version.run(name, number, `v${number}.manifest`, Date.now()),
    declareAll: db.transaction((names: Iterable<string>) => {
      for (const name of names) insert(name)
    }),
    close: () => db.close(),
  }
}
