import {
  bufferOf,
  manifestField,
  manifestFields,
  numberIn,
  requireVersion,
  sectionAt,
} from './manifest-file.ts'
import { type Field, readFields } from './protobuf.ts'

/* What a manifest of Lance names. https://lance.org/format/table has the messages. */

/** Where a file lies that a manifest names: in a folder of another dataset or branch, or in that of its own branch. */
interface Placed {
  /** The number of the folder, if that is another one. */
  readonly base: bigint | undefined
}

/** A file that a manifest names, relative to the folder that it lies in. */
export interface NamedFile extends Placed {
  readonly path: string
  /** Undefined where the manifest does not tell. */
  readonly size: number | undefined
}

/** The folder of an index. */
interface NamedFolder extends Placed {
  readonly path: string
}

/** The version and the files that a manifest names, and the folders of its indexes. */
export interface NamedFiles {
  readonly version: number
  readonly files: readonly NamedFile[]
  readonly folders: readonly NamedFolder[]
  /** The URLs or paths of other datasets and branches with such files, by their numbers. */
  readonly bases: ReadonlyMap<bigint, string>
}

const fragment = { id: 1, files: 2, deletions: 3 }
const dataFile = { path: 1, size: 6, base: 7 }
const deletionFile = { type: 1, readVersion: 2, id: 3, base: 7 }
const index = { uuid: 1, name: 3, fragments: 5, base: 9 }
export const baseField = { id: 1, isDataset: 3, path: 4 }
/** An empty set of fragments has no more bytes: then the index may have no file. */
const emptySet = 8

/** What a manifest names. Throws a `RangeError` for one that cannot be read. */
export function filesNamedIn(bytes: Uint8Array): NamedFiles {
  const file = bufferOf(bytes)
  const fields = manifestFields(file)
  const files: NamedFile[] = []
  for (const one of all(fields, manifestField.fragments)) files.push(...filesOf(readFields(one)))
  const indexes = numberIn(fields, manifestField.indexes)
  return {
    version: Number(numberIn(fields, manifestField.version) ?? 0n),
    files,
    folders: indexes === undefined ? [] : foldersOf(readFields(sectionAt(file, indexes))),
    bases: new Map(all(fields, manifestField.bases).map((one) => baseOf(readFields(one)))),
  }
}

/**
 * Other folders with files of a version, as its manifest names them. Throws a `RangeError` for one that cannot be read, and
 * for that of another version: Lance opens a manifest by its name alone.
 */
export function placesNamedIn(manifest: Uint8Array, version: number): readonly string[] {
  const fields = manifestFields(bufferOf(manifest))
  requireVersion(fields, version)
  const bases = all(fields, manifestField.bases)
  return bases.flatMap((one) => all(readFields(one), baseField.path).map(textOf))
}

/** A folder of files alone, and not of a dataset, is none that is known here. */
function baseOf(fields: readonly Field[]): [id: bigint, path: string] {
  const [path] = all(fields, baseField.path)
  const isDataset = numberIn(fields, baseField.isDataset) === 1n
  return [numberIn(fields, baseField.id) ?? 0n, isDataset && path ? textOf(path) : '']
}

function filesOf(fields: readonly Field[]): NamedFile[] {
  const found: NamedFile[] = []
  for (const one of all(fields, fragment.files)) {
    const parts = readFields(one)
    const [path] = all(parts, dataFile.path)
    const size = Number(numberIn(parts, dataFile.size) ?? 0n)
    const base = numberIn(parts, dataFile.base)
    if (path) found.push({ path: `data/${textOf(path)}`, size: size === 0 ? undefined : size, base })
  }
  for (const one of all(fields, fragment.deletions)) {
    const parts = readFields(one)
    const part = (number: number) => numberIn(parts, number) ?? 0n
    const name = `${numberIn(fields, fragment.id) ?? 0n}-${part(deletionFile.readVersion)}-${part(deletionFile.id)}`
    found.push({
      path: `_deletions/${name}.${part(deletionFile.type) === 1n ? 'bin' : 'arrow'}`,
      size: undefined,
      base: numberIn(parts, deletionFile.base),
    })
  }
  return found
}

/** The folders of the indexes that cover a fragment. */
function foldersOf(section: readonly Field[]): NamedFolder[] {
  return all(section, 1).flatMap((one) => {
    const parts = readFields(one)
    const [uuid] = all(parts, index.uuid)
    const [name] = all(parts, index.name)
    const [fragments] = all(parts, index.fragments)
    // Those of Lance itself have no files.
    const isItsOwn = name !== undefined && textOf(name).startsWith('__')
    const isEmpty = fragments === undefined || fragments.length <= emptySet
    if (uuid === undefined || isItsOwn || isEmpty) return []
    const [digits] = all(readFields(uuid), 1)
    if (digits?.length !== 16) return []
    const hex = Buffer.from(digits).toString('hex')
    const path = `_indices/${hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')}/`
    return [{ path, base: numberIn(parts, index.base) }]
  })
}

const all = (fields: readonly Field[], wanted: number) =>
  fields.flatMap(({ number, value }) => (number === wanted && typeof value !== 'bigint' ? [value] : []))

const textOf = (bytes: Uint8Array) => Buffer.from(bytes).toString()
