import { CatalogError } from '../../base/errors.ts'
import { differingParts, isOtherHome, type StoreHome } from '../../base/store/home.ts'
import { type CatalogRecord, keys } from '../../base/store/records.ts'
import type { Reader, Store } from '../../base/store/store.ts'
import { openedReadOnly, wayOut } from './read-only.ts'

/*
 * A catalog's record says where its records lie, if the store can identify that. Anywhere else, they are a copy, such
 * as a dump that was restored into another database. The content belongs to the original: a change of the copy would
 * damage it.
 */

/** How the home of a copy differs from that of the original, as the end of a sentence; undefined for no copy. */
export function copyOf({ home }: CatalogRecord, here: StoreHome | undefined): string | undefined {
  if (!isOtherHome(home, here)) return undefined
  const facts = here === undefined ? [] : differingParts(home!, here)
  if (facts.length === 0) return 'the catalog lives on a server of PostgreSQL, and this is none'
  return facts.map((fact) => `its ${fact} has the number ${here![fact]} and not ${home![fact]}`).join(', ')
}

/**
 * Records where a catalog lies, unless its record has all facts that the store can report. A process that may not write
 * leaves this to the next one that opens the catalog.
 */
export async function recordHome(store: Store, catalog: CatalogRecord): Promise<CatalogRecord> {
  const here = store.home?.()
  if (here === undefined || Object.keys(here).every((fact) => catalog.home?.[fact] !== undefined))
    return catalog
  const recorded = await store
    .write((writer) => {
      const now = writer.get<CatalogRecord>(keys.catalog)
      if (now === undefined || isOtherHome(now.home, here)) return undefined
      const record = { ...now, home: { ...now.home, ...here } }
      writer.put(keys.catalog, record)
      return record
    })
    .catch(() => undefined)
  return recorded ?? catalog
}

/**
 * The store as an open catalog uses it. A copy is read-only. When a copy gets content of its own, it gets a new id. A
 * process that opened it before must not go on: it would use the content of the original.
 */
export function guardedStore(store: Store, { id }: CatalogRecord, copy: string | undefined): Store {
  if (copy === undefined && store.home?.() === undefined) return store
  const requireSame = (reader: Reader) => {
    const now = reader.get<CatalogRecord>(keys.catalog)
    if (now !== undefined && now.id !== id) throw becameAnother()
  }
  const guarded: Store = {
    get features() {
      return store.features
    },
    read: (body) =>
      copy === undefined
        ? store.read(body)
        : store.read((reader) => {
            requireSame(reader)
            return body(reader)
          }),
    write: (body) =>
      copy === undefined
        ? store.write((writer) => {
            requireSame(writer)
            return body(writer)
          })
        : Promise.reject(openedReadOnly('This', copy)),
    close: () => store.close(),
  }
  for (const name of optional) {
    const member = store[name] as ((...given: never[]) => unknown) | undefined
    if (member !== undefined) Object.assign(guarded, { [name]: member.bind(store) })
  }
  return guarded
}

/** The members that a store may have or not. */
const optional = [
  'guess',
  'state',
  'now',
  'inTurn',
  'isTurnTaken',
  'home',
  'metrics',
  'inspect',
  'copyTo',
] as const

function becameAnother(): CatalogError {
  return new CatalogError(
    'ServiceUnavailable',
    'The catalog was given an id and a content of its own since it was opened here. Open it again; restart its servers.',
  )
}

/** Warns that the opened catalog is a copy, and read-only. */
export function warnOfCopy(copy: string): void {
  process.emitWarning(
    `The catalog was opened for reading only: its database is a copy of the one that it lives in (${copy}), and its rows belong to the original. ${wayOut}`,
    { type: 'TabulariumWarning', code: 'TABULARIUM_COPY' },
  )
}
