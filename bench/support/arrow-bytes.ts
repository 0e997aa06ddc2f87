import type { Table } from '@uwdata/flechette'
import { encodeArrow, joinParts } from '../../src/engine/arrow/ipc/encode.ts'

/** A table as Arrow IPC bytes, as they come over a wire. */
export function arrowBytes({ schema, children }: Table): Uint8Array {
  return joinParts(
    encodeArrow(
      schema,
      children.map(({ data }) => [...data] as never),
    ),
  )
}
