import type { DataType } from '@uwdata/flechette'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { Identifier } from '../../base/model/identifier.ts'
import { decodeRows, type Rows } from '../model/rows.ts'
import { columnPath } from '../model/schema.ts'
import { postForBytes } from '../server.ts'

/** The rows and columns of a block, which is one request, and how many blocks are kept. */
const blockRows = 100
const blockColumns = 40
const maxBlocks = 30

interface Range {
  readonly first: number
  readonly end: number
}

interface BlockCache {
  /** The query of `blocks`, and the columns. */
  readonly what: string
  readonly names: string
  readonly blocks: Map<string, Rows>
  readonly older: Map<string, Rows>
}

/** One value of a row that may not be there yet. */
export interface Found {
  readonly row: readonly unknown[] | undefined
  readonly index: number
  readonly type: DataType | undefined
}

/** The visible blocks of rows and columns, and some recent ones. */
export function useBlocks(
  id: Identifier,
  query: Readonly<Record<string, unknown>>,
  columns: readonly { readonly name: string }[],
  visible: { readonly rows: Range; readonly columns: Range },
) {
  const names = JSON.stringify(columns.map(({ name }) => name))
  const what = JSON.stringify([query, names])
  const cache = useRef<BlockCache>({ what, names, blocks: new Map(), older: new Map() })
  // After a change of the query, the old rows stay visible until the new ones are there.
  if (cache.current.what !== what) {
    const { blocks, older, names: before } = cache.current
    const kept = before === names ? (blocks.size > 0 ? blocks : older) : new Map()
    cache.current = { what, names, blocks: new Map(), older: kept }
  }
  const [error, setError] = useState<unknown>()
  const [round, draw] = useState(0)
  const wanted = wantedBlocks(visible)
  useEffect(() => {
    if (wanted.length === 0) return undefined
    const controller = new AbortController()
    const { signal } = controller
    const { blocks, older } = cache.current
    // Debounced: rows that are only scrolled past are not fetched.
    const timer = setTimeout(async () => {
      try {
        for (const { key, row, column } of wanted) {
          if (blocks.has(key)) continue
          const asked = columns.slice(column * blockColumns, (column + 1) * blockColumns)
          const paths = asked.map(({ name }) => columnPath(name))
          const body = { ...query, columns: paths, offset: row * blockRows, limit: blockRows }
          blocks.set(key, decodeRows(await postForBytes(id, 'query', { body, signal })))
          older.delete(key)
          const [oldest] = blocks.keys()
          if (blocks.size > maxBlocks) blocks.delete(oldest!)
          setError(undefined)
          draw((times) => times + 1)
        }
      } catch (failure) {
        if (!signal.aborted) setError(failure)
      }
    }, 60)
    return () => {
      clearTimeout(timer)
      controller.abort()
    }
  }, [what, JSON.stringify(wanted), error === undefined ? 0 : round])
  return {
    at: (row: number, column: number): Found => {
      const { blocks, older } = cache.current
      const key = keyOf(Math.floor(row / blockRows), Math.floor(column / blockColumns))
      const block = blocks.get(key) ?? older.get(key)
      const index = column % blockColumns
      return { row: block?.rows[row % blockRows], index, type: block?.types[index] }
    },
    error,
    again: () => draw((times) => times + 1),
  }
}

function keyOf(row: number, column: number): string {
  return `${row}/${column}`
}

/** The blocks of what is in sight. */
function wantedBlocks({ rows, columns }: { readonly rows: Range; readonly columns: Range }) {
  if (rows.end === rows.first || columns.end === columns.first) return []
  return blocksOf(rows, blockRows).flatMap((row) =>
    blocksOf(columns, blockColumns).map((column) => ({ key: keyOf(row, column), row, column })),
  )
}

function blocksOf({ first, end }: Range, size: number): number[] {
  const [from, to] = [Math.floor(first / size), Math.floor((end - 1) / size)]
  return Array.from({ length: to - from + 1 }, (_, index) => from + index)
}
