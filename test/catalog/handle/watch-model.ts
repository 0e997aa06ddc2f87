import type { Catalog, CommittedChange, SubjectChange } from '../../../src/tabularium/index.ts'

/*
 * What a reader of the feed knows who knows nothing else: identifiers, versions, tags and branches. It acts on effects
 * alone, and on no operation's name.
 */

interface KnownTable {
  readonly versions: Map<string, Set<number>>
  readonly tags: Map<string, string>
  readonly branches: Set<string>
}

export class Replayed {
  readonly namespaces = new Set<string>()
  readonly tables = new Map<string, KnownTable>()

  take({ changes }: Pick<CommittedChange, 'changes'>): void {
    for (const change of changes) this.#apply(change)
  }

  #apply(change: SubjectChange): void {
    const id = keyOf(change.id)
    if (change.effect === 'created' || change.effect === 'replaced' || change.effect === 'removed')
      this.#forget(id)
    if (change.effect === 'removed') return
    if (change.kind === 'namespace') {
      this.namespaces.add(id)
      return
    }
    const table = this.tables.get(id) ?? { versions: new Map(), tags: new Map(), branches: new Set() }
    if (change.effect === 'moved') this.tables.delete(id)
    this.tables.set(change.effect === 'moved' ? keyOf(change.to!) : id, table)
    for (const branch of change.branches ?? []) table.branches.add(branch)
    for (const branch of change.removed_branches ?? []) {
      table.branches.delete(branch)
      table.versions.delete(branch)
    }
    for (const { branch = '', first, last } of change.versions ?? []) {
      const versions = table.versions.get(branch) ?? new Set()
      for (let version = first; version <= last; version++) versions.add(version)
      table.versions.set(branch, versions)
    }
    for (const { branch = '', first, last } of change.removed_versions ?? [])
      for (let version = first; version <= last; version++) table.versions.get(branch)?.delete(version)
    for (const { name, branch = '', version } of change.tags ?? [])
      table.tags.set(name, `${branch}@${version}`)
    for (const name of change.removed_tags ?? []) table.tags.delete(name)
  }

  #forget(id: string): void {
    const isWithin = (other: string) => other === id || other.startsWith(`${id}/`)
    for (const other of this.namespaces) if (isWithin(other)) this.namespaces.delete(other)
    for (const other of this.tables.keys()) if (isWithin(other)) this.tables.delete(other)
  }

  /** What it knows, to be compared. */
  shown(): unknown {
    const tables = [...this.tables].map(([id, { versions, tags, branches }]) => [
      id,
      {
        versions: sorted(
          [...versions].map(([branch, all]) => [branch, [...all].sort((a, b) => a - b)]),
        ).filter(([, all]) => (all as unknown[]).length > 0),
        tags: sorted([...tags]),
        branches: [...branches].sort(),
      },
    ])
    return { namespaces: [...this.namespaces].sort(), tables: sorted(tables as [string, unknown][]) }
  }
}

/** The same of a catalog, by its listings. */
export async function listed(catalog: Catalog): Promise<unknown> {
  const namespaces: string[] = []
  const pending: string[][] = [[]]
  for (let id = pending.pop(); id !== undefined; id = pending.pop()) {
    for await (const child of catalog.namespaces({ id })) {
      namespaces.push(keyOf(child))
      pending.push([...child])
    }
  }
  const tables: [string, unknown][] = []
  for await (const id of catalog.allTables()) {
    const own = { id: [...id] }
    const branches: string[] = []
    for await (const { name } of catalog.branches(own)) branches.push(name)
    const versions: [string, number[]][] = []
    for (const branch of ['', ...branches]) {
      const all: number[] = []
      for await (const { version } of catalog.versions({ ...own, branch })) all.push(version)
      if (all.length > 0) versions.push([branch, all])
    }
    const tags: [string, string][] = []
    for await (const { name, version, branch } of catalog.tags(own))
      tags.push([name, `${branch ?? ''}@${version}`])
    tables.push([keyOf(id), { versions: sorted(versions), tags: sorted(tags), branches: branches.sort() }])
  }
  return { namespaces: namespaces.sort(), tables: sorted(tables) }
}

function keyOf(id: readonly string[]): string {
  return id.join('/')
}

function sorted<T extends readonly [string, unknown]>(entries: readonly T[]): T[] {
  return [...entries].sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
}

/** The next changes of a watch, so many. */
export async function take(
  changes: AsyncIterator<CommittedChange>,
  count: number,
): Promise<CommittedChange[]> {
  const taken: CommittedChange[] = []
  while (taken.length < count) {
    const { value, done } = await changes.next()
    if (done) break
    taken.push(value as CommittedChange)
  }
  return taken
}

/** All changes from a token through the last one that is there. The catalog must be at rest. */
export async function changesSince(catalog: Catalog, since: string): Promise<CommittedChange[]> {
  const end = await catalog.watch().token()
  const all: CommittedChange[] = []
  if (since === end) return all
  for await (const change of catalog.watch({ since })) {
    all.push(change)
    if (change.token === end) break
  }
  return all
}
