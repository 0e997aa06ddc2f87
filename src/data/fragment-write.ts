import type { DataType, Field, Schema } from '@uwdata/flechette'
import { type AnyBatch, byteLength } from './arrow/batch.ts'
import { BodyReader } from './arrow/body.ts'
import { dictionaryTypesOf } from './arrow/dictionary-ids.ts'
import { encodeArrow } from './arrow/encode.ts'
import { type Block, readFooter } from './arrow/ipc-file.ts'
import { type BatchHeader, readMessage } from './arrow/ipc-message.ts'
import { prepareBatches } from './arrow/prepare.ts'
import { type FragmentEntry, rangesOf } from './manifest.ts'
import { measureColumn } from './measure.ts'
import { checksum, type Range, type Storage } from './objects.ts'
import type { Pace } from './pace.ts'
import type { ColumnStatistics } from './statistics.ts'
import { storeStatistics } from './stored-statistics.ts'

/** Writes one batch for each column as a fragment. Once this resolves the fragment is as durable as the content. */
export async function writeFragment(
  { content, newName }: Storage,
  prefix: string,
  schema: Schema,
  batches: readonly AnyBatch[],
  pace: Pace,
): Promise<FragmentEntry> {
  const statistics = new Map<string, ColumnStatistics>()
  const columns: (readonly AnyBatch[])[] = []
  for (const [i, batch] of batches.entries()) {
    // With each dictionary in one piece, as it will be in the file.
    const prepared = prepareBatches(schema.fields[i]!.type, [batch]).batches
    measureColumn(prepared[0]!, i, statistics)
    columns.push(prepared)
    if (pace.due) await pace.rest()
  }
  const file = new Parts(encodeArrow(schema, columns))
  const layout = layoutOfFile(file, schema.fields)
  const path = `data/${newName()}.arrow`
  await pace.rest()
  await content.put(prefix + path, file.parts)
  return {
    path,
    size: file.size,
    rows: batches[0]!.length,
    ...layout,
    statistics: storeStatistics(statistics),
  }
}

/** The bytes a row of these batches takes, about. */
export function bytesPerRow(columns: readonly (readonly AnyBatch[])[], rows: number): number {
  let sum = 0
  for (const batches of columns) for (const batch of batches) sum += byteLength(batch)
  return rows === 0 ? 0 : sum / rows
}

/**
 * Where everything lies, read from the file's own footer and messages just as a reader would: what the
 * manifest says and what the file says cannot differ.
 */
function layoutOfFile(
  file: Parts,
  fields: readonly Field[],
): Pick<FragmentEntry, 'batch' | 'columns' | 'dictionaries' | 'rest'> {
  const tail = file.tail()
  const footer = readFooter(tail)
  const batch = metadataOf(file, footer.records[0]!)
  const columns = columnRanges(file, batch, fields)
  const byId = new Map<number, readonly [Range, Range]>()
  for (const block of footer.dictionaries) {
    const metadata = metadataOf(file, block)
    const message = readMessage(file.bytes(metadata[0], metadata[1]))
    if (message.kind !== 'dictionary') throw new TypeError('a dictionary block holds no dictionary')
    byId.set(message.id, [metadata, file.range(metadata[0] + metadata[1], block.bodyLength)])
  }
  const dictionaries = dictionaryTypesOf(footer.schema.fields).map((type) => byId.get(type.id)!)
  const layout = { batch, columns, ...(dictionaries.length > 0 ? { dictionaries } : {}) }
  return { ...layout, rest: file.restOf(rangesOf(layout)) }
}

/** The metadata of a message, without continuation marker and length. */
function metadataOf(file: Parts, { offset, metadataLength }: Block): Range {
  return file.range(offset + 8, metadataLength - 8)
}

function columnRanges(file: Parts, batch: Range, fields: readonly Field[]): Range[] {
  const message = readMessage(file.bytes(batch[0], batch[1]))
  if (message.kind !== 'records') throw new TypeError('a record block holds no records')
  const body = batch[0] + batch[1]
  return columnSpans(
    message.header,
    fields.map(({ type }) => type),
  ).map(({ start, end }) => file.range(body + start, end - start))
}

function columnSpans(header: BatchHeader, types: readonly DataType[]): { start: number; end: number }[] {
  const reader = new BodyReader(header, new Uint8Array(0), { dictionary: () => undefined })
  return types.map((type) => reader.skip(type))
}

/** A file in parts, of which small stretches are looked at again. */
class Parts {
  readonly parts: readonly Uint8Array[]
  readonly size: number
  readonly #starts: number[] = []

  constructor(parts: readonly Uint8Array[]) {
    this.parts = parts
    let at = 0
    for (const part of parts) {
      this.#starts.push(at)
      at += part.length
    }
    this.size = at
  }

  /** The end of the file, with the whole footer in it. */
  tail(): Uint8Array {
    const last = this.bytes(this.size - 10, 10)
    const length = new DataView(last.buffer, last.byteOffset, 4).getInt32(0, true)
    return this.bytes(this.size - 10 - length - 8, length + 18)
  }

  bytes(start: number, length: number): Uint8Array {
    return Buffer.concat(this.#within(start, length))
  }

  range(start: number, length: number): Range {
    return [start, length, checksum(this.#within(start, length))]
  }

  /** The checksum of what lies outside of some ranges. */
  restOf(ranges: readonly Range[]): number {
    const parts: Uint8Array[] = []
    let at = 0
    for (const [start, length] of ranges) {
      parts.push(...this.#within(at, start - at))
      at = start + length
    }
    return checksum([...parts, ...this.#within(at, this.size - at)])
  }

  #within(start: number, length: number): Uint8Array[] {
    const found: Uint8Array[] = []
    const end = start + length
    let low = 0
    for (let high = this.parts.length; low < high; ) {
      const middle = (low + high) >> 1
      if (this.#starts[middle]! + this.parts[middle]!.length <= start) low = middle + 1
      else high = middle
    }
    for (let i = low; i < this.parts.length && this.#starts[i]! < end; i++) {
      const at = this.#starts[i]!
      found.push(this.parts[i]!.subarray(Math.max(0, start - at), Math.max(0, end - at)))
    }
    return found
  }
}
