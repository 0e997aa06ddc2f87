import { manifestFields, numberIn, sectionAt } from '../../lance/manifest-file.ts'
import { type Field, readFields } from '../../lance/protobuf.ts'

/* What a manifest of Lance names. https://lance.org/format/table has the messages. */

/** A file that a manifest names, relative to the folder of its branch. */
export interface NamedFile {
  readonly path: string
  /** Undefined where the manifest does not tell. */
  readonly size: number | undefined
}

/** The files that a manifest names within its own branch, and the folders of its indexes. */
export interface NamedFiles {
  readonly files: readonly NamedFile[]
  readonly folders: readonly string[]
}

const fragmentsField = 2
const indexSectionField = 6
const fragment = { id: 1, files: 2, deletions: 3 }
const dataFile = { path: 1, size: 6, base: 7 }
const deletionFile = { type: 1, readVersion: 2, id: 3, base: 7 }
const index = { uuid: 1, name: 3, fragments: 5, base: 9 }
/** An empty set of fragments has no more bytes: then the index may have no file. */
const emptySet = 8

/** What a manifest names. Throws a `RangeError` for one that cannot be read. */
export function filesNamedIn(bytes: Uint8Array): NamedFiles {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const fields = manifestFields(file)
  const files: NamedFile[] = []
  for (const one of all(fields, fragmentsField)) files.push(...filesOf(readFields(one)))
  const indexes = numberIn(fields, indexSectionField)
  return { files, folders: indexes === undefined ? [] : foldersOf(readFields(sectionAt(file, indexes))) }
}

function filesOf(fields: readonly Field[]): NamedFile[] {
  const found: NamedFile[] = []
  for (const one of all(fields, fragment.files)) {
    const parts = readFields(one)
    // A file with a base lies elsewhere, as those of a clone do.
    if (numberIn(parts, dataFile.base) !== undefined) continue
    const [path] = all(parts, dataFile.path)
    const size = Number(numberIn(parts, dataFile.size) ?? 0n)
    if (path) found.push({ path: `data/${textOf(path)}`, size: size === 0 ? undefined : size })
  }
  for (const one of all(fields, fragment.deletions)) {
    const parts = readFields(one)
    if (numberIn(parts, deletionFile.base) !== undefined) continue
    const part = (number: number) => numberIn(parts, number) ?? 0n
    const name = `${numberIn(fields, fragment.id) ?? 0n}-${part(deletionFile.readVersion)}-${part(deletionFile.id)}`
    found.push({
      path: `_deletions/${name}.${part(deletionFile.type) === 1n ? 'bin' : 'arrow'}`,
      size: undefined,
    })
  }
  return found
}

/** The folders of the indexes that cover a fragment. */
function foldersOf(section: readonly Field[]): string[] {
  return all(section, 1).flatMap((one) => {
    const parts = readFields(one)
    const [uuid] = all(parts, index.uuid)
    const [name] = all(parts, index.name)
    const [fragments] = all(parts, index.fragments)
    // Those of Lance itself have no files.
    const isItsOwn = name !== undefined && textOf(name).startsWith('__')
    const isEmpty = fragments === undefined || fragments.length <= emptySet
    if (uuid === undefined || isItsOwn || isEmpty || numberIn(parts, index.base) !== undefined) return []
    const [digits] = all(readFields(uuid), 1)
    if (digits?.length !== 16) return []
    const hex = Buffer.from(digits).toString('hex')
    return [`_indices/${hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')}/`]
  })
}

const all = (fields: readonly Field[], wanted: number) =>
  fields.flatMap(({ number, value }) => (number === wanted && typeof value !== 'bigint' ? [value] : []))

const textOf = (bytes: Uint8Array) => Buffer.from(bytes).toString()
