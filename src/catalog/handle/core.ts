import type { CatalogError } from '../../base/errors.ts'
import type { SessionServer } from '../../base/store/records.ts'
import type { CacheUse } from '../../engine/table/index.ts'
import type { MaintenanceContext, MaintenanceSettings } from '../maintenance/context.ts'
import type {
  OperationContext,
  OperationSettings,
  SessionOwner,
  Sessions,
} from '../operations/framework/operation.ts'
import type { CatalogMetrics } from './metrics-types.ts'

/**
 * The inside of an open catalog. It satisfies the context of every folder. Only what opens, closes and watches a catalog
 * takes all of it.
 */
export interface Core extends OperationContext, MaintenanceContext {
  /**
   * What the engines that were loaded keep in memory.
   *
   * @internal Published types would need those of Arrow.
   */
  readonly cacheUse: () => CacheUse
  /** What the processes of Lance take, and why they ended. Undefined where it has none of its own. */
  readonly lanceUse: () => CatalogMetrics['lance']
  /** How often what engines read of content was in the cache on disk, and how often not. Undefined without such a cache. */
  readonly diskCacheUse: () => { readonly hits: number; readonly misses: number } | undefined
  readonly sessions: {
    of(core: OperationContext): Promise<HeldSessions>
    /** Rolls open sessions back. A later {@link of} loads them again. */
    close(): Promise<void>
  }
  readonly settings: Settings
  readonly staging?: never
}

/** What was set when the catalog was opened. */
export interface Settings extends OperationSettings, MaintenanceSettings {}

/** The open transactions, as servers and fakes see them. */
export interface HeldSessions extends Sessions {
  /** Ends one as if its idle timeout had passed. Does nothing when it is not open. */
  expire(id: string): Promise<void>
  /** The server that holds a caller's transaction, if it is another one, and how long its lease lasts. */
  serverOf(
    id: string,
    owner: SessionOwner,
  ): Promise<{ readonly server: SessionServer; readonly leaseMillis: number } | undefined>
  /** Records that the server of a transaction has ended, so that it can no longer commit. A committed one stays so. */
  serverEnded(id: string, server: SessionServer): Promise<void>
  /** The error for an operation in a transaction that is not open here. */
  refusal(id: string, owner: SessionOwner): Promise<CatalogError>
}
