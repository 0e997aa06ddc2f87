import { bool, type Schema } from '@uwdata/flechette'
import { makeBatch } from './arrow/batch.ts'
import { decodeArrow } from './arrow/decode.ts'
import { encodeArrow } from './arrow/encode.ts'
import { allRows, type Bitmap, countRows } from './bitmap.ts'
import type { DeletionEntry, FragmentPlace } from './manifest.ts'
import { brokenObject, checksum, readObject, type Storage } from './objects.ts'

const schema: Schema = {
  fields: [
    { name: 'deleted', type: bool(), nullable: false, metadata: null as unknown as Map<string, string> },
  ],
}

/** Writes the rows of a fragment that are deleted. */
export async function writeDeletions(
  { content, newName }: Storage,
  prefix: string,
  rows: number,
  deleted: Bitmap,
): Promise<DeletionEntry> {
  const values = new Uint8Array(deleted.buffer, deleted.byteOffset, Math.ceil(rows / 8))
  const parts = encodeArrow(schema, [[makeBatch(bool(), { length: rows, values })]])
  const path = `deletions/${newName()}.arrow`
  await content.put(prefix + path, parts)
  let size = 0
  for (const part of parts) size += part.length
  return { path, size, crc: checksum(parts), count: countRows(deleted) }
}

/** The rows of a fragment that are not deleted; undefined when none is. */
export async function readLive(
  { content, cache }: Storage,
  prefix: string,
  entry: FragmentPlace,
): Promise<Bitmap | undefined> {
  const { deletions, rows } = entry
  if (deletions === undefined) return undefined
  const path = prefix + deletions.path
  return cache.get(
    path,
    (live) => live.byteLength + 256,
    async () => {
      const bytes = await readObject(content, path, deletions.size, deletions.crc)
      const table = await decodeArrow(bytes).catch((cause) => {
        throw brokenObject(path, 'is no Arrow file', { cause })
      })
      const batch = table.children[0]?.data[0]
      if (batch?.type.typeId !== schema.fields[0]!.type.typeId || batch.length !== rows) {
        throw brokenObject(path, `does not say of ${rows} rows which of them are deleted`)
      }
      const live = allRows(rows)
      const deleted = batch.values as Uint8Array
      for (let i = 0; i < rows >> 3; i++) {
        if (deleted[i] !== 0) live[i >> 2]! &= ~(deleted[i]! << ((i & 3) * 8))
      }
      for (let i = rows & ~7; i < rows; i++) {
        if (((deleted[i >> 3]! >> (i & 7)) & 1) === 1) live[i >> 5]! &= ~(1 << (i & 31))
      }
      return live
    },
  )
}
