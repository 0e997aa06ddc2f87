import { CatalogError } from '../../base/errors.ts'
import { formatIdentifier } from '../../base/model/identifier.ts'
import { prefetch } from '../../base/scheduling/prefetch.ts'
import { keys, type VersionRecord } from '../../base/store/records.ts'
import { onBranch } from '../lookup/versions.ts'
import type { LanceContext } from './context.ts'
import {
  contentPathOf,
  type DatasetFolder,
  manifestPathOf,
  type StagedManifest,
  type StagedManifests,
  toVersionFor,
  type VersionToPublish,
} from './dataset.ts'
import { bufferOf, manifestField, manifestFields, numberIn, sectionAt } from './manifest-file.ts'
import { transactionField, transactionSectionOf } from './own-version.ts'
import { readFields } from './protobuf.ts'

/*
 * Releases of Lance before 12 take a lost answer for a conflict: the server may have committed the version, and the writer
 * commits the same transaction again, as a later version. Rows that it appends would be there twice.
 */

/** Most versions that are compared with a new one. A writer tries again at once, and few versions come in between. */
const mostCompared = 64
/** Larger manifests, of some hundred thousand fragments, are not compared. */
const mostBytes = 32 << 20
/** Manifests that are read at the same time. */
const depth = 8

/** What a manifest says of its transaction. */
interface Transaction {
  /** The version that its writer had read. */
  readonly read: number
  readonly uuid: string
}

/**
 * Refuses versions whose transaction a version before them has already. Resolves to the ids of their transactions, as far
 * as their manifests tell them.
 */
export async function refuseRepeated(core: LanceContext, staged: StagedManifests): Promise<TransactionIds> {
  const ids = new Map<VersionToPublish, string>()
  for (const [version, { table, folder, size }] of staged) {
    const { branch } = version
    const transaction = await transactionAt(
      folder,
      manifestPathOf(folder, version.branch, version.manifest_path),
      size,
    )
    if (transaction === undefined) continue
    ids.set(version, transaction.uuid)
    const first = Math.max(transaction.read + 1, version.version - mostCompared)
    const paths = await core.store.read((reader) => {
      const found: [number, string][] = []
      for (let v = first; v < version.version; v++) {
        const record = reader.get<VersionRecord>(keys.version(table.id, branch, v))
        const path = record && toVersionFor(core, v, record).manifest_path
        if (path?.startsWith(folder.objectPath)) found.push([v, contentPathOf(folder, path)])
      }
      return found
    })
    const repeats = async ([made, path]: readonly [number, string]) => {
      const other = await transactionAt(folder, path, await folder.shared.sync(path))
      return other?.uuid === transaction.uuid && made
    }
    for await (const made of prefetch(paths, repeats, { depth }))
      if (made) throw repeated(version, transaction, made)
  }
  return ids
}

/** Those of staged manifests, by their versions. */
export type TransactionIds = ReadonlyMap<VersionToPublish, string>

/** Whether the published manifest of a version is known to be that of another transaction. */
export async function isOfAnother(
  version: VersionToPublish,
  { folder, finalPath }: StagedManifest,
  ids: TransactionIds,
): Promise<boolean> {
  const id = ids.get(version)
  if (id === undefined) return false
  const path = contentPathOf(folder, finalPath)
  const found = await transactionAt(folder, path, await folder.shared.sync(path))
  return found !== undefined && found.uuid !== id
}

async function transactionAt(
  { content }: DatasetFolder,
  path: string,
  size = 0,
): Promise<Transaction | undefined> {
  const manifest = size > mostBytes ? undefined : await content.get(path)
  return manifest && transactionOf(manifest)
}

/** Undefined for a file that is no manifest, or names no transaction. */
function transactionOf(manifest: Uint8Array): Transaction | undefined {
  try {
    const file = bufferOf(manifest)
    const fields = manifestFields(file)
    const name = fields.findLast(({ number }) => number === manifestField.transactionFile)?.value
    const [, read, uuid] = /^(\d+)-(.+)\.txn$/.exec(name instanceof Uint8Array ? textOf(name) : '') ?? []
    if (uuid) return { read: Number(read), uuid }
    const position = transactionSectionOf(fields)?.value
    if (typeof position !== 'bigint') return undefined
    const message = readFields(sectionAt(file, position))
    const id = message.findLast(({ number }) => number === transactionField.uuid)?.value
    if (!(id instanceof Uint8Array)) return undefined
    return { read: Number(numberIn(message, transactionField.readVersion) ?? 0n), uuid: textOf(id) }
  } catch (error) {
    if (error instanceof RangeError) return undefined
    throw error
  }
}

const textOf = (bytes: Uint8Array) => bufferOf(bytes).toString()

function repeated(
  { id, branch, version }: VersionToPublish,
  { uuid }: Transaction,
  made: number,
): CatalogError {
  return new CatalogError(
    'ConcurrentModification',
    `Version ${version} of the table ${formatIdentifier(id)}${onBranch(branch)} cannot be created: its transaction ${uuid} is version ${made} already. The change is made, and only its answer was lost. Open the latest version instead.`,
  )
}
