import { CatalogError, invalid } from '../../base/errors.ts'

/** How many characters of the text an error shows. */
const excerptLength = 40

/** A piece of a predicate or of a value, quoted and cut to a readable length. */
export function excerpt(text: string, at = 0): string {
  const piece = text.slice(at, at + excerptLength)
  return JSON.stringify(
    at + excerptLength < text.length ? `${piece.replace(/[\ud800-\udbff]$/, '')}…` : piece,
  )
}

/** An offset of the text in words: line and column for people, the offset for programs. */
export function position(text: string, at: number): string {
  const before = text.slice(0, at)
  const line = before.split('\n').length
  const column = at - (before.lastIndexOf('\n') + 1) + 1
  return `at line ${line}, column ${column} (offset ${at})`
}

/** Refuses a predicate before any row is read. `problem` names what is wrong, `remedy` what to write. */
export function predicateError(
  text: string,
  at: number,
  problem: string,
  remedy: string,
  options?: { cause?: unknown },
): CatalogError {
  return invalid(`Invalid predicate: ${problem} ${position(text, at)}. ${remedy}`, options)
}

/** The failure of one row, in an error that does not name the row. */
class RowError extends CatalogError {
  /** What failed and where, and what to do. */
  readonly details: string

  constructor(details: string, options?: { cause?: unknown }) {
    super('InvalidInput', `The predicate failed on a row: ${details}`, options)
    this.details = details
  }
}

/** A row's value that the predicate cannot handle, such as a zero divisor; `at` is an offset of the text. */
export function rowError(
  at: number,
  problem: string,
  remedy: string,
  options?: { cause?: unknown },
): CatalogError {
  return new RowError(`${problem} at offset ${at}. ${remedy}`, options)
}

/** Whether the values of a single row caused an error. Such a row can be searched for. */
export function isRowError(error: unknown): error is RowError {
  return error instanceof RowError
}

/** The error of a value expression on a row of the table, counted from 0 over rows that are not deleted. */
export function expressionRowError(
  details: string,
  row: number,
  options?: { cause?: unknown },
): CatalogError {
  return invalid(`The expression failed on row ${row} (counted from 0): ${details}`, options)
}

/** An error of the predicate language that names a value expression as its subject. */
export function aboutExpression(error: unknown): unknown {
  if (!(error instanceof CatalogError) || !subject.test(error.message)) return error
  return new CatalogError(error.code, error.message.replace(subject, '$1expression'), { cause: error.cause })
}

const subject = /^(Invalid |The |The functions of the )predicate\b/
