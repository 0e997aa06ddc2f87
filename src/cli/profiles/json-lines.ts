import { parse } from 'lossless-json'
import { UsageError } from '../usage.ts'

/** The value of a JSON file. The error names the line, but quotes no text, which may be secret. */
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

/** The line of a member in a JSON text, by its path; 1 where it is missing. */
export function lineOf(text: string, names: readonly string[]): number {
  let position = 0
  for (const name of names) {
    const found = text.indexOf(`${JSON.stringify(name)}`, position)
    if (found !== -1) position = found
  }
  return text.slice(0, position).split('\n').length
}
