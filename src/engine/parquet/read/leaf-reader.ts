import { damagedFile } from '../damage.ts'
import type { Chunk } from './footer.ts'
import { type Page, PageReader, type ReadContext } from './pages.ts'
import type { SchemaNode } from './schema-tree.ts'
import type { Values } from './values.ts'

/** Values that follow one another in a page, from `start` up to but not including `end`. */
export interface Run {
  readonly values: Values
  readonly indices: Int32Array | undefined
  readonly start: number
  readonly end: number
}

/** What one leaf has of some rows. */
export interface LeafRows {
  readonly node: SchemaNode
  /** How many levels there are: values, nulls, and empty lists. */
  readonly count: number
  /** Undefined where all values are there. */
  readonly defs: Uint8Array | undefined
  readonly reps: Uint8Array | undefined
  readonly runs: readonly Run[]
}

/** Reads the rows of one leaf in a row group, a few at a time. */
export class LeafReader {
  readonly #context: ReadContext
  readonly #node: SchemaNode
  readonly #reader: PageReader
  readonly #pages: Page[] = []
  #ended = false
  /** Levels and values of the first page that were taken. */
  #level = 0
  #value = 0
  #scan = { page: 0, level: 0, value: 0, rows: 0, bytes: 0 }

  constructor(context: ReadContext, node: SchemaNode, chunk: Chunk) {
    this.#context = context
    this.#node = node
    this.#reader = new PageReader(context, node, chunk)
  }

  /** How many whole rows come next: at most `maxRows`, and of about `maxBytes`, but one if there is any. */
  async ready(maxRows: number, maxBytes: number): Promise<number> {
    this.#scan = { page: 0, level: this.#level, value: this.#value, rows: 0, bytes: 0 }
    for (;;) {
      if (this.#count(maxRows, maxBytes)) return this.#scan.rows
      if (this.#ended) return this.#scan.rows
      const page = await this.#reader.next()
      if (page === undefined) {
        this.#ended = true
        // The last list ends with the column.
        if (this.#node.rep > 0 && this.#hasRest()) this.#scan.rows++
      } else {
        if (this.#pages.length === 0 && page.reps !== undefined && page.count > 0 && page.reps[0] !== 0)
          throw damagedFile(`has a row of column ${this.#node.label} without its beginning`)
        this.#pages.push(page)
      }
    }
  }

  /** Whether levels are left that were not counted as a row: those of a list that began. */
  #hasRest(): boolean {
    return this.#pages.some((page, i) => page.count > (i === 0 ? this.#level : 0))
  }

  /** Counts rows of the pages that there are. True if enough were found. */
  #count(maxRows: number, maxBytes: number): boolean {
    const scan = this.#scan
    for (; scan.page < this.#pages.length; scan.page++, scan.level = 0, scan.value = 0) {
      if (this.#countPage(this.#pages[scan.page]!, maxRows, maxBytes)) return true
    }
    return scan.rows >= maxRows || (scan.rows > 0 && scan.bytes >= maxBytes)
  }

  #countPage(page: Page, maxRows: number, maxBytes: number): boolean {
    const scan = this.#scan
    const { def, rep, label } = this.#node
    const { budget } = this.#context
    const sizes = sizesOf(page)
    for (; scan.level < page.count; scan.level++) {
      // A row of lists is known to end where the next one begins.
      if (rep > 0) {
        const isFirst = scan.page === 0 && scan.level === this.#level
        if (page.reps![scan.level] === 0 && !isFirst) scan.rows++
      }
      if (scan.rows >= maxRows || (scan.rows > 0 && scan.bytes >= maxBytes)) return true
      scan.bytes += 4
      if (page.defs === undefined || page.defs[scan.level] === def) scan.bytes += sizes(scan.value++)
      if (scan.bytes > budget.max) budget.take(scan.bytes, label)
      if (rep === 0) scan.rows++
    }
    return false
  }

  /** Takes rows that are ready. */
  take(rows: number): LeafRows {
    const { def, rep } = this.#node
    const parts: { page: Page; start: number; end: number }[] = []
    const runs: Run[] = []
    let count = 0
    let begun = 0
    let done = false
    while (!done && this.#pages.length > 0) {
      const page = this.#pages[0]!
      const start = this.#level
      let end = start
      if (rep === 0) {
        end = Math.min(page.count, start + rows - count)
        done = count + end - start === rows
      } else {
        for (; end < page.count; end++) {
          if (page.reps![end] === 0 && ++begun > rows) {
            done = true
            break
          }
        }
      }
      const values = presentIn(page, start, end, def)
      if (values > 0)
        runs.push({
          values: page.values,
          indices: page.indices,
          start: this.#value,
          end: this.#value + values,
        })
      parts.push({ page, start, end })
      count += end - start
      this.#level = end
      this.#value += values
      if (end === page.count) this.#drop()
      else done = true
    }
    const some = (name: 'defs' | 'reps', absent: number) => {
      if (parts.every(({ page }) => page[name] === undefined)) return undefined
      const levels = new Uint8Array(count)
      let at = 0
      for (const { page, start, end } of parts) {
        if (page[name] === undefined) levels.fill(absent, at, at + end - start)
        else levels.set(page[name].subarray(start, end), at)
        at += end - start
      }
      return levels
    }
    return { node: this.#node, count, defs: some('defs', def), reps: some('reps', 0), runs }
  }

  #drop(): void {
    this.#context.budget.release(this.#pages.shift()!.held)
    this.#level = 0
    this.#value = 0
  }

  /** Whether all rows were taken. Reads the rest of the column, if there is any. */
  async isDone(): Promise<boolean> {
    return (await this.ready(1, 1)) === 0
  }
}

function presentIn(page: Page, start: number, end: number, def: number): number {
  if (page.defs === undefined) return end - start
  let count = 0
  for (let i = start; i < end; i++) if (page.defs[i] === def) count++
  return count
}

/** How many bytes a value of a page takes, by its number. */
function sizesOf({ values, indices }: Page): (index: number) => number {
  if (values.kind !== 'bytes') {
    const size = values.kind === 'words' ? values.size * 4 : 1
    return () => size
  }
  const { starts, ends } = values
  return indices === undefined
    ? (i) => ends[i]! - starts[i]!
    : (i) => ends[indices[i]!]! - starts[indices[i]!]!
}
