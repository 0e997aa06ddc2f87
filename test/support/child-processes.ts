import { readdirSync, readFileSync } from 'node:fs'

/** The ids of the running processes that a process started with a word in their command. Needs Linux. */
export function childrenOf(parent: number, word: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((id) => parentOf(id) === parent && commandOf(id).includes(word))
}

/** Whether a process runs. One that ended and that nobody asked about yet does not. */
export function runs(id: number): boolean {
  return commandOf(id) !== ''
}

function parentOf(id: number): number | undefined {
  const stat = textOf(`/proc/${id}/stat`)
  // The name of the program is in parentheses, and may have spaces and parentheses itself.
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
}

const commandOf = (id: number) => textOf(`/proc/${id}/cmdline`)

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    // It ended meanwhile.
    return ''
  }
}
