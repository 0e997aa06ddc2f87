import type { ErrorCode } from '../errors.ts'
import type { StoreHome } from './home.ts'
import type { Key } from './store.ts'

/*
 * The records of a catalog and their keys. Namespaces and tables have internal ids. A name leads to an id, and all
 * other records of a table or namespace lie under its id, so that a rename moves one record only. The keys of
 * namespaces and tables lie apart. So a listing of one kind never walks the other, and a key alone tells the kind.
 */

/** The format of these records. */
export const recordFormat = 1

/**
 * The format of a new catalog as a whole, which its own record carries. A release opens this one, `sharingFormat` and no other. Since format 2,
 * all processes that use a directory lock `catalog.lock`; an older release does not, and could lose changes.
 */
export const catalogFormat = 2

/** The format of a catalog in which a clone was made that shares files: releases that do not know of that refuse it. */
export const sharingFormat = 3

/** Every record carries its format, so that a later release can tell formats apart. */
interface Versioned {
  readonly v: typeof recordFormat
}

export interface CatalogRecord {
  readonly v: number
  readonly id: string
  /** The key of page tokens. */
  readonly secret: string
  readonly created_at: number
  /** The URL of the content, if rows lie elsewhere than the records. It changes only where a copy gets one of its own. */
  readonly content?: string
  /** Where these records lie, if the store can tell. Elsewhere, they are a copy, and the content is another catalog's. */
  readonly home?: StoreHome
  /** Of a copy that is getting an id and a content of its own: those that it will have. */
  readonly adopting?: { readonly id: string; readonly content: string }
  /** When a copy got its own; what it held then may name rows of the original outside of its content. */
  readonly adopted_at?: number
}

export interface NamespaceRecord extends Versioned {
  readonly parent: string
  readonly name: string
  readonly properties: Readonly<Record<string, string>>
  readonly created_at: number
}

/**
 * The head of a branch. `last` never decreases, so that no version number is used twice. Of a table of Lance, the head
 * follows Lance's files instead.
 */
export interface Head {
  /** The highest version that exists. */
  readonly latest: number | null
  /** The highest version that ever existed. */
  readonly last: number | null
}

/**
 * A table's record as it is stored. It lies under the table's name, so that describing a table takes one lookup once
 * its namespace is known. It leaves out fields that are as in a table just declared: most tables of a large catalog
 * are like that, and a short record is read and written faster.
 */
export interface StoredTable extends Versioned {
  readonly id: string
  readonly created_at: number
  readonly location?: string
  readonly properties?: Readonly<Record<string, string>>
  readonly main?: Head
  readonly registered?: true
}

/** Leads from a table's internal id to its record: the id of its namespace, and its name. */
export type TablePointer = readonly [parent: string, name: string]

/** A table's record as operations use it. */
export interface TableRecord {
  readonly parent: string
  readonly name: string
  /** Null when the catalog chose the location, which then follows from the table's internal id. */
  readonly location: string | null
  readonly properties: Readonly<Record<string, string>>
  readonly created_at: number
  /** The head of the main branch. */
  readonly main: Head
  /** Whether the content existed before the table: another engine may have written it, with its own versions. */
  readonly registered: boolean
}

export interface VersionRecord extends Versioned {
  readonly manifest_path: string
  readonly manifest_size?: number
  readonly e_tag?: string
  readonly timestamp_millis: number
  readonly metadata?: Readonly<Record<string, string>>
  readonly naming_scheme?: string
  /** Where a writer put the manifest that became `manifest_path`. */
  readonly staging_path?: string
  readonly transaction_id: string
  /** Tells a retry of the request that created the version from a request of another writer. */
  readonly request_key?: string
  /** The number of rows that are not deleted. Set only when our own engine wrote the version. */
  readonly rows?: number
  /** The folders of other tables whose files the version may name; see `ManifestRef`. Set only where there are some. */
  readonly bases?: readonly string[]
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

/** Marks a location while the content of a dropped table is being removed from it. */
export interface RemovalRecord extends Versioned {
  readonly removing: string
  /** When the lease of the removing process ends; then it counts as dead. */
  readonly until: number
}

/**
 * A clone names files in a folder of another table, be that table still there or not. A folder is named by its path in
 * the catalog's own root, or by its URL elsewhere.
 */
export interface ShareRecord extends Versioned {
  /** The folder that the files lie in. */
  readonly source: string
  /** The folder of the clone. */
  readonly clone: string
}

/** The identifier that a table had when it was deregistered. */
export interface FormerRecord extends Versioned {
  /** The path of the registration, as the record of the location has it. */
  readonly path: string
  readonly id: readonly string[]
}

/** While a lease is valid, content that nothing refers to any more stays, since a backup may copy it. */
export interface BackupLeaseRecord extends Versioned {
  readonly until: number
}

/** While a lease is valid, its holder does a task that one process does at a time. */
export interface TaskRecord extends Versioned {
  readonly holder: string
  readonly until: number
}

export type TransactionStatus = 'Queued' | 'Running' | 'Succeeded' | 'Failed' | 'Canceled'

export interface TransactionRecord extends Versioned {
  readonly status: TransactionStatus
  readonly operation: string
  readonly created_at: number
  /** The properties that callers set. */
  readonly properties: Readonly<Record<string, string>>
  /** The identifier of the changed table or namespace at the time. */
  readonly subject: readonly string[]
  /** The internal id of the subject. Absent for batches, and before the subject is created. */
  readonly subject_id?: string
  /** The internal ids of the tables that a batch changed. */
  readonly subject_ids?: readonly string[]
  readonly finished_at?: number
  /** When the lease of the process at work ends; then the transaction counts as failed. */
  readonly lease_until?: number
  readonly failure?: { readonly code: ErrorCode; readonly message: string }
  /** Of a transaction that was begun for others to work in: who began it, if callers have names, and where it is held. */
  readonly session?: { readonly owner?: string; readonly server?: SessionServer }
  /** Of a transaction that lost a race: what that earns the one that does it again. */
  readonly lost?: LostRaces
  /** Of a batch, which has no single subject: who asked for it, if a server told. */
  readonly principal?: string
}

/** What a transaction lost, together with those that it did again. */
export interface LostRaces {
  /** How many of them lost a race at rows of a table. */
  readonly races: number
  /** The branches where they lost, by the id of the table and the name of the branch. */
  readonly at: readonly string[]
  /** How many of their turns ended before they did. */
  readonly outlasted: number
}

/** A server that holds an open transaction, as other servers reach it. */
export interface SessionServer {
  readonly url: string
  /** Tells it from any other server that ever answers at the URL. */
  readonly instance: string
  /** The name of its machine, where the URL leads there only from that machine. */
  readonly machine?: string
}

/** Versions of one branch, from the first through the last. Without `branch`, those of the main branch. */
export interface VersionSpan {
  readonly branch?: string
  readonly first: number
  readonly last: number
}

/** What a commit did to one namespace or table. */
export interface SubjectChange {
  /** The operation that did it, such as `InsertIntoTable`. */
  readonly operation: string
  readonly kind: 'namespace' | 'table'
  /** The identifier that the subject had before; of a new one, the identifier that it got. */
  readonly id: readonly string[]
  /**
   * What became of it. Of what was `created`, `replaced` or `removed`, all that was at the identifier and below it is
   * gone. What was `moved` now has the identifier `to`.
   */
  readonly effect: 'created' | 'replaced' | 'changed' | 'moved' | 'removed'
  readonly to?: readonly string[]
  /** The versions that it made. */
  readonly versions?: readonly VersionSpan[]
  /** The versions that it removed. */
  readonly removed_versions?: readonly VersionSpan[]
  /** The tags that it set. */
  readonly tags?: readonly { readonly name: string; readonly branch?: string; readonly version: number }[]
  readonly removed_tags?: readonly string[]
  /** The branches that it made. */
  readonly branches?: readonly string[]
  readonly removed_branches?: readonly string[]
  /** Within a transaction over many operations: the id under which the operation can be described. */
  readonly transaction_id?: string
}

/** Who asked for a change: the caller that a server named, and the id of the request. */
export interface Origin {
  readonly principal?: string
  readonly request_id?: string
}

/** What one commit changed. Entries are numbered in the order of the commits. */
export interface FeedRecord extends Versioned, Origin {
  readonly transaction: string
  readonly time: number
  readonly changes: readonly SubjectChange[]
  /** How many further records hold the rest of the changes, where these are many. */
  readonly parts?: number
}

/** What an operation inside of a transaction changed. It is never stored: the commit makes an entry of all of them. */
export interface StagedChangeRecord extends Versioned, Origin {
  /** Its place in the order of the operations. */
  readonly at: number
  readonly changes: readonly SubjectChange[]
}

/** The internal id of the root namespace. */
export const rootId = ''

export const keys = {
  catalog: ['c'] as Key,
  /** All names in a namespace: first namespaces, then tables. */
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
  /** A mark stands for a number of changes up to a transaction; see `transactions/retention.ts`. */
  mark: (transaction: string): Key => ['m', transaction],
  marks: ['m'] as Key,
  /**
   * The internal id of the table that owns a location, unless the catalog chose the location. While the content of a
   * dropped table is being removed, the removal record of the location.
   */
  location: (segments: readonly string[]): Key => ['l', ...segments],
  locations: ['l'] as Key,
  /**
   * The path of the registration of a deregistered table, by the table's location. Where there was nothing to
   * register, the path of the folder: the location waits all the same.
   */
  registration: (segments: readonly string[]): Key => ['d', ...segments],
  registrations: ['d'] as Key,
  /** The identifier that a deregistered table had, by a hash of the name of its registration's folder. */
  formerIdentifier: (folder: string): Key => ['i', folder],
  backupLease: (id: string): Key => ['h', id],
  backupLeases: ['h'] as Key,
  /** The lease of a task that one process does at a time. */
  task: (name: readonly string[]): Key => ['k', ...name],
  tasks: ['k'] as Key,
  /** What commits changed, by their numbers. */
  feed: ['f'] as Key,
  /** The changes of a commit that has more of them than fit its entry. */
  feedPart: (transaction: string, part: number): Key => ['p', transaction, part],
  /** What an operation changed inside of a transaction over many operations. */
  stagedChange: (transaction: string): Key => ['e', transaction],
  /** How many vacuums have begun. */
  vacuums: ['w'] as Key,
  /** That a clone names files in a folder, by hashes of the names of both folders. There are two keys for each pair. */
  shareBySource: (source: string, clone: string): Key => ['o', 's', source, clone],
  sharesOfSource: (source: string): Key => ['o', 's', source],
  sharesBySource: ['o', 's'] as Key,
  shareByClone: (clone: string, source: string): Key => ['o', 'c', clone, source],
  sharesOfClone: (clone: string): Key => ['o', 'c', clone],
}

/** Whether a key is that of a namespace's name. */
export function isNamespaceName(key: Key): boolean {
  return key.length === 4 && key[0] === 'n' && key[2] === 'n'
}
