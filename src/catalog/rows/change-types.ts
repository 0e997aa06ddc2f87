import type { Schema } from '@uwdata/flechette'
import type { Identifier } from '../../base/model/identifier.ts'
import type { Reader } from '../../base/store/store.ts'
import type { RowChange } from '../../engine/lance/index.ts'
import type {
  ApplyOptions,
  ArrowRows,
  ChangeResult,
  RowCounts,
  Snapshot,
  TableEngine,
  WorkOptions,
  WritingEngine,
} from '../../engine/table/index.ts'
import type { MakeManifest } from '../lance/own-version.ts'
import type { ChangeInline } from '../locations/inline-objects.ts'
import type { ContentFolder } from '../locations/locations.ts'
import type { FoundTable } from '../lookup/names.ts'
import type { FoundVersion } from '../lookup/versions.ts'
import type { LongTransaction } from '../transactions/long-transaction.ts'

/** A table whose rows are to be changed, as it was at the start. */
export interface TableToChange {
  readonly id: Identifier
  readonly table: FoundTable
  readonly folder: ContentFolder
  readonly engine: TableEngine
  /** Its latest version; undefined when the table is declared only. */
  readonly base: Snapshot | undefined
  /** Whether the table and its head were guessed. The commit also checks that the name still leads to this table. */
  readonly isGuess?: boolean
}

/** The same table, with the engine that writes for the change. */
export interface TableToWrite extends TableToChange {
  readonly engine: WritingEngine
}

/**
 * Rows that passed the quick checks. `build` returns them as columns, and the options for the work after it, which
 * report the progress of both together.
 */
export interface PendingRows<Built extends ArrowRows = ArrowRows> {
  build(work: WorkOptions): Promise<{ readonly rows: Built; readonly work: WorkOptions }>
}

/** A change of a table's rows: how it is recorded, and its steps. */
export interface RowsChange<Checked, Prepared> {
  readonly operation: string
  readonly id: Identifier
  readonly branch: string
  /** Whether it may begin with a guess of the latest version. Then all but its commit is cheap, and may be done twice. */
  readonly mayGuess?: boolean
  /** Throws unless a condition holds, at the start and again at the commit. */
  readonly require?: (reader: Reader, table: FoundTable) => void
  /** Checks what it can before anything is recorded. `prepare` gets its result. */
  readonly check?: (found: TableToChange) => Checked | Promise<Checked>
  /** Whether it waits for rows of its caller, and so must not keep others from their work. */
  readonly awaitsSource?: boolean
  /** Does the slow work, once. */
  readonly prepare: (
    found: TableToChange,
    options: WorkOptions,
    checked: Checked,
  ) => Prepared | Promise<Prepared>
  /**
   * Makes the next version from the current one (undefined: none yet), or returns the current one to make none. It runs
   * again when another commit is first, so that changes which do not truly conflict all succeed.
   */
  readonly apply: (
    found: TableToChange,
    prepared: Prepared,
    current: Snapshot | undefined,
    options: ApplyOptions,
  ) => Promise<ChangeResult>
  /**
   * The same change for rows that Lance wrote, by their columns. Absent where Lance has no such change: it is refused
   * then.
   */
  readonly lances?: (schema: Schema, options: WorkOptions) => RowChange | Promise<RowChange>
  /**
   * The same change for a table of Lance whose manifest alone it changes: the catalog writes the next one itself. What
   * makes it loads when it is needed.
   */
  readonly lancesManifest?: () => Promise<MakeManifest>
  /** The rows that make a table of Lance where it is declared only. Absent for a change that needs rows to be there. */
  readonly first?: () => Promise<PendingRows>
  /** Stands in for the latest version if its manifest is damaged or missing. By default the change fails then. */
  readonly ifUnreadable?: Snapshot
  /** What the caller learns of the new version besides its number and its row counts. */
  readonly reported?: (made: Snapshot) => unknown
}

/** The result of a change of rows. */
export interface RowsChanged extends ChangeResult {
  readonly version: number
  /** The version that the change was applied to. */
  readonly base: Snapshot | undefined
}

/** The head of a branch, as far as this process knows. A commit compares it with the store. */
export interface KnownHead {
  /** Its latest version; undefined when the table is declared only. */
  readonly current: FoundVersion | undefined
  /** The rows of the latest version, if this process wrote them. Their manifest may not be written yet. */
  readonly snapshot?: Snapshot | undefined
  /** The number of the next version. */
  readonly version: number
  /** Whether it was guessed. That a commit does not find it tells of no rival. */
  readonly isGuess?: boolean
}

/** What is to be committed as the next version, and how. */
export interface Attempt {
  // biome-ignore lint/suspicious/noExplicitAny: what was checked and prepared is the change's own affair
  readonly change: RowsChange<any, any>
  readonly found: TableToWrite
  readonly prepared: unknown
  /** The small objects of the change. Undefined where they are files, or those of a transaction over many operations. */
  readonly inline: ChangeInline | undefined
  readonly transaction: Pick<LongTransaction, 'id' | 'recorded' | 'releaseSlot' | 'commit'>
  readonly work: WorkOptions
}

/** A branch whose rows are being changed in this process. */
export interface BranchAtWork {
  /** How many changes are under way. */
  changes: number
  head: KnownHead
  /** Changes that are ready to be committed, in the order in which they became so. */
  readonly waiting: Waiting[]
}

/** A change that waits for its commit. */
export interface Waiting {
  readonly attempt: Attempt
  /** How often another commit was first. */
  losses: number
  readonly settle: (result: { readonly made: RowsChanged } | { readonly error: unknown }) => void
  isSettled: boolean
}

/** A change of rows within a transaction over many operations, as it was made there. */
export interface RowsStep extends Pick<Attempt, 'change' | 'found' | 'prepared'> {
  readonly transactionId: string
  /** The number of the version that it made. Only the commit of the whole transaction makes this final. */
  version: number
  /** The path of its manifest, which a rebase changes, too. */
  manifest: string
  affected: number
  readonly counts?: RowCounts | undefined
  readonly reported?: unknown
}

/** The writers of one branch in this process that bring versions of their own, and wait for their turn. */
export interface VersionRow {
  /** Each records its version, and resolves to whether it was refused. */
  readonly waiting: (() => Promise<boolean>)[]
  /** Called when a writer comes. */
  wake: (() => void) | undefined
}
