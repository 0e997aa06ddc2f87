import { parse } from 'lossless-json'
import { UsageError } from '../usage.ts'

/** The value of a JSON file. Fails with the line of the mistake; the text around it is not told, as it may be secret. */
export function parseJsonFile(path: string, text: string): unknown {
  try {
    return parse(text)
  } catch (error) {
    const position = Number(/position (\d+)/.exec((error as Error).message)?.[1] ?? text.length)
    const line = text.slice(0, position).split('\n').length
    throw new UsageError(
      `${path}:${line}: this is not JSON; write {"profiles":{"prod":{"location":"https://…"}}}, or mend the line`,
    )
  }
}

/** The line on which a member of a JSON text stands, by the names that lead to it; the first one where it is missing. */
export function lineOf(text: string, names: readonly string[]): number {
  let position = 0
  for (const name of names) {
    const found = text.indexOf(`${JSON.stringify(name)}`, position)
    if (found !== -1) position = found
  }
  return text.slice(0, position).split('\n').length
}
