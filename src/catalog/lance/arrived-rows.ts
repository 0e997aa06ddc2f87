import { CatalogError } from '../../base/errors.ts'
import {
  bufferOf,
  knownFlags,
  manifestField,
  manifestFields,
  manifestFile,
  manifestFlags,
  manifestStart,
  message,
  numberIn,
  requireVersion,
} from './manifest-file.ts'
import type { MadeVersion, MakeManifest, NextVersion } from './own-version.ts'
import { type OwnVersion, ownVersion } from './own-version.ts'
import { type Field, readFields, writeFields } from './protobuf.ts'

/*
 * Rows that arrive are written by Lance to a dataset of their own, which has the columns of the table. At the end, one
 * version of the table takes the fragments of that dataset.
 */

const fragmentField = {
  id: 1,
  rows: 4,
  rowIds: 5,
  /** Row ids, and the versions in which rows were made and changed: in the manifest, or in files beside it. */
  ofRows: [5, 6, 7, 8, 9, 10],
  changedIn: 7,
  madeIn: 9,
}
const operationField = { append: 100, overwrite: 102 }
const stableRowIds = 0b10n

/** A dataset of rows that arrived. */
export interface ArrivedRows {
  /** The manifest of its latest version. */
  readonly manifest: Uint8Array
  /** The manifest of the version of the table that it began with. */
  readonly base: Uint8Array
  /** Whether the rows, with their columns, replace those of the table. */
  readonly overwrite: boolean
}

/**
 * The manifest of a dataset's first version that has no rows, and is else as the version of another manifest. Undefined
 * where that has features which are not known here.
 */
export function withoutRows(manifest: Uint8Array): Uint8Array | undefined {
  const file = bufferOf(manifest)
  const fields = manifestFields(file)
  if (manifestFlags(fields) & ~knownFlags) return undefined
  const { fragments, version, auxiliary, indexes, tag, transactionFile, branch, transactionSections } =
    manifestField
  const left = [fragments, version, auxiliary, indexes, tag, transactionFile, branch, ...transactionSections]
  const next = writeFields([
    ...fields.filter(({ number }) => !left.includes(number)),
    { number: version, value: 1n },
  ])
  return manifestFile([file.subarray(0, manifestStart(file))], next, file)
}

/** Makes the version of a table that has rows which arrived. Throws when its columns have changed since they began. */
export function withArrived({ manifest: arrived, base, overwrite }: ArrivedRows): MakeManifest {
  return ({ version, manifest }, next) => {
    const head = manifestFields(bufferOf(manifest))
    requireVersion(head, version)
    if (manifestFlags(head) & ~knownFlags) return undefined
    requireSameColumns(head, manifestFields(bufferOf(base)))
    const rows = manifestFields(bufferOf(arrived))
    const { columns, metadata, fragments, format, indexes } = manifestField
    const replaced = overwrite ? [columns, metadata, fragments, format] : []
    const taken = rows.filter(({ number }) => replaced.includes(number) && number !== fragments)
    const made = taking(rows, head, version + 1, overwrite)
    return ownVersion(
      manifest,
      {
        ...made,
        without: [...made.without, ...(overwrite ? [...replaced, indexes] : [])],
        fields: [...taken, ...made.fields],
      },
      next,
    )
  }
}

/** The first version of a table, from the dataset of its rows that arrived. */
export function firstOfArrived(arrived: Uint8Array, next: NextVersion): MadeVersion {
  const rows = manifestFields(bufferOf(arrived))
  const made = taking(rows, [], 1, true)
  return ownVersion(arrived, { ...made, without: [...made.without, manifestField.fragments] }, next)
}

/** How a version takes all fragments of a dataset, after those of the version before. */
function taking(
  rows: readonly Field[],
  head: readonly Field[],
  version: number,
  overwrite: boolean,
): OwnVersion {
  const { columns, metadata, fragments, lastFragment, nextRow } = manifestField
  const hasRowIds = (manifestFlags(rows) & stableRowIds) !== 0n
  let fragment = lastFragmentOf(head) + 1n
  let row = numberIn(head, nextRow) ?? 0n
  const written: Field[] = []
  const numbered: Field[] = []
  for (const found of all(rows, fragments)) {
    const fields = readFields(message(found)).filter(
      ({ number }) => number !== fragmentField.id && !fragmentField.ofRows.includes(number),
    )
    const count = numberIn(fields, fragmentField.rows) ?? 0n
    const ofRows = hasRowIds ? fieldsOfRows(row, count, version) : []
    const id = { number: fragmentField.id, value: fragment }
    written.push({ number: 1, value: writeFields(fields) })
    numbered.push({ number: fragments, value: writeFields([id, ...fields, ...ofRows]) })
    fragment++
    row += count
  }
  const schema = overwrite
    ? [
        ...all(rows, columns).map(({ value }) => ({ number: 2, value })),
        ...all(rows, metadata).map(({ value }) => ({ number: 3, value })),
      ]
    : []
  return {
    version,
    without: [lastFragment, nextRow],
    fields: [
      ...numbered,
      ...(fragment > 0n ? [{ number: lastFragment, value: fragment - 1n }] : []),
      ...(hasRowIds ? [{ number: nextRow, value: row }] : []),
    ],
    operation: {
      number: overwrite ? operationField.overwrite : operationField.append,
      value: writeFields([...written, ...schema]),
    },
  }
}

/** The greatest id that a fragment has had, or -1. */
function lastFragmentOf(head: readonly Field[]): bigint {
  const ids = all(head, manifestField.fragments).map(
    (one) => numberIn(readFields(message(one)), fragmentField.id) ?? 0n,
  )
  return [numberIn(head, manifestField.lastFragment) ?? -1n, ...ids].reduce((a, b) => (a > b ? a : b))
}

/** The ids of rows that are new in a version, and that version. */
function fieldsOfRows(first: bigint, count: bigint, version: number): Field[] {
  const range = (start: bigint) => nested(1, writeFields([number(1, start), number(2, start + count)]))
  const versions = nested(1, writeFields([{ number: 1, value: range(0n) }, number(2, BigInt(version))]))
  return [
    { number: fragmentField.rowIds, value: nested(1, range(first)) },
    { number: fragmentField.changedIn, value: versions },
    { number: fragmentField.madeIn, value: versions },
  ]
}

const number = (field: number, value: bigint): Field => ({ number: field, value })
const nested = (field: number, value: Uint8Array) => writeFields([{ number: field, value }])
const all = (fields: readonly Field[], wanted: number) => fields.filter(({ number }) => number === wanted)

function requireSameColumns(head: readonly Field[], base: readonly Field[]): void {
  const text = (fields: readonly Field[]) =>
    [manifestField.columns, manifestField.format]
      .map((number) => Buffer.from(writeFields(all(fields, number))).toString('latin1'))
      .join()
  const hasRowIds = (fields: readonly Field[]) => manifestFlags(fields) & stableRowIds
  if (text(head) === text(base) && hasRowIds(head) === hasRowIds(base)) return
  throw new CatalogError(
    'ConcurrentModification',
    'Another writer changed the columns of the table while the rows arrived. Send them again.',
  )
}
