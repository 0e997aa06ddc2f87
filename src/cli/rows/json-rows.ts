import { maxInputBytes, tooLarge } from '../io.ts'
import { UsageError } from '../usage.ts'
import { parseJson } from './json.ts'
import type { TextRow } from './text-rows.ts'

/** The rows of JSON lines. Empty lines are none. */
export async function* jsonLines(texts: AsyncIterable<string>, source: string): AsyncGenerator<TextRow> {
  for await (const { line, at } of linesOf(texts, source)) {
    if (line.trim() !== '') yield { values: json(line, `line ${at} of ${source}`), at }
  }
}

/** The rows of a JSON array, or of one object that may span many lines. */
export async function* jsonWhole(texts: AsyncIterable<string>, source: string): AsyncGenerator<TextRow> {
  let text = ''
  for await (const piece of texts) {
    text += piece
    if (text.length > maxInputBytes)
      throw tooLarge(`${source} is JSON that has no line for each row, and has more`)
  }
  const value = json(text, source)
  const rows = Array.isArray(value) ? value : [value]
  for (const [row, values] of rows.entries()) yield { values, at: row + 1 }
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
    throw new UsageError(`${source} is not JSON: ${(error as Error).message}`)
  }
}

async function* linesOf(texts: AsyncIterable<string>, source: string) {
  let rest = ''
  let at = 0
  for await (const text of texts) {
    // A long line is joined once, and not with each piece of it.
    const lines = text.includes('\n') ? (rest + text).split('\n') : [rest + text]
    rest = lines.pop()!
    if (rest.length > maxInputBytes) throw tooLarge(`line ${at + 1} of ${source} has more`)
    for (const line of lines) yield { line, at: ++at }
  }
  yield { line: rest, at: ++at }
}
