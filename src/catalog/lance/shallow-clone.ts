import {
  bufferOf,
  knownFlags,
  manifestField,
  manifestFields,
  manifestFile,
  manifestFlags,
  message,
  numberIn,
  section,
  sectionAt,
} from './manifest-file.ts'
import { type Field, readFields, writeFields } from './protobuf.ts'

/*
 * A branch of Lance begins with a shallow clone: a manifest with the fragments and indices of another one, that says
 * where their files lie. https://lance.org/format/table has the messages.
 */

const knownManifestFields = new Set([...Array.from({ length: 21 }, (_, i) => i + 1), 23])
/** Of a fragment, those of its fields that name files. */
const filesField = 2
const deletionFileField = 3
/** Of data files and deletion files. */
const fileBaseField = 7
const indexBaseField = 9
const basePathsFlag = 0b1_0000n

/** What a clone adds to the manifest. */
export interface Clone {
  /** The folder of the branch that is cloned, as a URL. */
  readonly source: string
  /** Its name, if it is not the main branch. */
  readonly sourceName: string | undefined
  readonly branch: string
}

/** The bytes of a shallow clone. Undefined when the manifest has unknown features. */
export function shallowClone(manifest: Uint8Array, clone: Clone): Uint8Array | undefined {
  return unlessUnknown(() => cloneOf(bufferOf(manifest), clone))
}

/**
 * The bytes of a manifest of the same version of another dataset, which has all the files of the version in its own
 * folders. Undefined when the manifest has unknown features.
 */
export function wholeClone(manifest: Uint8Array): Uint8Array | undefined {
  return unlessUnknown(() => cloneOf(bufferOf(manifest), undefined))
}

function unlessUnknown(clone: () => Uint8Array | undefined): Uint8Array | undefined {
  try {
    return clone()
  } catch (error) {
    if (error instanceof RangeError) return undefined
    throw error
  }
}

/** Without a place, all files lie in the folders of the clone. */
function cloneOf(file: Buffer, clone: Clone | undefined): Uint8Array | undefined {
  const fields = manifestFields(file)
  const flags = (number: number) => numberIn(fields, number) ?? 0n
  if (fields.some(({ number }) => !knownManifestFields.has(number)) || manifestFlags(fields) & ~knownFlags)
    return undefined
  const bases = fields
    .filter(({ number }) => number === manifestField.bases)
    .map(({ value }) => baseId(value))
  const base = clone && bases.reduce((most, id) => (id >= most ? id + 1n : most), 0n)

  const indexPosition = numberIn(fields, manifestField.indexes)
  const indices =
    indexPosition === undefined ? undefined : withBaseInIndices(sectionAt(file, indexPosition), base)
  const dropped = new Set([
    manifestField.auxiliary,
    manifestField.indexes,
    manifestField.readerFlags,
    manifestField.writerFlags,
    manifestField.transactionFile,
    manifestField.branch,
    ...manifestField.transactionSections,
    ...(clone ? [] : [manifestField.bases]),
  ])
  const newFlags = (number: number) =>
    clone ? flags(number) | basePathsFlag : flags(number) & ~basePathsFlag
  const cloned = writeFields([
    ...fields
      .filter(({ number }) => !dropped.has(number))
      .map((field) => (field.number === manifestField.fragments ? withBaseInFragment(field, base) : field)),
    ...(indices ? [{ number: manifestField.indexes, value: 0n }] : []),
    { number: manifestField.readerFlags, value: newFlags(manifestField.readerFlags) },
    { number: manifestField.writerFlags, value: newFlags(manifestField.writerFlags) },
    ...(clone
      ? [
          { number: manifestField.bases, value: basePath(base!, clone.sourceName, clone.source) },
          { number: manifestField.branch, value: Buffer.from(clone.branch) },
        ]
      : []),
  ])
  return manifestFile(indices ? section(indices) : [], cloned, file)
}

function baseId(value: bigint | Uint8Array): bigint {
  return numberIn(readFields(message({ number: 0, value })), 1) ?? 0n
}

/** The record of where files of the clone lie. The folder is that of a dataset, with folders for each kind of file. */
function basePath(id: bigint, name: string | undefined, path: string): Uint8Array {
  return writeFields([
    { number: 1, value: id },
    ...(name === undefined ? [] : [{ number: 2, value: Buffer.from(name) }]),
    { number: 3, value: 1n },
    { number: 4, value: Buffer.from(path) },
  ])
}

/** A message with a base, unless it has one: then its file lay elsewhere before. Without a base, it gets none. */
function withBase(field: Field, baseField: number, base: bigint | undefined): Field {
  const fields = readFields(message(field))
  if (base === undefined)
    return { number: field.number, value: writeFields(fields.filter(({ number }) => number !== baseField)) }
  if (fields.some(({ number }) => number === baseField)) return field
  return { number: field.number, value: writeFields([...fields, { number: baseField, value: base }]) }
}

function withBaseInFragment(fragment: Field, base: bigint | undefined): Field {
  const fields = readFields(message(fragment)).map((field) =>
    field.number === filesField || field.number === deletionFileField
      ? withBase(field, fileBaseField, base)
      : field,
  )
  return { number: fragment.number, value: writeFields(fields) }
}

function withBaseInIndices(section: Uint8Array, base: bigint | undefined): Uint8Array {
  return writeFields(readFields(section).map((field) => withBase(field, indexBaseField, base)))
}
