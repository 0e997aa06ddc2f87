import type { ErrorCode } from '../errors.ts'
import type { SubjectChange } from '../model/subject-change.ts'
import type { StoreHome } from './home.ts'
import type { Key } from './store.ts'

/*
 * The records of a catalog and their keys. Namespaces and tables have internal ids. A name maps to an id, and all
 * other records of a table or namespace are under its id. So a rename moves one record only. Namespaces and tables
 * have separate key ranges. So a listing of one kind never walks the other, and a key alone shows the kind.
 */

/** The format of these records. */
export const recordFormat = 1

/**
 * The oldest format that this release knows. The catalog's own record holds the format. Since this one, all processes
 * that use a directory lock `catalog.lock`. An older release does not, and could lose changes.
 */
export const catalogFormat = 2

/** The format of a catalog with a clone that shares files. Releases that do not know such clones refuse it. */
export const sharingFormat = 3

/**
 * The format of a catalog with inline objects: a release that does not know them would miss rows, and refuses it.
 */
export const inlineFormat = 4

/** The format of a catalog that holds dropped tables. Releases that do not know them would hold them forever. */
export const retainedFormat = 5

/** The format of a catalog that keeps answers by idempotency keys. Releases that do not know these would do it again. */
export const answersFormat = 6

/**
 * The format of a catalog with records that earlier releases cannot read: entries of the feed that name transactions,
 * and compact values in LMDB. The first change raises the format.
 */
export const compactFormat = 7

/**
 * The format of a catalog where retention works. Earlier releases would remove files that readers may still read. It came
 * with the same release.
 */
export const retentionFormat = compactFormat

/** The newest format that this release knows, and that of a new catalog. */
export const newestFormat = compactFormat

/** Every record has its format, so that a later release can distinguish formats. */
interface Versioned {
  readonly v: typeof recordFormat
}

export interface CatalogRecord {
  readonly v: number
  readonly id: string
  /** The key of page tokens. */
  readonly secret: string
  readonly created_at: number
  /** The URL of the content, if it is stored elsewhere. It changes only where a copy gets its own content. */
  readonly content?: string
  /** Where these records are, if the store knows. Elsewhere they are a copy, and the original owns the content. */
  readonly home?: StoreHome
  /** Of a copy that is getting its own id and content: their new values. */
  readonly adopting?: { readonly id: string; readonly content: string }
  /** When a copy got its own content. Older records may name rows of the original outside of it. */
  readonly adopted_at?: number
}

export interface NamespaceRecord extends Versioned {
  readonly parent: string
  readonly name: string
  readonly properties: Readonly<Record<string, string>>
  readonly created_at: number
}

/**
 * The head of a branch. `last` never decreases, so that no version number is used twice. The head of a Lance table
 * follows Lance's files instead.
 */
export interface Head {
  /** The highest version that exists. */
  readonly latest: number | null
  /** The highest version that ever existed. */
  readonly last: number | null
}

/**
 * A table's record as it is stored. It is stored under the table's name, so that describing a table takes one lookup
 * once its namespace is known. Fields with the values of a newly declared table are left out. Most tables of a large
 * catalog are like that, and short records are faster to read and write.
 */
export interface StoredTable extends Versioned {
  readonly id: string
  readonly created_at: number
  readonly location?: string
  readonly properties?: Readonly<Record<string, string>>
  readonly main?: Head
  readonly registered?: true
  readonly dropped?: HeldMark
}

/** Of a table that was dropped and is held: the identifier that it had, when it was dropped, and until when it is held. */
export interface HeldMark {
  readonly id: readonly string[]
  readonly at: number
  readonly until: number
}

/** Maps a table's internal id to its record: the id of its namespace, and its name. */
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
  /** Set while the table is dropped and held. */
  readonly dropped?: HeldMark
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
  /** Distinguishes a retry of the request that created the version from a request of another writer. */
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

/** What retention removed of the versions of a branch, the oldest first. */
export interface RetiredRecord extends Versioned {
  readonly spans: readonly RetiredSpan[]
}

/** The versions from `first` through `last` that existed were removed at a time. */
export interface RetiredSpan {
  readonly first: number
  readonly last: number
  readonly at: number
}

/** A version that retention removed. Its files stay for a time, for those who were reading them. */
export interface LeavingRecord
  extends Versioned,
    Pick<VersionRecord, 'manifest_path' | 'manifest_size' | 'e_tag' | 'bases'> {
  readonly at: number
}

/** Marks a location while the content of a dropped table is being removed from it. */
export interface RemovalRecord extends Versioned {
  readonly removing: string
  /** When the lease of the removing process ends. From then on the process counts as dead. */
  readonly until: number
}

/**
 * A clone refers to files in the folder of another table, even after that table is gone. A folder is named by its
 * path in the catalog's own root, or by its URL elsewhere.
 */
export interface ShareRecord extends Versioned {
  /** The folder that contains the files. */
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

/** The first answer to a request with an idempotency key. */
export interface AnswerRecord extends Versioned {
  readonly operation: string
  /** A hash of the request. */
  readonly request: string
  readonly at: number
  /** The transaction of the change. */
  readonly transaction: string
  /** As JSON. Absent if it was too large to keep. */
  readonly answer?: string
}

/** While a lease is valid, unreferenced content is kept, since a backup may copy it. */
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
  /** When the lease of the working process ends. From then on the transaction counts as failed. */
  readonly lease_until?: number
  readonly failure?: { readonly code: ErrorCode; readonly message: string }
  /** Of a transaction that callers opened: its owner, if callers have names, and the server that holds it. */
  readonly session?: { readonly owner?: string; readonly server?: SessionServer }
  /** Of a transaction that lost a race: the races that its retry inherits, for its priority. */
  readonly lost?: LostRaces
  /** Of a batch, which has no single subject: the caller, if the server passed one. */
  readonly principal?: string
  /** What it changed. A transaction with this member is an entry of the feed, which names it. */
  readonly changes?: readonly StoredChange[]
  /** How many further records hold the changes, where they do not fit this one. */
  readonly parts?: number
  /** The caller and the request of these changes, for readers of the feed. */
  readonly origin?: Origin
}

/** A change without what its transaction's record says: the operation, its subject, and that this is a table. */
export type StoredChange = Partial<SubjectChange> & Pick<SubjectChange, 'effect'>

/** The races that a transaction lost, together with the transactions that it retries. */
export interface LostRaces {
  /** How many of them lost a race for rows of a table. */
  readonly races: number
  /** The branches where they lost, by the id of the table and the name of the branch. */
  readonly at: readonly string[]
  /** How many of them took longer than their turn. */
  readonly outlasted: number
}

/** A server that holds an open transaction, as other servers reach it. */
export interface SessionServer {
  readonly url: string
  /** Distinguishes it from any other server that ever answers at the URL. */
  readonly instance: string
  /** The name of its machine, where the URL reaches the server only from that machine. */
  readonly machine?: string
}

/** The caller of a change, as a server named it, and the id of the request. */
export interface Origin {
  readonly principal?: string
  readonly request_id?: string
}

/** An object of a table's rows that is so small that it is in a record. */
export interface InlineRecord extends Versioned {
  /** When it was made, in milliseconds since the epoch. */
  readonly at: number
  /** In bytes. */
  readonly size: number
  /** Its bytes, compressed by DEFLATE, in base64. */
  readonly deflated: string
}

/**
 * What one commit changed. Entries are numbered in the order of the commits. They are the ids of transactions, whose
 * records hold the rest. Earlier releases stored all of this in the entry.
 */
export interface FeedRecord extends Versioned, Origin {
  readonly transaction: string
  readonly time: number
  readonly changes: readonly SubjectChange[]
  /** How many further records hold the rest of the changes, where they do not fit one. */
  readonly parts?: number
}

/** What an operation changed inside of a transaction. Never stored: the commit merges these into one entry. */
export interface StagedChangeRecord extends Versioned, Origin {
  /** Its position in the order of the operations. */
  readonly at: number
  readonly changes: readonly SubjectChange[]
}

/** The internal id of the root namespace. */
export const rootId = ''

/** In place of the id of a namespace, of tables that are dropped and held. No identifier leads there. */
export const droppedId = '-dropped'

/** The first part of the keys of namespaces, tables and what belongs to them: the kind of the record. */
export const kinds = {
  name: 'n',
  namespace: 's',
  tablePointer: 't',
  version: 'v',
  tag: 'g',
  branch: 'b',
  stagedChange: 'e',
} as const

export const keys = {
  catalog: ['c'] as Key,
  /** All names in a namespace: first namespaces, then tables. */
  names: (parent: string): Key => [kinds.name, parent],
  /** The internal id of a namespace, by its name. */
  namespaceName: (parent: string, name: string): Key => [kinds.name, parent, 'n', name],
  namespaceNames: (parent: string): Key => [kinds.name, parent, 'n'],
  /** A table's record, by its name. */
  table: (parent: string, name: string): Key => [kinds.name, parent, 't', name],
  tables: (parent: string): Key => [kinds.name, parent, 't'],
  namespace: (id: string): Key => [kinds.namespace, id],
  tablePointer: (id: string): Key => [kinds.tablePointer, id],
  tablePointers: [kinds.tablePointer] as Key,
  version: (table: string, branch: string, version: number): Key => [kinds.version, table, branch, version],
  versions: (table: string, branch: string): Key => [kinds.version, table, branch],
  allVersions: (table: string): Key => [kinds.version, table],
  tag: (table: string, tag: string): Key => [kinds.tag, table, tag],
  tags: (table: string): Key => [kinds.tag, table],
  branch: (table: string, branch: string): Key => [kinds.branch, table, branch],
  branches: (table: string): Key => [kinds.branch, table],
  transaction: (id: string): Key => ['x', id],
  transactions: ['x'] as Key,
  /** A mark represents a number of changes up to a transaction; see `transactions/retention.ts`. */
  mark: (transaction: string): Key => ['m', transaction],
  marks: ['m'] as Key,
  /**
   * The internal id of the table that owns a location, unless the catalog chose the location. While the content of a
   * dropped table is being removed, the removal record of the location.
   */
  location: (segments: readonly string[]): Key => ['l', ...segments],
  locations: ['l'] as Key,
  /**
   * The path of a deregistered table's registration, by the table's location. Without a registration, the path of the
   * folder: the location stays reserved.
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
  /** The transactions of commits, by the numbers of the commits. */
  feed: ['f'] as Key,
  /** The changes of a commit that has more of them than fit its entry. */
  feedPart: (transaction: string, part: number): Key => ['p', transaction, part],
  /** What an operation changed inside of a transaction over many operations. */
  stagedChange: (transaction: string): Key => [kinds.stagedChange, transaction],
  /** How many vacuums have begun. */
  vacuums: ['w'] as Key,
  /** What retention removed of the versions of a branch. */
  retired: (table: string, branch: string): Key => ['r', table, branch],
  retiredOf: (table: string): Key => ['r', table],
  /** A version that retention removed, while its files stay. */
  leaving: (table: string, branch: string, version: number): Key => ['u', table, branch, version],
  leavingOf: (table: string): Key => ['u', table],
  allLeaving: ['u'] as Key,
  /** That a table has a rule of retention of its own. */
  ruled: (table: string): Key => ['q', table],
  allRuled: ['q'] as Key,
  /** That a transaction named a version of a table: none of them is removed before it has ended. */
  pin: (table: string, transaction: string): Key => ['y', table, transaction],
  pins: (table: string): Key => ['y', table],
  allPins: ['y'] as Key,
  /** That a clone refers to files in a folder, by hashes of both folders' names. Each pair has two keys. */
  shareBySource: (source: string, clone: string): Key => ['o', 's', source, clone],
  sharesOfSource: (source: string): Key => ['o', 's', source],
  sharesBySource: ['o', 's'] as Key,
  shareByClone: (clone: string, source: string): Key => ['o', 'c', clone, source],
  sharesOfClone: (clone: string): Key => ['o', 'c', clone],
  /** The first answer to a request, by a hash of its caller and its idempotency key. */
  answer: (request: string) => ['a', 'k', request] as Key,
  /** When an answer was given: the oldest come first. */
  answerTime: (transaction: string, request: string) => ['a', 't', transaction, request] as Key,
  answerTimes: ['a', 't'] as Key,
  /** An inline object, by the segments of its path below the catalog's own root. */
  inline: (segments: readonly string[]): Key => ['j', ...segments],
}

/** Whether a key is that of a namespace's name. */
export function isNamespaceName(key: Key): boolean {
  return key.length === 4 && key[0] === kinds.name && key[2] === 'n'
}

/** Whether a key is that of a table's name, whose record is the table's. */
export function isTableName(key: Key): boolean {
  return key.length === 4 && key[0] === kinds.name && key[2] === 't'
}
