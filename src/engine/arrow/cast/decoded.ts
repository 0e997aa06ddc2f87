import { Type } from '@uwdata/flechette'
import { type AnyBatch, dictionaryOf } from '../batch.ts'
import { nullBatch } from '../null-batch.ts'
import { assemble, type Piece } from '../take/take.ts'

/** The values of a dictionary-encoded batch in plain form. */
export function decoded(batch: AnyBatch): AnyBatch {
  if (batch.type.typeId !== Type.Dictionary) return batch
  const none = nullBatch(batch.type.dictionary, 1)
  const pieces: { batch: AnyBatch; runs: number[] }[] = []
  for (const [entries, at] of entryPositions(batch)) {
    const from = entries ?? none
    const last = pieces.at(-1)
    if (last?.batch === from) last.runs.push(at, at + 1)
    else pieces.push({ batch: from, runs: [at, at + 1] })
  }
  return assemble(batch.type.dictionary, pieces satisfies Piece[])
}

/** For each row, the part of the dictionary that has its value, and the index there; no part for a null row. */
export function* entryPositions(
  batch: AnyBatch,
): Generator<readonly [entries: AnyBatch | undefined, at: number]> {
  const parts = dictionaryOf(batch).data as readonly AnyBatch[]
  const indices = batch.values as ArrayLike<number | bigint>
  for (let i = 0; i < batch.length; i++) {
    if (batch.nullCount > 0 && !batch.isValid(i)) {
      yield [undefined, 0]
      continue
    }
    let at = Number(indices[i])
    let part = 0
    while (at >= parts[part]!.length) at -= parts[part++]!.length
    yield [parts[part]!, at]
  }
}
