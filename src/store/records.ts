import type { ErrorCode } from '../errors.ts'
import type { Key } from './store.ts'

/*
 * What a catalog keeps in its store, and under which keys. Namespaces and tables have internal ids. What has a
 * name is found by it, and all that belongs to it lies under its id, so that a rename moves one record however
 * much hangs below it. Namespaces and tables lie apart, so that listing some never walks through the others,
 * and a key alone tells what it names.
 */

/** The format these records are written in. */
export const recordFormat = 1

/**
 * The format of a catalog as a whole, which its own record carries; a release opens no other. Since 2, all
 * processes that use a directory take turns by `catalog.lock`: one of a release that does not could lose changes.
 */
export const catalogFormat = 2

/** Carried by every record, so that a later format can be told apart. */
interface Versioned {
  readonly v: typeof recordFormat
}

export interface CatalogRecord {
  readonly v: number
  readonly id: string
  /** Seals page tokens. */
  readonly secret: string
  readonly created_at: number
}

export interface NamespaceRecord extends Versioned {
  readonly parent: string
  readonly name: string
  readonly properties: Readonly<Record<string, string>>
  readonly created_at: number
}

/** How far a branch has come. `last` never goes back, so that no version number is given twice. */
export interface Head {
  /** The highest version that exists. */
  readonly latest: number | null
  /** The highest version that ever existed. */
  readonly last: number | null
}

/**
 * A table's record as it is stored, under its name, so that describing a table takes one look-up once its
 * namespace is known. It says only what sets the table apart from one that was just declared: most tables of a
 * large catalog are like that, and a short record is read and written faster.
 */
export interface StoredTable extends Versioned {
  readonly id: string
  readonly created_at: number
  readonly location?: string
  readonly properties?: Readonly<Record<string, string>>
  readonly main?: Head
  readonly registered?: true
}

/** Where a table's record is, for those who know its internal id: in which namespace, under which name. */
export type TablePointer = readonly [parent: string, name: string]

/** A table as operations see it. */
export interface TableRecord {
  readonly parent: string
  readonly name: string
  /** Null when the content lies where the catalog chose, which follows from the table's internal id. */
  readonly location: string | null
  readonly properties: Readonly<Record<string, string>>
  readonly created_at: number
  /** The head of the main branch. */
  readonly main: Head
  /** The content was there before the name: it may be another engine's, with versions of its own. */
  readonly registered: boolean
}

export interface VersionRecord extends Versioned {
  readonly manifest_path: string
  readonly manifest_size?: number
  readonly e_tag?: string
  readonly timestamp_millis: number
  readonly metadata?: Readonly<Record<string, string>>
  readonly naming_scheme?: string
  readonly transaction_id: string
  /** Rows that are not deleted; there only when our data engine wrote the version. */
  readonly rows?: number
}

export interface TagRecord extends Versioned {
  readonly branch: string
  readonly version: number
}

export interface BranchRecord extends Versioned {
  readonly head: Head
  readonly parent_branch: string
  readonly parent_version: number
  readonly created_at: number
}

/** Stands under a location while the content of a table that was dropped is being removed. */
export interface RemovalRecord extends Versioned {
  readonly removing: string
  /** After this the process at work counts as gone. */
  readonly until: number
}

/** While one is there and not over its time, the content of what was given up stays: somebody copies it. */
export interface HoldRecord extends Versioned {
  readonly until: number
}

export type TransactionStatus = 'Queued' | 'Running' | 'Succeeded' | 'Failed' | 'Canceled'

export interface TransactionRecord extends Versioned {
  readonly status: TransactionStatus
  readonly operation: string
  readonly created_at: number
  /** What callers set, besides what is derived from the fields above. */
  readonly properties: Readonly<Record<string, string>>
  /** The identifier of the table or namespace changed, as it was named then. */
  readonly subject: readonly string[]
  /** Its internal id, which tells it from others of that name; absent for batches, and before it is created. */
  readonly subject_id?: string
  readonly finished_at?: number
  /** Until when the process at work keeps it Running; after that it counts as failed. */
  readonly lease_until?: number
  readonly failure?: { readonly code: ErrorCode; readonly message: string }
}

/** The internal id of the root namespace. */
export const rootId = ''

export const keys = {
  catalog: ['c'] as Key,
  /** All that has a name in a namespace: first its namespaces, then its tables. */
  names: (parent: string): Key => ['n', parent],
  /** The internal id of a namespace, by its name. */
  namespaceName: (parent: string, name: string): Key => ['n', parent, 'n', name],
  namespaceNames: (parent: string): Key => ['n', parent, 'n'],
  /** A table's record, by its name. */
  table: (parent: string, name: string): Key => ['n', parent, 't', name],
  tables: (parent: string): Key => ['n', parent, 't'],
  namespace: (id: string): Key => ['s', id],
  tablePointer: (id: string): Key => ['t', id],
  tablePointers: ['t'] as Key,
  version: (table: string, branch: string, version: number): Key => ['v', table, branch, version],
  versions: (table: string, branch: string): Key => ['v', table, branch],
  allVersions: (table: string): Key => ['v', table],
  tag: (table: string, tag: string): Key => ['g', table, tag],
  tags: (table: string): Key => ['g', table],
  branch: (table: string, branch: string): Key => ['b', table, branch],
  branches: (table: string): Key => ['b', table],
  transaction: (id: string): Key => ['x', id],
  transactions: ['x'] as Key,
  /** Marks that stand for a number of changes up to a transaction; see the housekeeping of operations. */
  mark: (transaction: string): Key => ['m', transaction],
  marks: ['m'] as Key,
  /**
   * Who owns a location that the catalog did not choose, by internal id; of any location, that it is being
   * emptied of a dropped table.
   */
  location: (segments: readonly string[]): Key => ['l', ...segments],
  locations: ['l'] as Key,
  /** The path of what was written down when the table at a location was deregistered, until it is back. */
  registration: (segments: readonly string[]): Key => ['d', ...segments],
  registrations: ['d'] as Key,
  hold: (id: string): Key => ['h', id],
  holds: ['h'] as Key,
}

/** Whether a key is that of a namespace's name. */
export function isNamespaceName(key: Key): boolean {
  return key.length === 4 && key[0] === 'n' && key[2] === 'n'
}
