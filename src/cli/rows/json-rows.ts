import { maxInputBytes, tooLarge } from '../io.ts'
import { UsageError } from '../usage.ts'
import { parseJson } from './json.ts'
import type { TextRow } from './text-rows.ts'

/** The rows of JSON lines, some at a time. Empty lines are none. */
export async function* jsonLines(
  texts: AsyncIterable<string>,
  source: string,
): AsyncGenerator<readonly TextRow[]> {
  for await (const { lines, at } of linesOf(texts, source)) {
    const rows: TextRow[] = []
    for (const [i, line] of lines.entries()) {
      if (line === '' || line.trim() === '') continue
      rows.push({ values: jsonOfLine(line, at + i, source), at: at + i })
    }
    yield rows
  }
}

/** The rows of a JSON array, or of one object that may span many lines. */
export async function* jsonWhole(
  texts: AsyncIterable<string>,
  source: string,
): AsyncGenerator<readonly TextRow[]> {
  let text = ''
  for await (const piece of texts) {
    text += piece
    if (text.length > maxInputBytes)
      throw tooLarge(`${source} is JSON that has no line for each row, and has more`)
  }
  const value = json(text, source)
  const rows = Array.isArray(value) ? value : [value]
  yield rows.map((values, row) => ({ values, at: row + 1 }))
}

/** Whether the first line of a text is a whole JSON value, so that others may follow it. */
export function isJsonLine(text: string): boolean {
  try {
    parseJson(text.trim())
    return true
  } catch {
    return false
  }
}

export function json(text: string, source: string): unknown {
  try {
    return parseJson(text)
  } catch (error) {
    if (error instanceof RangeError) throw new UsageError(`${source} nests too deep: flatten it`)
    throw new UsageError(`${source} is not JSON: ${(error as Error).message}`)
  }
}

function jsonOfLine(line: string, at: number, source: string): unknown {
  try {
    return parseJson(line)
  } catch {
    return json(line, `line ${at} of ${source}`)
  }
}

/** Whole lines, some at a time, and the number of the first one. */
async function* linesOf(texts: AsyncIterable<string>, source: string) {
  let rest = ''
  let at = 1
  for await (const text of texts) {
    // A long line is joined once, and not with each piece of it.
    const lines = text.includes('\n') ? (rest + text).split('\n') : [rest + text]
    rest = lines.pop()!
    if (rest.length > maxInputBytes) throw tooLarge(`line ${at + lines.length} of ${source} has more`)
    yield { lines, at }
    at += lines.length
  }
  yield { lines: [rest], at }
}
