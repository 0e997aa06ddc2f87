import type { Schema } from '@uwdata/flechette'
import { CatalogError } from '../../../base/errors.ts'
import { schemaDifference } from '../../arrow/schema.ts'
import { typeName } from '../../arrow/type-name.ts'
import { treeOfSchema } from '../columns/edits.ts'
import { idsOf } from '../columns/field-tree.ts'
import { type FragmentEntry, type StoredColumns, totalsOf, withIds } from '../format/manifest.ts'
import type { LoadedSnapshot } from '../format/snapshot.ts'
import {
  idsOfSchema,
  storedColumnsOf,
  type TableSchema,
  withLayout,
  withLayoutKey,
} from '../format/table-schema.ts'
import { Job } from '../job.ts'
import { mergeLevels } from '../optimize/levels.ts'
import type { Storage } from '../storage/storage.ts'
import type { Change, Overwrite } from '../table-engine.ts'
import { reviseManifest, storeSchema, writeManifest } from './write-manifest.ts'

/** Adds fragments that were written for a table with the columns of `made`. */
export function appendChange(
  storage: Storage,
  made: LoadedSnapshot,
  written: readonly FragmentEntry[],
): Change {
  const { rows } = totalsOf(written)
  return {
    async apply(base, options) {
      const job = new Job(storage, options)
      const snapshot = base as LoadedSnapshot
      const { tail, nextId = 0 } = snapshot.body
      const { layout, columns } = layoutIn(snapshot, made)
      const isOwn = layout === (made.body.columns?.layout ?? '')
      const own = isOwn ? written : written.map((entry) => withLayoutKey(entry, layout))
      const appended = { entries: [...tail, ...withIds(own, nextId)], columns }
      const merged = isOwn ? await mergeLevels(job, snapshot, appended) : appended
      const changes = {
        columns: merged.columns,
        tail: merged.entries,
        nextId: nextId + own.reduce((sum, { rows }) => sum + rows, 0),
      }
      return { snapshot: await reviseManifest(job, snapshot, changes), affected: rows }
    },
  }
}

/**
 * The layout, in a newer version, of fragments with the columns of `made`. Refuses columns that do not fit any more.
 */
function layoutIn(
  { schema, body }: LoadedSnapshot,
  made: LoadedSnapshot,
): { layout: string; columns: StoredColumns | undefined } {
  const difference = made.schema === schema ? undefined : schemaDifference(made.schema, schema)
  if (difference === undefined) return { layout: body.columns?.layout ?? '', columns: body.columns }
  if (!lacksNullableOnly(made.schema, schema)) {
    throw new CatalogError(
      'ConcurrentModification',
      `The table's columns changed while rows were being added: ${difference}. Read the schema again and send rows that fit it.`,
    )
  }
  const written = { schema: made.body.schema, ids: idsOfSchema(made.schema) }
  const { key, stored } = withLayout(storedColumnsOf(schema), written)
  return { layout: key, columns: stored }
}

/** Whether columns equal those of another schema, except that some of the latter may be nullable. */
function lacksNullableOnly(made: TableSchema, now: TableSchema): boolean {
  const { tree } = treeOfSchema(made)
  const own = new Map(tree.map((node) => [node.id, node]))
  return (
    treeOfSchema(now).tree.every((column) => {
      const node = own.get(column.id)
      own.delete(column.id)
      if (node === undefined) return column.field.nullable
      return (
        node.field.name === column.field.name &&
        (column.field.nullable || !node.field.nullable) &&
        typeName(node.field.type) === typeName(column.field.type) &&
        idsOf([node]).join() === idsOf([column]).join()
      )
    }) && own.size === 0
  )
}

/** Replaces the whole content by fragments with a schema of their own. */
export function overwriteChange(
  storage: Storage,
  prefix: string,
  schema: Schema,
  written: readonly FragmentEntry[],
): Overwrite {
  const parts = { ...storeSchema(schema), segments: [], tail: written }
  return {
    create: async (options) => writeManifest(new Job(storage, options), prefix, parts),
    async apply(base, options) {
      const { nextId } = (base as LoadedSnapshot).body
      const snapshot = await writeManifest(new Job(storage, options), prefix, {
        ...parts,
        nextId: nextId ?? 0,
      })
      return { snapshot, affected: snapshot.rows }
    },
  }
}

/** Replaces the schema metadata as a whole. */
export function metadataChange(
  storage: Storage,
  metadata: ReadonlyMap<string, string> | Readonly<Record<string, string>>,
): Change {
  const entries = metadata instanceof Map ? [...metadata] : Object.entries(metadata as Record<string, string>)
  return {
    async apply(base, options) {
      const job = new Job(storage, options)
      const snapshot = await reviseManifest(job, base as LoadedSnapshot, { metadata: entries })
      return { snapshot, affected: 0 }
    },
  }
}

/** Writes the manifest of an earlier version again. */
export function restoreChange(storage: Storage, old: LoadedSnapshot): Change {
  return {
    async apply(base, options) {
      // The ids of rows that were added since are not used again.
      const nextId = Math.max(old.body.nextId ?? 0, (base as LoadedSnapshot).body.nextId ?? 0)
      const columns = columnsRestored(old, base as LoadedSnapshot)
      const parts = { ...old.body, nextId, columns }
      const snapshot = await writeManifest(new Job(storage, options), base.prefix, parts, old)
      return { snapshot, affected: snapshot.rows }
    },
  }
}

/**
 * Stands in for a later version whose manifest cannot be read, when `old` is restored. How many ids of rows and columns
 * were assigned since is unknown. So the next ones are greater than any that a table reaches.
 */
export function unreadableAfter(old: LoadedSnapshot): LoadedSnapshot {
  const { body, schema } = old
  const stored = storedColumnsOf(schema)
  const nextId = (body.nextId ?? 0) + 2 ** 32
  return { ...old, body: { ...body, nextId, columns: { ...stored, nextId: stored.nextId + 2 ** 16 } } }
}

/** The columns of a version that becomes current again. Ids that were assigned since are not used again. */
function columnsRestored(old: LoadedSnapshot, base: LoadedSnapshot): StoredColumns | undefined {
  const since = base.body.columns?.nextId ?? 0
  const stored = storedColumnsOf(old.schema)
  return stored.nextId >= since ? old.body.columns : { ...stored, nextId: since }
}
