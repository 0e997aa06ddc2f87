import { CatalogError } from '../../base/errors.ts'
import type { Identifier } from '../../base/model/identifier.ts'
import { IcebergError } from '../errors.ts'
import { Entries } from '../records/entries.ts'
import type { Kind } from '../records/formats.ts'
import { inTermsOfIceberg, type TransactionalCatalog } from '../records/lookup.ts'
import { type Caller, MetadataFiles } from '../records/metadata-files.ts'
import { tableFormat } from '../records/table-format.ts'
import { viewFormat } from '../records/view-format.ts'
import type { RemoteCatalog } from './remote-catalog.ts'

/** What a table or view of the target is now. */
export interface PresentEntry {
  /** Its metadata file. */
  readonly url: string
  readonly uuid: string | undefined
  /** Of a view, the last entry of its version log: when which version became the current one. */
  readonly lastChange?: unknown
}

/** The catalog that tables and views are registered in. */
export interface ImportTarget {
  /** Undefined when there is no such table or view. */
  present(kind: Kind, id: Identifier): Promise<PresentEntry | undefined>
  /** Creates a namespace, unless it is there. Returns whether it was created. */
  createNamespace(id: Identifier, properties: Readonly<Record<string, string>>): Promise<boolean>
  /** Points a name at a metadata file, in place of that of `before`, where there is one. */
  register(kind: Kind, id: Identifier, url: string, before: PresentEntry | undefined): Promise<void>
}

/** A catalog of this process as a target. */
export function localTarget(catalog: TransactionalCatalog, signal: AbortSignal | undefined): ImportTarget {
  const entries = new Entries({ catalog, files: new MetadataFiles() })
  const caller: Caller = { options: signal ? { signal } : {}, context: {} }
  return {
    present: async (kind, id) => {
      const head = await entries.find(kind, id, caller).catch(noneIfMissing)
      if (head?.latest === undefined) return undefined
      const { manifestPath: url, metadata } = head.latest
      if (kind === 'table') return { url, uuid: metadata['table-uuid'] }
      return presentOf(kind, await entries.load(viewFormat, id, caller))
    },
    createNamespace: async (id, properties) => {
      try {
        await catalog.createNamespace({ id: [...id], properties: { ...properties } }, caller.options)
        return true
      } catch (error) {
        if (error instanceof CatalogError && error.code === 'NamespaceAlreadyExists') return false
        throw error
      }
    },
    register: async (kind, id, url, before) => {
      const asked = { id, url, overwrite: before?.url ?? false }
      await inTermsOfIceberg<unknown>({ kind, id }, () =>
        kind === 'table'
          ? entries.register({ ...asked, format: tableFormat }, caller)
          : entries.register({ ...asked, format: viewFormat }, caller),
      )
    },
  }
}

function noneIfMissing(error: unknown): undefined {
  const types = ['NoSuchTableException', 'NoSuchViewException']
  if (error instanceof IcebergError && types.includes(error.type)) return undefined
  throw error
}

/** A catalog behind a server as a target. */
export function remoteTarget(remote: RemoteCatalog): ImportTarget {
  return {
    present: async (kind, id) => {
      const entry = await remote.load(kind, id)
      return entry && presentOf(kind, entry)
    },
    createNamespace: (id, properties) => remote.createNamespace(id, properties),
    register: (kind, id, url, before) => remote.register(kind, id, url, before !== undefined),
  }
}

function presentOf(
  kind: Kind,
  { url, metadata }: { readonly url: string; readonly metadata: object },
): PresentEntry {
  const { 'version-log': log } = metadata as { readonly 'version-log'?: unknown }
  const lastChange = Array.isArray(log) ? log.at(-1) : undefined
  return { url, uuid: uuidOf(kind, metadata), ...(kind === 'view' && { lastChange }) }
}

/** The UUID in metadata; undefined in that of old tables. */
export function uuidOf(kind: Kind, metadata: object): string | undefined {
  const uuid = (metadata as Readonly<Record<string, unknown>>)[`${kind}-uuid`]
  return typeof uuid === 'string' ? uuid : undefined
}
