import type { LocationContext, LocationSettings } from '../locations/context.ts'
import type { RowsContext, RowsSettings } from '../rows/context.ts'

/** What maintenance needs of its catalog. */
export interface MaintenanceContext extends LocationContext, RowsContext {
  /** A new internal id of a table, which its location shows: it cannot be guessed from any other id. */
  readonly newTableId: () => string
  /** Ends what engines keep running: their worker threads. */
  readonly closeEngines: () => Promise<void>
  readonly settings: MaintenanceSettings
  /** Maintenance runs outside of transactions. */
  readonly staging?: never
}

/** What was set when the catalog was opened, as far as maintenance follows from it. */
export interface MaintenanceSettings extends LocationSettings, RowsSettings {
  /** How the database differs from the one that the catalog lives in, where it is a copy of that one. */
  readonly copy?: string | undefined
}
