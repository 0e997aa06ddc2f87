import type { Schema } from '@uwdata/flechette'
import { schemaDifference } from '../../arrow/schema.ts'
import { CatalogError } from '../../errors.ts'
import { type FragmentEntry, totalsOf } from '../format/manifest.ts'
import type { LoadedSnapshot } from '../format/snapshot.ts'
import type { Storage } from '../storage/objects.ts'
import type { ApplyOptions, Change } from '../table-engine.ts'
import { reviseManifest, storeSchema, writeManifest } from './write-manifest.ts'

/** Adds fragments that were written for a table with this schema. */
export function appendChange(storage: Storage, schema: Schema, written: readonly FragmentEntry[]): Change {
  const { rows } = totalsOf(written)
  return {
    async apply(base, options: ApplyOptions = {}) {
      const snapshot = base as LoadedSnapshot
      options.signal?.throwIfAborted()
      const difference = schemaDifference(schema, snapshot.schema)
      if (difference) {
        throw new CatalogError(
          'ConcurrentModification',
          `The table's columns changed while rows were being added: ${difference}. Read the schema again and send rows that fit it.`,
        )
      }
      const tail = [...snapshot.body.tail, ...written]
      return { snapshot: await reviseManifest(storage, snapshot, { tail }, options.version), affected: rows }
    },
  }
}

/** Replaces the whole content by fragments with a schema of their own. */
export function overwriteChange(
  storage: Storage,
  prefix: string,
  schema: Schema,
  written: readonly FragmentEntry[],
): Change & { create(options?: ApplyOptions): Promise<LoadedSnapshot> } {
  const create = (options: ApplyOptions = {}) => {
    options.signal?.throwIfAborted()
    return writeManifest(
      storage,
      prefix,
      { ...storeSchema(schema), segments: [], tail: written },
      options.version,
    )
  }
  return {
    create,
    async apply(_base, options) {
      const snapshot = await create(options)
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
    async apply(base, options: ApplyOptions = {}) {
      options.signal?.throwIfAborted()
      const changes = { metadata: entries }
      const snapshot = await reviseManifest(storage, base as LoadedSnapshot, changes, options.version)
      return { snapshot, affected: 0 }
    },
  }
}

/** Writes the manifest of an earlier version once more. */
export function restoreChange(storage: Storage, old: LoadedSnapshot): Change {
  return {
    async apply(base, options: ApplyOptions = {}) {
      options.signal?.throwIfAborted()
      const snapshot = await writeManifest(storage, base.prefix, old.body, options.version, old)
      return { snapshot, affected: snapshot.rows }
    },
  }
}
