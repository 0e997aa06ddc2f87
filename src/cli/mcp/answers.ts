import { CatalogError, parseIdentifier } from '../../tabularium/index.ts'
import type { AnyOperation } from '../record.ts'
import { rowsOfParts } from '../rows/arrow.ts'
import { toJson } from '../values.ts'

type Fields = Readonly<Record<string, unknown>>

/** How much one call answers with at most. */
export interface AnswerLimits {
  /** Most rows of a query, and most items of a listing. */
  readonly rows: number
  /** Most bytes of text. */
  readonly bytes: number
}

/** How many rows or items a call gets that does not ask for a number. */
const usualRows = 100

/** The number of rows or items that a call gets. What is no such number is left for the operation to refuse. */
export function limitFor(asked: unknown, { rows }: AnswerLimits): unknown {
  if (asked === undefined || asked === null) return Math.min(usualRows, rows)
  return isCount(asked) ? Math.min(asked, rows) : asked
}

export function isCount(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 0
}

/** An answer of an operation as JSON text. Fails when it is too large. */
export function answerText(operation: AnyOperation, answer: Fields, limits: AnswerLimits): string {
  const { context, ...fields } = answer
  const lists = operation.command?.lists
  const text = toJson(
    // In the form in which the next call takes them.
    lists?.field === 'tables'
      ? { ...fields, tables: (fields.tables as string[]).map((table) => parseIdentifier(table)) }
      : fields,
  )
  return requireSize(text, limits, lists === undefined ? 'Ask for less' : 'Ask with a smaller limit')
}

/** Fails for a text that is larger than an answer may be. `next` says what to do. */
export function requireSize(text: string, { bytes }: AnswerLimits, next: string): string {
  const size = Buffer.byteLength(text)
  if (size <= bytes) return text
  throw tooLarge(`The answer takes ${size.toLocaleString('en')} bytes`, bytes, next)
}

/**
 * The rows of an Arrow answer as JSON text, as many as there is room for. `limit` is the most, and the answer has one row
 * more if there are others.
 */
export async function rowsText(
  data: Uint8Array,
  offset: number,
  limit: number,
  { bytes }: AnswerLimits,
): Promise<string> {
  const rows: string[] = []
  // What is around the rows is short.
  let size = 100
  let more = false
  for await (const row of eachRow(data)) {
    const text = toJson(row)
    size += Buffer.byteLength(text) + 1
    more = rows.length === limit || size > bytes
    if (more) break
    rows.push(text)
  }
  if (more && rows.length === 0 && limit > 0)
    throw tooLarge(
      `The row at offset ${offset} takes ${size.toLocaleString('en')} bytes`,
      bytes,
      'Name fewer columns',
    )
  const next = more && rows.length > 0 ? `,"next_offset":${offset + rows.length}` : ''
  return `{"rows":[${rows.join(',')}],"more":${more}${next}}`
}

async function* eachRow(data: Uint8Array) {
  for await (const { rows } of rowsOfParts(data)) yield* rows
}

function tooLarge(what: string, bytes: number, next: string): CatalogError {
  return new CatalogError(
    'InvalidInput',
    `${what} as text, and one answer has at most ${bytes.toLocaleString('en')}. ${next}.`,
  )
}
