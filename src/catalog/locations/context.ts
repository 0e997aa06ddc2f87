import type { Identity } from '../../base/model/fields.ts'
import type { Identifier } from '../../base/model/identifier.ts'
import type { CatalogRecord } from '../../base/store/records.ts'
import type { Access } from '../lookup/access.ts'
import type { RetentionRule } from '../lookup/retention-rule.ts'
import type { CommitContext, Staging, TransactionSettings } from '../transactions/context.ts'
import type { Heartbeat } from '../transactions/heartbeat.ts'
import type { Roots } from './locations.ts'

/** What work on the locations of tables needs of its catalog. */
export interface LocationContext extends CommitContext, Roots {
  readonly catalog: CatalogRecord
  readonly heartbeat: Heartbeat
  readonly settings: LocationSettings
  /** What the caller may do and see, where hooks decide that. */
  readonly access?: Access
  readonly staging?: LocationStaging
}

/** As {@link Staging}, for work on locations. */
export interface LocationStaging extends Staging {
  readonly outside: LocationContext
}

/** What was set when the catalog was opened, as far as locations follow from it. */
export interface LocationSettings extends TransactionSettings {
  /** Whether clients are to keep table versions through the catalog. */
  readonly managedVersioning: boolean
  /** Asked for what a client needs to reach a table's location. */
  readonly storageOptions: StorageOptionsHook | undefined
  /** The URL, without a slash at its end, below which locations of new tables are chosen; else the own root. */
  readonly tableRoot: string | undefined
  /** The same for tables that are declared, if these lie elsewhere. */
  readonly declaredRoot?: string | undefined
  /** The same for tables of formats that other protocols serve. */
  readonly formatRoot?: string | undefined
  /** How long dropped tables are held, in milliseconds. */
  readonly retainDropped: number
  /** Which versions stay, in tables without a rule of their own. */
  readonly retention: RetentionRule | undefined
}

/**
 * Answers with the options and credentials that let a client read or write at `location`, such as a
 * short-lived token; undefined when nothing is needed.
 */
export type StorageOptionsHook = (
  location: string,
  request: {
    readonly id: Identifier
    readonly identity?: Identity | undefined
    readonly context?: Readonly<Record<string, string>> | undefined
  },
) => Promise<Readonly<Record<string, string>> | undefined> | Readonly<Record<string, string>> | undefined
