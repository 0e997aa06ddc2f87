import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { benchFolder } from './report.ts'

/** In this order they are asked; what is not named here comes last. */
const order = [
  'start',
  'inserts',
  'small',
  'stores',
  'operations',
  'processes',
  'postgres',
  'machines',
  'objects',
  'batch',
  'records',
  'transactions',
  'publication',
  'listing',
  'paging',
  'lance',
  'lance-rows',
  'fake',
  'count',
  'rows',
  'streams',
  'changes',
  'indexes',
  'search',
  'fragments',
  'scan',
  'http',
  'iceberg',
  'size',
]

export const questions: readonly string[] = readdirSync(benchFolder)
  .filter((file) => file.endsWith('.ts') && file !== 'run.ts')
  .map((file) => file.slice(0, -'.ts'.length))
  .sort((a, b) => place(a) - place(b) || (a < b ? -1 : 1))

function place(name: string): number {
  const at = order.indexOf(name)
  return at < 0 ? order.length : at
}

/** The first sentence of the question's file, which is the question. */
export function titleOf(name: string): string {
  const text = readFileSync(join(benchFolder, `${name}.ts`), 'utf8')
  const comment = /\/\*\*?\s([\s\S]*?)\*\//.exec(text)?.[1] ?? name
  const plain = comment
    .replace(/^\s*\*/gm, ' ')
    .replace(/\s+/g, ' ')
    .trim()
  return /^.*?[.?](?= |$)/.exec(plain)?.[0] ?? plain
}
