import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A folder that lives as long as the run, or as this process when it runs alone. */
const scratch: string = process.env.BENCH_SCRATCH ?? ownScratch()

let folders = 0

/** A new folder in the scratch folder. */
export function newFolder(name: string): string {
  const folder = join(scratch, `${name}-${process.pid}-${folders++}`)
  mkdirSync(folder)
  return folder
}

/** A folder that one question makes and later ones use again; one left half made is made again. */
export async function sharedFolder(name: string, make: (folder: string) => Promise<void>): Promise<string> {
  const folder = join(scratch, name)
  if (existsSync(folder)) return folder
  const part = `${folder}.part`
  rmSync(part, { recursive: true, force: true })
  await make(part)
  renameSync(part, folder)
  return folder
}

function ownScratch(): string {
  const folder = mkdtempSync(join(tmpdir(), 'tabularium-bench-'))
  process.env.BENCH_SCRATCH = folder
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(130))
  return folder
}
